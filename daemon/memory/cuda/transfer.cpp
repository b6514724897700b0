#include "daemon/memory/cuda/transfer.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "daemon/memory/cuda/faults.h"

namespace spdld::memory {
namespace {

using Code = cuda::abi::Result;  // of a driver's call

uint64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

uint64_t bytes_of(const Copy& copy) {
  const auto add = [](uint64_t sum, const auto& range) { return sum + range.bytes; };
  const uint64_t of_host = std::accumulate(copy.host_ranges.begin(), copy.host_ranges.end(), uint64_t{0}, add);
  return std::accumulate(copy.device_ranges.begin(), copy.device_ranges.end(), of_host, add);
}

}  // namespace

std::shared_ptr<Transfer> Transfer::start(cuda::ContextRef context, std::shared_ptr<Staging> staging, Failed failed) {
  auto made = std::make_shared<Transfer>(Key(), std::move(context), std::move(staging), std::move(failed));
  // The threads have their own hold: a driver that never comes back must not find the object gone.
  made->issuing_ = std::thread([made] { made->run_issuing(); });
  pthread_setname_np(made->issuing_.native_handle(), "spdld-copy");
  made->finishing_ = std::thread([made] { made->run_finishing(); });
  pthread_setname_np(made->finishing_.native_handle(), "spdld-copied");
  return made;
}

Transfer::Transfer(Key, cuda::ContextRef context, std::shared_ptr<Staging> staging, Failed failed)
    : context_(std::move(context)), staging_(std::move(staging)), failed_(std::move(failed)), stream_(context_) {}

void Transfer::answer(Copy& copy, const Status& status) {
  if (copy.staging) staging_->give_back(std::move(copy.staging));
  if (copy.published) copy.published(status);
}

void Transfer::put(Copy copy) {
  std::unique_lock lock(mutex_);
  if (ended_ || given_up_) {
    const Error reason = failure_ ? *failure_ : *ending_;
    lock.unlock();
    answer(copy, reason);
    return;
  }
  queue_.push_back(std::move(copy));
  wake_.notify_all();
}

void Transfer::fail(const Error& reason) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = reason;
  wake_.notify_all();
}

bool Transfer::end(const Error& reason, uint32_t drain_ms) {
  std::vector<SlotMemory::Published> unanswered;
  {
    std::unique_lock lock(mutex_);
    if (given_up_) return false;
    if (!ending_) ending_ = reason;
    wake_.notify_all();
    if (!ended_wake_.wait_for(lock, std::chrono::milliseconds(drain_ms), [this] { return ended_; })) {
      given_up_ = true;
      wake_.notify_all();
      for (Issued& issued : in_flight_) unanswered.push_back(std::exchange(issued.copy.published, nullptr));
      for (Copy& copy : queue_) unanswered.push_back(std::exchange(copy.published, nullptr));
    }
  }
  const bool has_given_up = given_up_;  // this thread alone sets it
  for (std::thread* const thread : {&issuing_, &finishing_}) {
    if (thread->joinable() && !has_given_up) thread->join();
    if (thread->joinable()) thread->detach();
  }
  for (const SlotMemory::Published& published : unanswered)
    if (published) published(reason);
  return !has_given_up;
}

bool Transfer::keep_if_given_up(std::shared_ptr<const void> memory) {
  const std::lock_guard lock(mutex_);
  if (given_up_) kept_.push_back(std::move(memory));
  return given_up_;
}

bool Transfer::is_at_an_end() const { return failure_ || ending_ || given_up_; }

// A copy behind a copy that could not be issued waits until that is answered: the order of put() holds.
bool Transfer::is_to_issue() const {
  return !queue_.empty() && (in_flight_.empty() || in_flight_.back().code == cuda::abi::kSuccess);
}

void Transfer::run_issuing() {
  for (;;) {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return is_at_an_end() || is_to_issue(); });
    if (is_at_an_end()) return;
    in_flight_.push_back({std::move(queue_.front()), now_ns()});
    queue_.pop_front();
    Issued& issued = in_flight_.back();
    lock.unlock();
    const Code code = issue(issued.copy);
    lock.lock();
    SlotMemory::Published published;
    if (code == cuda::abi::kSuccess && issued.copy.ready_early)
      published = std::exchange(issued.copy.published, nullptr);  // none where end() gave up meanwhile
    lock.unlock();
    if (published) published(Done{});
    lock.lock();
    issued.code = code;
    issued.is_issued = true;  // after the call above: no later copy is answered before it
    wake_.notify_all();
  }
}

