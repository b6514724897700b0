#include "daemon/store/streams/range_filler.h"

#include <algorithm>
#include <utility>

namespace spdld::store::streams {
namespace {

// Reads that share blocks are more than the requests that bring the blocks.
constexpr unsigned kReadsPerRequest = 4;

}  // namespace

unsigned RangeFiller::concurrency() const {
  unsigned most = 0;
  for (const Object& object : objects_) most = std::max(most, object.store->concurrency());
  return most * kReadsPerRequest;
}

void RangeFiller::want(BlockId block, Urgency urgency) {
  if (fill(block, urgency)) return;
  {
    const std::scoped_lock lock(mutex_);
    if (stopping_) return;
    waiting_.push_back(block);
  }
  fill_waiting();  // room may have come before the block stood in the queue
}

// False: there is no room for a demanded block.
bool RangeFiller::fill(BlockId block, Urgency urgency) {
  const BlockShelf::Place place = shelf_->begin(block, urgency);
  if (place.to == nullptr) return !place.has_no_room || urgency == Urgency::kExpected;
  const Object& object = objects_[block.object];
  auto made = std::make_unique<OneRead>();
  OneRead& read = *made;
  read.block = block;
  read.owner = reinterpret_cast<uintptr_t>(this);
  read.observer = this;
  read.object = object.name;
  read.offset = block.number * kBlockBytes;
  read.bytes = place.bytes;
  read.pieces = {{read.offset, place.bytes, place.to}};
  read.identity = object.identity;
  if (read.offset == 0 && read.bytes == object.identity.size) read.bytes = Read::kToEnd;
  {
    const std::scoped_lock lock(mutex_);
    if (stopping_) {
      read.status = Error{Trouble::kStopping, {}};
    } else {
      under_way_.push_back(std::move(made));
      ++asking_;
    }
  }
  if (made) {
    shelf_->end(block, 0, std::move(read.status));
    return true;
  }
  object.store->read(read);
  const std::scoped_lock lock(mutex_);
  --asking_;
  quiet_.notify_all();
  return true;
}

void RangeFiller::fill_waiting() {
  for (;;) {
    BlockId block;
    {
      const std::scoped_lock lock(mutex_);
      if (waiting_.empty() || stopping_) return;
      block = waiting_.front();
      waiting_.pop_front();
    }
    if (fill(block, Urgency::kDemanded)) continue;
    {
      const std::scoped_lock lock(mutex_);
      if (!under_way_.empty()) return waiting_.push_front(block);
    }
    // Nothing that is being filled will make room: the node has no memory for a block.
    shelf_->end(block, 0, Error{Trouble::kMemory, {}});
  }
}

void RangeFiller::on_done(Request& request) {
  auto& read = static_cast<OneRead&>(request);
  const BlockId block = read.block;
  const uint64_t bytes = read.status ? read.pieces.front().bytes : 0;
  shelf_->end(block, bytes, std::move(read.status));
  fill_waiting();
  const std::scoped_lock lock(mutex_);
  const auto at =
      std::find_if(under_way_.begin(), under_way_.end(), [&](const auto& one) { return one.get() == &read; });
  if (stopping_) ended_.push_back(std::move(*at));
  under_way_.erase(at);
  quiet_.notify_all();
}

void RangeFiller::stop() {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  waiting_.clear();
  quiet_.wait(lock, [this] { return asking_ == 0; });
  std::vector<std::pair<Store*, Request*>> reads;
  for (const auto& read : under_way_) reads.emplace_back(objects_[read->block.object].store.get(), read.get());
  lock.unlock();
  // A request that has ended meanwhile is not known to its store any more, and is still there.
  for (const auto& [store, read] : reads) store->cancel(*read);
  lock.lock();
  quiet_.wait(lock, [this] { return under_way_.empty(); });
}

}  // namespace spdld::store::streams
