#include "tests/support/fake_cuda/stream.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace spdld::test::fake {

bool& in_host_function() {
  thread_local bool inside = false;
  return inside;
}

bool Context::has_blocking_capture() {
  const std::lock_guard lock(order.mutex);
  return std::any_of(order.blocking.begin(), order.blocking.end(), [](const std::weak_ptr<Stream>& one) {
    const auto stream = one.lock();
    return stream && stream->capturing.load();
  });
}

std::shared_ptr<Stream> Stream::make(const std::shared_ptr<Context>& context, Ordering ordering) {
  auto made = std::make_shared<Stream>(context, ordering);
  const std::lock_guard lock(context->order.mutex);
  if (ordering == Ordering::kLegacy) context->order.legacy = made;
  if (ordering == Ordering::kBlocking) context->order.blocking.push_back(made);
  return made;
}

bool Stream::is_free(const Touched& place) {
  const std::lock_guard lock(mutex_);
  return std::none_of(queue_.begin(), queue_.end(),
                      [&](const Work& before) { return before.orders || before.writes.overlaps(place); });
}

uint64_t Stream::put(Work work) {
  if (ordering_ == Ordering::kNonBlocking) return put_alone(std::move(work));
  const std::lock_guard lock(context_->order.mutex);  // what is put earlier waits for nothing that is put later
  wait_for_others();
  return put_alone(std::move(work));
}

void Stream::put_order() {
  if (ordering_ == Ordering::kNonBlocking) return;
  const std::lock_guard lock(context_->order.mutex);
  wait_for_others();
}

void Stream::wait_for_others() {
  std::vector<std::shared_ptr<Stream>> others;
  if (ordering_ == Ordering::kBlocking) others.push_back(context_->order.legacy.lock());
  for (const auto& one : context_->order.blocking)
    if (ordering_ == Ordering::kLegacy) others.push_back(one.lock());
  for (const auto& other : others) {
    const uint64_t last = other ? other->last_unfinished() : 0;
    if (last != 0) put_alone({[other, last] { other->wait_for(last); }, {}, true});
  }
}

uint64_t Stream::last_unfinished() {
  const std::lock_guard lock(mutex_);
  return done_ < put_ ? put_ : 0;
}

uint64_t Stream::put_alone(Work work) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return queue_.size() < kQueueMax; });
  queue_.push_back(std::move(work));
  if (!started_) {
    // Not joined: a real driver's work outlives its stream's handle, too. It holds what it needs.
    std::thread([self = shared_from_this()] { serve(self); }).detach();
    started_ = true;
  }
  changed_.notify_all();
  return ++put_;
}

void Stream::wait_for(uint64_t number) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_ >= number; });
}

void Stream::wait_idle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return done_ == put_; });
}

void Stream::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void Stream::pause(uint32_t us) {
  std::unique_lock lock(mutex_);
  const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(us);
  changed_.wait_until(lock, until, [this] { return !context_->is_usable(); });
}

void Stream::wake() {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void Stream::serve(const std::shared_ptr<Stream>& stream) {
  std::unique_lock lock(stream->mutex_);
  while (true) {
    stream->changed_.wait(lock, [&] { return stream->closed_ || !stream->queue_.empty(); });
    if (stream->queue_.empty()) return;
    const auto run = std::move(stream->queue_.front().run);
    lock.unlock();
    run();
    lock.lock();
    stream->queue_.pop_front();
    ++stream->done_;
    stream->changed_.notify_all();
  }
}

}  // namespace spdld::test::fake
