#include "daemon/memory/cuda/staging.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "daemon/memory/cuda/faults.h"
#include "daemon/memory/cuda/numa.h"

namespace spdld::memory {
namespace {

constexpr uint64_t kHugePage = cuda::kDeviceGranularity;

}  // namespace

StagingBuffer::StagingBuffer(cuda::ContextRef context, const StagingKind& kind, int node)
    : context_(std::move(context)), kind_(kind) {
  // One huge page more than needed, so that the first may begin where one can; untouched pages cost nothing.
  mapping_ = mmap(nullptr, kind_.bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED)
    throw cuda::Fault(cuda::Cause::kOutOfMemory,
                      std::to_string(kind_.bytes >> 20) +
                          " MiB of host memory for copies can't be had (mmap: " + std::strerror(errno) + ")");
  const uintptr_t begin = reinterpret_cast<uintptr_t>(mapping_);
  address_ = static_cast<uint8_t*>(mapping_) + (cuda::round_up(begin, kHugePage) - begin);
  madvise(address_, kind_.bytes, MADV_HUGEPAGE);  // a wish; without it all works as well
  madvise(address_, kind_.bytes, MADV_DONTFORK);  // a child's copy of a page must not take it from the GPU's view
  prefer_node(address_, kind_.bytes, node);       // before the driver touches and pins them
  const cuda::abi::Result code = register_pages();
  if (code == cuda::abi::kSuccess) return;
  munmap(mapping_, kind_.bytes + kHugePage);
  context_->driver().check(code, std::to_string(kind_.bytes >> 20) + " MiB of host memory can't be pinned for GPU " +
                                     std::to_string(context_->device().ordinal));
}

StagingBuffer::~StagingBuffer() {
  // A lost context has let go of all.
  if (unregister_pages() == cuda::abi::kSuccess || context_->lost()) munmap(mapping_, kind_.bytes + kHugePage);
}

cuda::abi::Result StagingBuffer::register_pages() {
  const cuda::Current current(*context_);
  if (current.result() != cuda::abi::kSuccess) return current.result();
  return context_->driver().call().cuMemHostRegister(address_, kind_.bytes, cuda::abi::kHostRegisterPortable);
}

cuda::abi::Result StagingBuffer::unregister_pages() {
  const cuda::Current current(*context_);
  if (current.result() != cuda::abi::kSuccess) return current.result();
  return context_->driver().call().cuMemHostUnregister(address_);
}

Staging::Staging(cuda::ContextRef context, uint64_t bytes_max, std::function<void()> wake, int node)
    : context_(std::move(context)),
      bytes_max_(bytes_max),
      wake_(std::move(wake)),
      node_(node),
      ceiling_bytes_(bytes_max) {}

void Staging::tell(const std::vector<Room>& rooms, bool wake) const {
  for (const Room& room : rooms) room();
  if (wake) wake_();
}

Result<StagingBufferPtr> Staging::take(User& user, const void* slot, const Room& room) {
  std::unique_lock lock(mutex_);
  if (closed_) return *closed_;
  if (user.refusal_) return *user.refusal_;
  StagingBufferPtr found;
  const auto grant = std::find_if(grants_.begin(), grants_.end(), [&](const Grant& one) { return one.user == &user; });
  if (grant != grants_.end()) {
    found = std::move(grant->buffer);
    grants_.erase(grant);
  } else if (waiters_.empty()) {
    found = pick_idle(user.kind_);
  }
  if (found) {
    used_bytes_ += found->kind().bytes;
    std::erase_if(waiters_, [&](const Waiter& one) { return one.slot == slot; });
  } else {
    wait_in_line(user, slot, room);
  }
  const std::vector<Room> rooms = serve();
  const bool wake = needs_tick();
  lock.unlock();
  tell(rooms, wake);
  return found;
}

void Staging::wait_in_line(User& user, const void* slot, const Room& room) {
  const auto same = std::find_if(waiters_.begin(), waiters_.end(), [&](const Waiter& one) { return one.slot == slot; });
  if (same != waiters_.end()) {
    same->room = room;
  } else {
    waiters_.push_back({&user, slot, room});
  }
}

void Staging::give_back(StagingBufferPtr buffer) {
  std::unique_lock lock(mutex_);
  used_bytes_ -= buffer->kind().bytes;
  if (dropped_) {
    bytes_ -= buffer->kind().bytes;
    lock.unlock();
    buffer.reset();
    return;
  }
  idle_.push_back(std::move(buffer));
  const std::vector<Room> rooms = serve();
  const bool wake = needs_tick();
  lock.unlock();
  tell(rooms, wake);
}

void Staging::forget(const void* slot) {
  std::unique_lock lock(mutex_);
  std::erase_if(waiters_, [&](const Waiter& one) { return one.slot == slot; });
  const std::vector<Room> rooms = serve();
  const bool wake = needs_tick();
  lock.unlock();
  tell(rooms, wake);
}

void Staging::leave(User& user) {
  std::unique_lock lock(mutex_);
  std::erase_if(waiters_, [&](const Waiter& one) { return one.user == &user; });
  for (Grant& grant : grants_)
    if (grant.user == &user) idle_.push_back(std::move(grant.buffer));
  std::erase_if(grants_, [&](const Grant& one) { return one.user == &user; });
  const std::vector<Room> rooms = serve();
  const bool wake = needs_tick();
  lock.unlock();
  tell(rooms, wake);
}

std::optional<Error> Staging::refusal(const User& user) const {
  const std::lock_guard lock(mutex_);
  return user.refusal_;
}

Staging::Levels Staging::levels() const {
  const std::lock_guard lock(mutex_);
  return {bytes_, used_bytes_};
}

void Staging::close(const Error& reason) {
  std::vector<Room> rooms;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = reason;
    for (Waiter& waiter : waiters_) rooms.push_back(std::move(waiter.room));
    waiters_.clear();
  }
  tell(rooms, false);
}

