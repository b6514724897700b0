#include "daemon/store/object_view.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace spdld::store {

ObjectView::ObjectView(Store& store, std::string object, Identity identity, std::stop_token stop, bool takes_compressed)
    : store_(store),
      object_(std::move(object)),
      identity_(identity),
      stop_(std::move(stop)),
      takes_compressed_(takes_compressed),
      now_(store),
      next_(store) {}

ObjectView::~ObjectView() {
  drop(*current_);
  drop(*ahead_);
}

void ObjectView::begin(Block& block, uint64_t start) {
  const uint64_t bytes = std::min(block_bytes_, identity_.size - start);
  block.bytes = 0;
  Read& request = block.request;
  request.object = object_;
  request.offset = start;
  request.bytes = bytes;
  request.identity = identity_;
  request.takes_compressed = takes_compressed_;
  request.pieces = {{start, bytes, block.memory.resize(bytes)}};
  block.start = start;
  block.bytes = bytes;
  request.status = Done{};
  block.is_under_way = true;
  block.waiting.begin(request, &Store::read);
}

Status ObjectView::finish(Block& block) {
  if (!block.is_under_way) return Done{};
  Status status = block.waiting.finish(block.request, stop_);
  block.is_under_way = false;
  if (!status) block.bytes = 0;
  return status;
}

// Ends a block that nobody asks for any more.
void ObjectView::drop(Block& block) {
  if (block.is_under_way) {
    store_.cancel(block.request);
    static_cast<void>(block.waiting.finish(block.request, {}));
  }
  block.is_under_way = false;
  block.bytes = 0;
}

// Afterwards the current block has the byte at `offset`.
Status ObjectView::reach(uint64_t offset, uint64_t bytes) {
  if (current_->has(offset)) return finish(*current_);
  const bool goes_on = current_->bytes > 0 && offset >= current_->end() && offset - current_->end() < kJumpMin;
  block_bytes_ = std::clamp(goes_on ? block_bytes_ * 2 : block_bytes_ / 2, kBlockMin, kBlockMax);
  if (!ahead_->has(offset)) drop(*ahead_);
  if (Status status = finish(*ahead_); !status) return status;
  std::swap(current_, ahead_);
  if (!current_->has(offset)) {
    block_bytes_ = std::max(block_bytes_, std::min(bytes, kBlockMax));
    begin(*current_, offset);
  }
  const uint64_t next = std::max(current_->end(), offset);
  ahead_->bytes = 0;
  if (goes_on && next < identity_.size) begin(*ahead_, next);
  return finish(*current_);
}

Result<uint64_t> ObjectView::read(uint64_t offset, std::span<uint8_t> to) {
  uint64_t done = 0;
  while (done < to.size() && offset + done < identity_.size) {
    const uint64_t at = offset + done;
    if (Status status = reach(at, to.size() - done); !status) return std::move(status.error());
    const uint64_t part = std::min<uint64_t>(to.size() - done, current_->end() - at);
    std::memcpy(to.data() + done, current_->memory.data() + (at - current_->start), part);
    done += part;
  }
  return done;
}

}  // namespace spdld::store
