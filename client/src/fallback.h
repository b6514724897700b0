// Where the system's daemon does not take this user's spec, the user's private daemon takes it, and the caller is
// warned.
#pragma once

#include <string>

#include "client/src/attaching.h"

namespace spdld::client {

// spdld_attach_options' warn and warn_user. Without a function a warning is a line on stderr.
struct Warn {
  void say(const std::string& sentence) const;

  void (*call)(void* user, const char* sentence) = nullptr;
  void* user = nullptr;
};

// The fallback of one loader. One thread.
class Fallback {
 public:
  // `refusal`: the daemon at `endpoint` refused the request's spec. OK: `endpoint` is the private daemon's now. Any
  // other outcome says why not; it is the refusal itself where a socket was named or no private daemon may be started.
  CallOutcome take(Endpoint& endpoint, const AttachRequest& request, const CallOutcome& refusal);
  // The outcome that ended an attempt to attach. After take() its text adds why the private daemon was asked at all.
  CallOutcome explained(CallOutcome outcome) const;
  // An attempt succeeded. After take() it warns the caller, once in a process.
  void tell(const Warn& warn) const;

 private:
  std::string refusal_;  // empty: take() was not needed
  std::string path_;     // of the private daemon's socket
};

}  // namespace spdld::client
