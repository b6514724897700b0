#include "daemon/http/desk.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace spdld::http {
namespace {

// Counts a question from here until the control thread has answered or dropped the question.
class UnderWay {
 public:
  explicit UnderWay(std::shared_ptr<std::atomic<size_t>> count) : count_(std::move(count)) { ++*count_; }
  ~UnderWay() { --*count_; }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;

 private:
  std::shared_ptr<std::atomic<size_t>> count_;
};

Answer made_by(const Route& route, const Request& request) {
  try {
    Answer answer = route.answer(request);
    if (answer.body.size() <= Desk::kBodyBytesMax) return answer;
    return sentence(500, "the answer is larger than this server sends");
  } catch (const std::bad_alloc&) {
    return {.status = 503, .body = {}};  // a sentence would take memory
  } catch (const std::exception& error) {
    return sentence(500, std::string("the answer could not be made: ") + error.what());
  }
}

// Without the parameters that the route does not know.
Request known_part(const Route& route, const Request& asked) {
  Request request{asked.path, {}};
  for (const std::string_view name : route.parameters)
    if (const auto found = asked.parameters.find(std::string(name)); found != asked.parameters.end())
      request.parameters.insert(*found);
  return request;
}

}  // namespace

Desk::Desk(Post to_control, Post to_server, std::function<uint64_t()> clock)
    : to_control_(std::move(to_control)), to_server_(std::move(to_server)), clock_(std::move(clock)) {}

void Desk::ask(const Route& route, const Request& asked_for, Reply reply) {
  const Request request = known_part(route, asked_for);
  if (route.thread == Route::Thread::kAny) return reply(std::make_shared<const Answer>(made_by(route, request)));
  const std::string key = request.key();
  const uint64_t now_ns = clock_();
  if (const auto kept = kept_.find(key); kept != kept_.end() && now_ns < kept->second.until_ns)
    return reply(kept->second.answer);
  if (const auto asked = asked_.find(key); asked != asked_.end()) {
    if (now_ns - asked->second.since_ns < kPatienceNs) return asked->second.replies.push_back(std::move(reply));
    asked_.erase(asked);  // who waited for the answer has given up
  }
  const bool is_one_of_many = !request.parameters.empty() || route.kept_ms == 0;
  const size_t under_way_max = is_one_of_many ? kUnderWayMax - kUnderWayReserve : kUnderWayMax;
  Allowance& allowance = is_one_of_many ? questions_ : plain_questions_;
  if (allowance.wait_ns(1, now_ns) > 0 || *under_way_ >= under_way_max)
    return reply(std::make_shared<const Answer>(sentence(503, "spdld is asked too often: ask again in a second")));
  allowance.take(1, now_ns);
  asked_[key] = {{std::move(reply)}, now_ns};
  send(route, request, key);
}

void Desk::send(const Route& route, const Request& request, const std::string& key) {
  auto under_way = std::make_shared<UnderWay>(under_way_);
  to_control_([weak = weak_from_this(), to_server = to_server_, &route, request, key, under_way] {
    const auto held = weak.lock();
    if (!held) return;  // the routes may be gone, too
    auto answer = std::make_shared<const Answer>(made_by(route, request));
    to_server([weak, key, kept_ns = route.kept_ms * 1'000'000ull, answer] {
      if (const auto desk = weak.lock()) desk->take(key, kept_ns, answer);
    });
  });
}

void Desk::take(const std::string& key, uint64_t kept_ns, const AnswerPtr& answer) {
  if (answer->status < 500 && kept_ns > 0) keep(key, clock_() + kept_ns, answer);
  const auto asked = asked_.extract(key);
  if (asked.empty()) return;
  for (const Reply& reply : asked.mapped().replies) reply(answer);
}

void Desk::keep(const std::string& key, uint64_t until_ns, const AnswerPtr& answer) {
  const uint64_t now_ns = clock_();
  std::erase_if(kept_, [&](const auto& one) { return one.second.until_ns <= now_ns; });
  if (kept_.size() >= kKeptMax && !kept_.contains(key))
    kept_.erase(std::min_element(kept_.begin(), kept_.end(),
                                 [](const auto& a, const auto& b) { return a.second.until_ns < b.second.until_ns; }));
  kept_[key] = {answer, until_ns};
}

}  // namespace spdld::http
