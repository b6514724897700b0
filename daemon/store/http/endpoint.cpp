#include "daemon/store/http/endpoint.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "daemon/base/system/cpu.h"

namespace spdld::store::http {
namespace {

constexpr double kHedgesKept = 8;          // second attempts that may begin at once
constexpr uint64_t kLookNs = 250'000'000;  // between looks for calls that nobody wants any more
constexpr uint64_t kRetryAfterSMax = 120;  // a server that says more is asked again after that

// As the server asks by Retry-After.
uint64_t asked_wait_ns(const Verdict& verdict) {
  const auto asked_s = retry_after_s(verdict.retry_after, std::time(nullptr));
  return std::min(asked_s.value_or(0), kRetryAfterSMax) * 1'000'000'000;
}

}  // namespace

Endpoint::Endpoint(std::string name, Transfer::Settings settings, std::shared_ptr<Dialect> dialect,
                   std::shared_ptr<Budget> budget, std::shared_ptr<Server> server)
    : name_(std::move(name)),
      settings_(std::move(settings)),
      dialect_(std::move(dialect)),
      budget_(budget ? std::move(budget) : std::make_shared<Budget>(settings_.limits)),
      server_(server ? std::move(server) : std::make_shared<Server>()),
      setbacks_(settings_.limits),
      chance_(monotonic_ns(), 0, 0, draw_key(name_)) {}

std::string Endpoint::last_trouble() const {
  const std::scoped_lock lock(mutex_);
  return last_trouble_;
}

void Endpoint::queue(Call& call) {
  call.state = Call::State::kWaiting;
  waiting_.push(call);
}

void Endpoint::submit(std::unique_ptr<Call> call) {
  Call& added = *call;
  calls_.emplace(&added.request(), std::move(call));
  try {
    queue(added);
  } catch (const std::bad_alloc&) {
    calls_.erase(&added.request());
    throw;
  }
}

void Endpoint::cancel(Request& request, Wire& wire) {
  const auto at = calls_.find(&request);
  if (at == calls_.end()) return;  // it has ended
  conclude(*at->second, Error{Trouble::kStopping, at->second->what() + ": reading was stopped."}, monotonic_ns(), wire);
}

void Endpoint::stop(Wire& wire) {
  while (!calls_.empty()) cancel(*calls_.begin()->first, wire);
}

void Endpoint::drop_unwanted(uint64_t now_ns, Wire& wire) {
  if (now_ns - looked_ns_ < kLookNs) return;
  looked_ns_ = now_ns;
  std::vector<Request*> unwanted;
  for (const auto& [request, call] : calls_)
    if (request->is_unwanted != nullptr && request->is_unwanted->load(std::memory_order_relaxed))
      unwanted.push_back(request);
  for (Request* const request : unwanted) cancel(*request, wire);
}

uint64_t Endpoint::advance(uint64_t now_ns, Wire& wire) {
  drop_unwanted(now_ns, wire);
  // A request's place may be another call's by now.
  while (Call* const call = take_due(later_, now_ns)) {
    if (call->state == Call::State::kResting && call->resumes_ns <= now_ns) queue(*call);
  }
  while (!waiting_.empty() && has_room() && wait_ns(now_ns) == 0) begin(*waiting_.pop(), now_ns, wire);
  begin_hedges(now_ns, wire);

  uint64_t next_ns = calls_.empty() ? UINT64_MAX : looked_ns_ + kLookNs;
  if (!later_.empty()) next_ns = std::min(next_ns, later_.begin()->first);
  if (!slow_.empty()) next_ns = std::min(next_ns, slow_.begin()->first);
  const bool has_due = !waiting_.empty() || (!hedges_due_.empty() && hedges_allowed_ >= 1);
  if (has_due && has_room()) next_ns = std::min(next_ns, now_ns + wait_ns(now_ns));
  return next_ns;
}

Call* Endpoint::take_due(std::multimap<uint64_t, Request*>& due, uint64_t now_ns) {
  while (!due.empty() && due.begin()->first <= now_ns) {
    const auto at = calls_.find(due.begin()->second);
    due.erase(due.begin());
    if (at != calls_.end()) return at->second.get();
  }
  return nullptr;
}

uint64_t Endpoint::wait_ns(uint64_t now_ns) const {
  const uint64_t held_ns = held_until_ns_ > now_ns ? held_until_ns_ - now_ns : 0;
  return std::max(
      {budget_->requests.wait_ns(now_ns), budget_->bytes.wait_ns(now_ns), held_ns, setbacks_.wait_ns(now_ns)});
}

// A second attempt for which there is no room waits for it, as long as the first one runs.
void Endpoint::begin_hedges(uint64_t now_ns, Wire& wire) {
  const auto is_wanted = [&](Request* request) {
    const auto at = calls_.find(request);
    return at != calls_.end() && at->second->is_slow_ns <= now_ns && at->second->attempts.size() == 1;
  };
  std::erase_if(hedges_due_, [&](Request* request) { return !is_wanted(request); });
  while (Call* const call = take_due(slow_, now_ns))
    if (is_wanted(&call->request())) hedges_due_.push_back(&call->request());
  size_t begun = 0;
  for (; begun < hedges_due_.size() && has_room() && wait_ns(now_ns) == 0 && hedges_allowed_ >= 1; ++begun)
    if (is_wanted(hedges_due_[begun])) begin(*calls_.find(hedges_due_[begun])->second, now_ns, wire, true);
  hedges_due_.erase(hedges_due_.begin(), hedges_due_.begin() + static_cast<ptrdiff_t>(begun));
}

std::unique_ptr<Transfer> Endpoint::take_transfer() {
  if (spare_.empty()) return std::make_unique<Transfer>();
  auto transfer = std::move(spare_.back());
  spare_.pop_back();
  return transfer;
}

void Endpoint::begin(Call& call, uint64_t now_ns, Wire& wire, bool is_second) try {
  call.state = Call::State::kRunning;
  if (call.first_started_ns == 0) call.first_started_ns = now_ns;
  auto attempt = std::make_unique<Attempt>();
  attempt->endpoint = this;
  attempt->call = &call;
  attempt->started_ns = now_ns;
  attempt->is_second = is_second;
  attempt->transfer = take_transfer();
  Outgoing outgoing;
  if (Status status = call.begin(*attempt, outgoing); !status) {
    spare_.push_back(std::move(attempt->transfer));
    const bool may_pass = status.error().trouble == Trouble::kTransient;
    auto verdict = may_pass ? Verdict::again(std::move(status.error())) : Verdict::failed(std::move(status.error()));
    if (!is_second) on_failed(call, std::move(verdict), now_ns, wire);
    return;
  }
  attempt->transfer->prepare(outgoing, settings_, *attempt);
  Attempt& begun = *attempt;
  call.attempts.reserve(call.attempts.size() + 1);
  attempts_.emplace(&begun, std::move(attempt));
  ++server_->attempts;
  call.attempts.push_back(&begun);
  budget_->requests.take(1, now_ns);
  setbacks_.on_begin(now_ns, chance_.uniform(0, 1));
  statistics_.attempts.add();
  statistics_.under_way.add(1);
  if (is_second) {
    statistics_.hedges.add();
    hedges_allowed_ -= 1;
  } else {
    hedges_allowed_ = std::min(kHedgesKept, hedges_allowed_ + settings_.limits.hedge_percent * 2 / 100);
    hedge_later(call, now_ns);
  }
  ++call.request().attempts;
  wire.add(*begun.transfer);
} catch (const std::bad_alloc&) {
  conclude(call, Error{Trouble::kMemory, {}}, now_ns, wire);
} catch (const std::exception& e) {
  conclude(call, Error{Trouble::kInternal, call.what() + ": " + e.what()}, now_ns, wire);
}

void Endpoint::hedge_later(Call& call, uint64_t now_ns) {
  if (settings_.limits.hedge_percent <= 0 || !call.may_be_hedged()) return;
  const auto slowest_ns = latencies_.slowest_ns(settings_.limits.hedge_percent);
  if (!slowest_ns) return;
  call.is_slow_ns = now_ns + *slowest_ns;
  slow_.emplace(call.is_slow_ns, &call.request());
}

void Endpoint::count_bytes(const Attempt& attempt, uint64_t now_ns) {
  const uint64_t bytes = attempt.transfer->body_bytes();
  statistics_.bytes.add(bytes);
  budget_->bytes.take(bytes, now_ns);
}

void Endpoint::drop(Call& call, uint64_t now_ns, Wire& wire) {
  for (Attempt* const attempt : std::exchange(call.attempts, {})) {
    wire.remove(*attempt->transfer);
    count_bytes(*attempt, now_ns);
    spare_.push_back(std::move(attempt->transfer));
    statistics_.under_way.add(-1);
    attempts_.erase(attempt);
    --server_->attempts;
  }
}

// Whether the endpoint is asked more seldom from now on.
bool Endpoint::note(const Attempt& attempt, const Verdict& verdict, uint64_t now_ns) {
  const bool has_failed = verdict.next == Verdict::Next::kAgain;
  if (attempt.transfer->is_new_connection()) statistics_.connections.add();
  if (!has_failed) {
    statistics_.failing_since_ns.store(0, std::memory_order_relaxed);
    setbacks_.on_answer();
    return false;
  }
  uint64_t never = 0;
  statistics_.failing_since_ns.compare_exchange_strong(never, now_ns, std::memory_order_relaxed);
  const std::scoped_lock lock(mutex_);
  last_trouble_ = verdict.error.message;
  return setbacks_.on_failure(attempt.started_ns, now_ns, chance_.uniform(0, 1));
}

void Endpoint::on_ended(Attempt& ended, CURLcode code, uint64_t now_ns, Wire& wire) {
  Call& call = *ended.call;
  wire.remove(*ended.transfer);
  Verdict verdict;
  try {
    ended.transfer->finish();
    verdict = call.on_end(ended, code);
  } catch (const std::bad_alloc&) {
    verdict = Verdict::failed({Trouble::kMemory, {}});
  }
  const bool is_setback = note(ended, verdict, now_ns);
  count_bytes(ended, now_ns);
  const bool is_second = ended.is_second;
  if (verdict.next == Verdict::Next::kDone && call.may_be_hedged()) latencies_.record(now_ns - ended.started_ns);
  statistics_.under_way.add(-1);
  spare_.push_back(std::move(ended.transfer));
  std::erase(call.attempts, &ended);
  attempts_.erase(&ended);
  --server_->attempts;
  if (verdict.next == Verdict::Next::kDone) {
    if (is_second) statistics_.hedges_won.add();
    conclude(call, Done{}, now_ns, wire);
  } else if (verdict.next == Verdict::Next::kFailed) {
    conclude(call, std::move(verdict.error), now_ns, wire);
  } else if (call.attempts.empty()) {  // else the other attempt decides
    on_failed(call, std::move(verdict), now_ns, wire);
  }
  if (is_setback) fail_waiting(now_ns, wire);
}

// Of an endpoint that gives nothing but failures, a failure counts for all its calls. So a call that has no turn is
// told as well, and no caller waits for ever.
void Endpoint::fail_waiting(uint64_t now_ns, Wire& wire) try {
  const uint64_t total_ns = uint64_t{settings_.limits.total_ms_max} * 1'000'000;
  std::vector<Request*> lost;
  for (const auto& [request, call] : calls_) {
    if (call->state == Call::State::kRunning) continue;
    const bool is_late = call->first_started_ns != 0 && now_ns - call->first_started_ns >= total_ns;
    if (++call->failures >= settings_.limits.attempts_max || is_late) lost.push_back(request);
  }
  const std::string last = last_trouble();
  for (Request* const request : lost)
    if (const auto at = calls_.find(request); at != calls_.end())  // an observer may have asked for others
      conclude(*at->second,
               Error{Trouble::kTransient,
                     at->second->what() + " waits for a store that gives nothing but failures. The last: " + last},
               now_ns, wire);
} catch (const std::bad_alloc&) {  // the next failure tells them
}

uint64_t Endpoint::retry_wait_ns(const Call& call, const Verdict& verdict) {
  return std::max(backoff_ns(settings_.limits, call.failures, chance_.uniform(0, 1)), asked_wait_ns(verdict));
}

// As long as the server asks to wait with all requests. Others would be turned away, too. It is held for no longer than
// one request may take.
void Endpoint::hold(const Verdict& verdict, uint64_t now_ns) {
  const uint64_t held_ns = std::min(asked_wait_ns(verdict), uint64_t{settings_.limits.total_ms_max} * 1'000'000);
  held_until_ns_ = std::max(held_until_ns_, now_ns + held_ns);
}

void Endpoint::on_failed(Call& call, Verdict verdict, uint64_t now_ns, Wire& wire) {
  ++call.failures;
  hold(verdict, now_ns);
  const uint64_t spent_ns = now_ns - call.first_started_ns;
  const uint64_t wait_ns = retry_wait_ns(call, verdict);
  const bool is_last = verdict.next == Verdict::Next::kFailed || call.failures >= settings_.limits.attempts_max ||
                       spent_ns + wait_ns >= uint64_t{settings_.limits.total_ms_max} * 1'000'000;
  if (is_last) {
    if (verdict.next == Verdict::Next::kAgain && call.failures > 1)
      verdict.error.message += " This was the last of " + std::to_string(call.failures) + " attempts.";
    return conclude(call, std::move(verdict.error), now_ns, wire);
  }
  statistics_.retries.add();
  call.state = Call::State::kResting;
  call.resumes_ns = now_ns + wait_ns;
  later_.emplace(call.resumes_ns, &call.request());
}

void Endpoint::conclude(Call& call, Status status, uint64_t now_ns, Wire& wire) {
  Request& request = call.request();
  drop(call, now_ns, wire);
  if (call.state == Call::State::kWaiting) waiting_.remove(call);
  statistics_.requests.add();
  request.duration_ns = call.first_started_ns == 0 ? 0 : now_ns - call.first_started_ns;
  (status ? statistics_.duration_ns.record(request.duration_ns) : statistics_.failures.add());
  request.status = std::move(status);
  const auto at = calls_.find(&request);
  const std::unique_ptr<Call> held = std::move(at->second);
  calls_.erase(at);
  request.observer->on_done(request);  // it may be gone after this
}

}  // namespace spdld::store::http