void Staging::drop() {
  std::deque<StagingBufferPtr> dropped;
  const std::lock_guard lock(mutex_);
  dropped_ = true;
  for (Grant& grant : grants_) idle_.push_back(std::move(grant.buffer));
  grants_.clear();
  for (const StagingBufferPtr& buffer : idle_) bytes_ -= buffer->kind().bytes;
  dropped.swap(idle_);
}

StagingBufferPtr Staging::pick_idle(const StagingKind& kind) {
  // The one used last is the likeliest to be in a cache.
  const auto found = std::find_if(idle_.rbegin(), idle_.rend(),
                                  [&](const StagingBufferPtr& buffer) { return buffer->kind() == kind; });
  if (found == idle_.rend()) return nullptr;
  StagingBufferPtr buffer = std::move(*found);
  idle_.erase(std::next(found).base());
  return buffer;
}

std::vector<Staging::Room> Staging::serve() {
  std::vector<Room> rooms;
  while (!waiters_.empty()) {
    StagingBufferPtr buffer = pick_idle(waiters_.front().user->kind_);
    if (!buffer) break;
    grants_.push_back({waiters_.front().user, std::move(buffer), Clock::now()});
    rooms.push_back(std::move(waiters_.front().room));
    waiters_.pop_front();
  }
  return rooms;
}

// A ceiling that is low because pinning failed must not keep out a kind that has no buffer yet: that is tried again.
uint64_t Staging::ceiling_for(const StagingKind& kind) const {
  return made_.contains(kind) ? ceiling_bytes_ : bytes_max_;
}

bool Staging::can_make(const StagingKind& kind) const {
  uint64_t kept = bytes_;
  for (const StagingBufferPtr& buffer : idle_)
    if (buffer->kind() != kind) kept -= buffer->kind().bytes;
  return kept + kind.bytes <= ceiling_for(kind);
}

// Where something is waited for, and can be made, or was set aside for somebody who may never fetch it.
bool Staging::needs_tick() {
  if (waiters_.empty()) return false;
  const bool is_expiry_new = !grants_.empty() && !std::exchange(expiry_is_watched_, true);
  return is_expiry_new || can_make(waiters_.front().user->kind_);
}

std::vector<StagingBufferPtr> Staging::make_room(const StagingKind& kind) {
  std::vector<StagingBufferPtr> dropped;
  for (auto next = idle_.begin(); next != idle_.end() && bytes_ + kind.bytes > ceiling_for(kind);) {
    const StagingKind other = (*next)->kind();
    if (other == kind) {
      ++next;
      continue;
    }
    bytes_ -= other.bytes;
    if (--made_[other] == 0) made_.erase(other);
    dropped.push_back(std::move(*next));
    next = idle_.erase(next);
  }
  return dropped;
}

std::vector<Staging::Room> Staging::refuse(const StagingKind& kind, const Error& reason) {
  std::vector<Room> rooms;
  for (Waiter& waiter : waiters_) {
    if (waiter.user->kind_ != kind) continue;
    waiter.user->refusal_ = reason;
    rooms.push_back(std::move(waiter.room));
  }
  std::erase_if(waiters_, [&](const Waiter& one) { return one.user->kind_ == kind; });
  return rooms;
}

void Staging::expire(Clock::time_point now) {
  if (waiters_.empty()) return;
  for (; !grants_.empty() && grants_.front().since + kGrant <= now; grants_.pop_front())
    idle_.push_back(std::move(grants_.front().buffer));
}

void Staging::make(const StagingKind& kind) {
  auto buffer = std::make_unique<StagingBuffer>(context_, kind, node_);
  std::unique_lock lock(mutex_);
  bytes_ += kind.bytes;
  made_[kind]++;
  idle_.push_back(std::move(buffer));
  const std::vector<Room> rooms = serve();
  lock.unlock();
  tell(rooms, false);
}

void Staging::ensure(const StagingKind& kind) {
  {
    std::vector<StagingBufferPtr> dropped;
    const std::lock_guard lock(mutex_);
    ceiling_bytes_ = bytes_max_;  // a new ring is a reason to try again
    if (made_.contains(kind) || !can_make(kind)) return;
    dropped = make_room(kind);
  }
  make(kind);
}

std::optional<Staging::Clock::time_point> Staging::tick() {
  // Each round makes one buffer, or lowers the ceiling, or refuses a ring.
  for (;;) {
    std::unique_lock lock(mutex_);
    expire(Clock::now());
    const std::vector<Room> rooms = serve();
    if (waiters_.empty() || !can_make(waiters_.front().user->kind_)) {
      std::optional<Clock::time_point> next;
      if (!waiters_.empty() && !grants_.empty()) next = grants_.front().since + kGrant;
      expiry_is_watched_ = next.has_value();
      lock.unlock();
      tell(rooms, false);
      return next;
    }
    const StagingKind kind = waiters_.front().user->kind_;
    std::vector<StagingBufferPtr> dropped = make_room(kind);
    lock.unlock();
    tell(rooms, false);
    dropped.clear();
    try {
      make(kind);
    } catch (const cuda::Fault& fault) {
      if (loses_context(fault.code())) throw;
      lock.lock();
      std::vector<Room> refused;
      if (made_.contains(kind)) {
        ceiling_bytes_ = bytes_;  // go on with the buffers that there are
      } else {
        refused = refuse(kind, error_of(fault));
      }
      lock.unlock();
      tell(refused, false);
    }
  }
}

}  // namespace spdld::memory