void Transfer::run_finishing() {
  for (;;) {
    switch (wait_for_work()) {
      case Next::kFinish:
        finish_oldest();
        break;
      case Next::kAnswer:
        answer_next();
        break;
      case Next::kEnd:
        return;
    }
  }
}

// A copy that is just being issued is waited for in any case, since the other thread uses it.
Transfer::Next Transfer::wait_for_work() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] {
    const bool is_issuing = !in_flight_.empty() && !in_flight_.back().is_issued;
    const bool has_issued = !in_flight_.empty() && in_flight_.front().is_issued;
    return given_up_ || (has_issued && !failure_) || (is_at_an_end() && !is_issuing);
  });
  if (given_up_) return Next::kEnd;
  if (!in_flight_.empty() && !failure_) return Next::kFinish;
  if (!in_flight_.empty() || !queue_.empty()) return Next::kAnswer;
  ended_ = true;
  ended_wake_.notify_all();
  return Next::kEnd;
}

Code Transfer::issue(const Copy& copy) const {
  const cuda::Current current(*context_);
  const cuda::abi::Entries& call = context_->driver().call();
  Code code = current.result();
  for (const Copy::DeviceRange& range : copy.device_ranges)
    if (code == cuda::abi::kSuccess) code = call.cuMemcpyDtoDAsync(range.to, range.from, range.bytes, stream_.handle());
  for (const Copy::HostRange& range : copy.host_ranges)
    if (code == cuda::abi::kSuccess) code = call.cuMemcpyHtoDAsync(range.to, range.from, range.bytes, stream_.handle());
  return code == cuda::abi::kSuccess ? copy.copied->record(stream_.handle()) : code;
}

Code Transfer::wait_for_all() const {
  const cuda::Current current(*context_);
  if (current.result() != cuda::abi::kSuccess) return current.result();
  return context_->driver().call().cuStreamSynchronize(stream_.handle());
}

void Transfer::finish_oldest() {
  Issued* oldest = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (in_flight_.empty() || given_up_) return;
    oldest = &in_flight_.front();
  }
  Code code = oldest->code;
  if (code == cuda::abi::kSuccess) code = oldest->copy.copied->wait();
  // An error that says nothing of the context: what was issued is under way all the same.
  if (code != cuda::abi::kSuccess && !loses_context(code)) code = wait_for_all();
  if (code != cuda::abi::kSuccess) {
    failed_(code, "a copy");
    return;
  }

  Issued finished;
  {
    const std::lock_guard lock(mutex_);
    if (given_up_) return;
    finished = std::move(in_flight_.front());  // its place stays until it is answered: the order of put() holds
  }
  const uint64_t now = now_ns();
  busy_ns_.add(now - std::max(finished.since_ns, idle_since_ns_));
  idle_since_ns_ = now;
  if (finished.code == cuda::abi::kSuccess) {
    copies_.add();
    copied_bytes_.add(bytes_of(finished.copy));
    answer(finished.copy, Done{});
  } else {
    const cuda::Fault fault(cuda::cause_of(finished.code), "a batch can't be copied to GPU " +
                                                               std::to_string(context_->device().ordinal) + " (" +
                                                               context_->driver().describe(finished.code) + ")");
    answer(finished.copy, error_of(fault));
  }
  const std::lock_guard lock(mutex_);
  if (given_up_) return;
  in_flight_.pop_front();
  wake_.notify_all();  // a copy behind a failed one goes on
}

// Copies in flight come before queued copies.
void Transfer::answer_next() {
  std::unique_lock lock(mutex_);
  if (given_up_) return;
  const Error reason = failure_ ? *failure_ : *ending_;
  Copy copy;
  if (!in_flight_.empty()) {
    copy = std::move(in_flight_.front().copy);
    in_flight_.pop_front();
  } else if (!queue_.empty()) {
    copy = std::move(queue_.front());
    queue_.pop_front();
  }
  lock.unlock();
  answer(copy, reason);
}

}  // namespace spdld::memory
