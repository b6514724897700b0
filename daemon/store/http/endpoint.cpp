#include "daemon/store/http/endpoint.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "daemon/base/cpu.h"

namespace spdld::store::http {
namespace {

constexpr double kHedgesKept = 8;          // second attempts that may begin at once
constexpr uint64_t kLookNs = 250'000'000;  // between looks for calls that nobody wants any more
constexpr uint64_t kRetryAfterSMax = 120;  // a server that says more is asked again after that

}  // namespace

Endpoint::Endpoint(std::string name, Transfer::Settings settings, std::shared_ptr<Dialect> dialect,
                   std::shared_ptr<Budget> budget)
    : name_(std::move(name)),
      settings_(std::move(settings)),
      dialect_(std::move(dialect)),
      budget_(budget ? std::move(budget) : std::make_shared<Budget>(settings_.limits)),
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
  const auto take_due = [&](std::multimap<uint64_t, Request*>& due) -> Call* {
    while (!due.empty() && due.begin()->first <= now_ns) {
      const auto at = calls_.find(due.begin()->second);
      due.erase(due.begin());
      if (at != calls_.end()) return at->second.get();
    }
    return nullptr;
  };
  const auto is_free = [&] { return attempts_.size() < settings_.limits.connections_max; };
  const auto wait_ns = [&] { return std::max(budget_->requests.wait_ns(now_ns), budget_->bytes.wait_ns(now_ns)); };

  // A request's place may be another call's by now.
  while (Call* const call = take_due(later_)) {
    if (call->state == Call::State::kResting && call->resumes_ns <= now_ns) queue(*call);
  }
  while (!waiting_.empty() && is_free() && wait_ns() == 0) begin(*waiting_.pop(), now_ns, wire);
  while (Call* const call = take_due(slow_)) {
    if (call->is_slow_ns > now_ns) continue;
    if (call->attempts.size() == 1 && is_free() && wait_ns() == 0 && hedges_allowed_ >= 1)
      begin(*call, now_ns, wire, true);
  }

  uint64_t next_ns = calls_.empty() ? UINT64_MAX : looked_ns_ + kLookNs;
  if (!later_.empty()) next_ns = std::min(next_ns, later_.begin()->first);
  if (!slow_.empty()) next_ns = std::min(next_ns, slow_.begin()->first);
  if (!waiting_.empty() && is_free()) next_ns = std::min(next_ns, now_ns + wait_ns());
  return next_ns;
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
  call.attempts.push_back(&begun);
  budget_->requests.take(1, now_ns);
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
  }
}

void Endpoint::note(const Attempt& attempt, const Verdict& verdict, uint64_t now_ns) {
  const bool has_failed = verdict.kind == Verdict::Kind::kAgain;
  if (attempt.transfer->is_new_connection()) statistics_.connections.add();
  if (!has_failed) return statistics_.failing_since_ns.store(0, std::memory_order_relaxed);
  uint64_t never = 0;
  statistics_.failing_since_ns.compare_exchange_strong(never, now_ns, std::memory_order_relaxed);
  const std::scoped_lock lock(mutex_);
  last_trouble_ = verdict.error.message;
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
  note(ended, verdict, now_ns);
  count_bytes(ended, now_ns);
  const bool is_second = ended.is_second;
  if (verdict.kind == Verdict::Kind::kDone && call.may_be_hedged()) latencies_.record(now_ns - ended.started_ns);
  statistics_.under_way.add(-1);
  spare_.push_back(std::move(ended.transfer));
  std::erase(call.attempts, &ended);
  attempts_.erase(&ended);
  if (verdict.kind == Verdict::Kind::kDone) {
    if (is_second) statistics_.hedges_won.add();
    conclude(call, Done{}, now_ns, wire);
  } else if (verdict.kind == Verdict::Kind::kFailed) {
    conclude(call, std::move(verdict.error), now_ns, wire);
  } else if (call.attempts.empty()) {  // else the other attempt decides
    on_failed(call, std::move(verdict), now_ns, wire);
  }
}

uint64_t Endpoint::retry_wait_ns(const Call& call, const Verdict& verdict) {
  const uint64_t wait_ns = backoff_ns(settings_.limits, call.failures, chance_.uniform(0, 1));
  const auto asked_s = retry_after_s(verdict.retry_after, std::time(nullptr));
  return std::max(wait_ns, std::min(asked_s.value_or(0), kRetryAfterSMax) * 1'000'000'000);
}

void Endpoint::on_failed(Call& call, Verdict verdict, uint64_t now_ns, Wire& wire) {
  ++call.failures;
  const uint64_t spent_ns = now_ns - call.first_started_ns;
  const uint64_t wait_ns = retry_wait_ns(call, verdict);
  const bool is_last = verdict.kind == Verdict::Kind::kFailed || call.failures >= settings_.limits.attempts_max ||
                       spent_ns + wait_ns >= uint64_t{settings_.limits.total_ms_max} * 1'000'000;
  if (is_last) {
    if (verdict.kind == Verdict::Kind::kAgain && call.failures > 1)
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
