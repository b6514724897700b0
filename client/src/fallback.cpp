#include "client/src/fallback.h"

#include <atomic>
#include <cstdio>

namespace spdld::client {

namespace {

std::atomic<bool> was_told{false};  // in this process

}  // namespace

void Warn::say(const std::string& sentence) const {
  if (call) {
    call(user, sentence.c_str());
  } else {
    std::fprintf(stderr, "spdld: %s\n", sentence.c_str());
  }
}

CallOutcome Fallback::take(Endpoint& endpoint, const AttachRequest& request, const CallOutcome& refusal) {
  if (!endpoint.is_system || !request.may_start || request.spec.empty()) return refusal;
  Endpoint own;
  const CallOutcome found = find_private_endpoint(own);
  refusal_ = refusal.text;
  if (!found.ok()) return explained(failure(SPDLD_NO_DAEMON, found.text));
  endpoint = own;
  path_ = own.path;
  return {};
}

CallOutcome Fallback::explained(CallOutcome outcome) const {
  if (!refusal_.empty() && outcome.result == SPDLD_NO_DAEMON)
    outcome.text = refusal_ + "; and a private daemon cannot take it: " + outcome.text;
  return outcome;
}

void Fallback::tell(const Warn& warn) const {
  if (refusal_.empty() || was_told.exchange(true)) return;
  const std::string sentence = "this user's private daemon at " + path_ +
                               " serves this job, since the system's daemon refused its spec: " + refusal_;
  warn.say(sentence);
}

}  // namespace spdld::client
