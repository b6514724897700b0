#include "daemon/store/streams/block_store.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "daemon/base/system/cpu.h"
#include "daemon/base/system/log.h"
#include "daemon/base/system/memory_reserve.h"

namespace spdld::store::streams {
namespace {

// Copies the pieces' bytes that lie in [from, from + bytes). Returns how many there are.
uint64_t copy_pieces(const Read& read, uint64_t from, uint64_t bytes, const uint8_t* source) {
  uint64_t copied = 0;
  for (const Read::Piece& piece : read.pieces) {
    const uint64_t first = std::max(piece.offset, from), last = std::min(piece.offset + piece.bytes, from + bytes);
    if (first >= last) continue;
    std::memcpy(piece.to + (first - piece.offset), source + (first - from), last - first);
    copied += last - first;
  }
  return copied;
}

}  // namespace

BlockStore::BlockStore(std::vector<Object> objects, std::unique_ptr<BlockFiller> filler, uint64_t bytes_max)
    : objects_(std::move(objects)), bytes_max_(std::max(bytes_max, kBytesMin)), filler_(std::move(filler)) {
  for (size_t i = 0; i < objects_.size(); ++i) numbers_.emplace(objects_[i].name, static_cast<uint32_t>(i));
  filler_->start(*this);
  readings_.start([this](BlockReading& reading, Lock& lock) { return serve(reading, lock); });
}

BlockStore::~BlockStore() {
  filler_->stop();
  {
    const std::scoped_lock lock(mutex_);
    readings_.end_all();
    blocks_.clear();
  }
  readings_.join();
}

uint64_t BlockStore::bytes_of(BlockId id) const {
  const uint64_t start = id.number * kBlockBytes, size = objects_[id.object].bytes;
  return start >= size ? 0 : std::min(kBlockBytes, size - start);
}

// ---- requests

void BlockStore::read(Read& read) {
  const auto found = numbers_.find(read.object);
  if (found == numbers_.end() || read.room != nullptr)
    return readings_.refuse(read, {Trouble::kInternal, read.object + " can't be read in this way."});
  const uint64_t size = objects_[found->second].bytes;
  if (read.bytes != Read::kToEnd && (read.offset > size || read.bytes > size - read.offset))
    return readings_.refuse(read,
                            {Trouble::kContent, read.object + " is shorter than when it was listed: was it replaced?"});
  auto reading = std::make_unique<BlockReading>();
  reading->request = reading->read = &read;
  reading->object = found->second;
  reading->at = std::min(read.offset, size);
  reading->end = reading->at + std::min(read.bytes, size - reading->at);
  const std::scoped_lock lock(mutex_);
  // Its first block is of use from now on, however late the reading's turn comes.
  const auto first = blocks_.find({reading->object, reading->at / kBlockBytes});
  if (first != blocks_.end() && first->second.state == State::kThere) touch(first->second);
  readings_.add(std::move(reading));
}

void BlockStore::stat(Stat& stat) {
  readings_.refuse(stat, {Trouble::kUnsupported, stat.object + " is read through blocks, which have no status."});
}

void BlockStore::list(List& list) {
  readings_.refuse(list, {Trouble::kUnsupported, "a store of blocks has no lists."});
}

void BlockStore::cancel(Request& request) {
  const std::scoped_lock lock(mutex_);
  BlockReading* const reading = readings_.cancel(request);
  if (reading == nullptr) return;
  if (const auto at = blocks_.find(reading->waits_for); at != blocks_.end()) std::erase(at->second.waiting, reading);
}

// ---- on the readings' thread

bool BlockStore::serve(BlockReading& reading, Lock& lock) {
  while (reading.status && reading.at < reading.end)
    if (!step(reading, lock)) return false;
  return true;
}

// Gives the reading the bytes of its next block. False: it waits for the block, and is not the caller's any more.
bool BlockStore::step(BlockReading& reading, Lock& lock) {
  const BlockId id{reading.object, reading.at / kBlockBytes};
  Block& block = blocks_[id];
  if (block.state != State::kThere) {
    block.waiting.push_back(&reading);
    block.place = place_.now();
    block.is_passed = false;
    reading.waits = true;
    reading.waits_for = id;
    if (std::exchange(block.is_demanded, true) || block.state == State::kFilling) return false;
    lock.unlock();
    filler_->want(id, Urgency::kDemanded);
    lock.lock();
    return false;
  }
  touch(block);
  const uint64_t start = id.number * kBlockBytes, inside = reading.at - start;
  if (inside >= block.bytes) {
    reading.status = block.fault ? Status(Error{Trouble::kContent, objects_[id.object].name + " ends too early."})
                                 : Status(block.fault.error());
    return true;
  }
  const std::shared_ptr<uint8_t[]> memory = block.memory;  // the block may leave meanwhile
  const uint64_t part = std::min(reading.end - reading.at, block.bytes - inside);
  lock.unlock();
  const uint64_t given = copy_pieces(*reading.read, reading.at, part, memory.get() + inside);
  lock.lock();
  reading.at += part;
  note_given(id, given);
  return true;
}

// ---- blocks

void BlockStore::touch(Block& block) {
  block.place = place_.now();
  used_.splice(used_.end(), list_of(block), block.used);
  block.is_passed = false;
}

void BlockStore::note_given(BlockId id, uint64_t bytes) {
  const auto at = blocks_.find(id);
  if (at == blocks_.end() || at->second.state != State::kThere) return;
  at->second.given_bytes += bytes;
  const auto& useful = objects_[id.object].useful;
  if (id.number < useful.size() && at->second.given_bytes >= useful[id.number]) {
    drop(at);
    filler_->note_room();
  }
}

void BlockStore::drop(Blocks::iterator at) {
  counts_.held_bytes -= bytes_of(at->first);
  list_of(at->second).erase(at->second.used);
  blocks_.erase(at);
}

void BlockStore::drop_past(std::list<BlockId>& blocks) {
  while (!blocks.empty()) {
    const auto at = blocks_.find(blocks.front());
    if (!is_past(at->second)) return;
    drop(at);
    filler_->note_room();
  }
}

bool BlockStore::make_room(uint64_t bytes, Urgency urgency) {
  // Where no order says what will be read, the block that was used least lately is the one to leave.
  const bool presses = urgency == Urgency::kDemanded || (urgency == Urgency::kPassed && !place_.has_order());
  while (counts_.held_bytes + bytes > bytes_max_) {
    if (passed_.empty() && used_.empty()) return false;
    const auto at = blocks_.find(passed_.empty() ? used_.front() : passed_.front());
    if (passed_.empty() && !is_past(at->second)) {
      if (!presses) return false;
      ++counts_.pressed;
    }
    drop(at);
  }
  if (place_.tells_of(counts_.pressed))
    log::warn(
        "{}: more is read from at a time than the {} MiB that source.stream_bytes_max allows, so blocks are brought "
        "again; a smaller order.window, or a larger source.stream_bytes_max, avoids it",
        objects_.front().name, bytes_max_ >> 20);
  return true;
}

BlockShelf::Place BlockStore::begin(BlockId id, Urgency urgency) {
  const memory_reserve::Spared spared;
  const std::scoped_lock lock(mutex_);
  const auto [at, is_new] = blocks_.try_emplace(id);
  Block& block = at->second;
  if (block.state != State::kWanted) return {};
  if (is_new) block.place = place_.now();
  if (is_new) block.is_passed = urgency == Urgency::kPassed;
  if (block.is_demanded) urgency = Urgency::kDemanded;
  const uint64_t bytes = bytes_of(id);
  bool has_room = make_room(bytes, urgency);
  try {
    if (has_room) block.memory = std::make_shared_for_overwrite<uint8_t[]>(bytes);
  } catch (const std::bad_alloc&) {
    has_room = false;
  }
  if (!has_room) {
    if (block.waiting.empty()) blocks_.erase(at);
    return {nullptr, bytes, true};
  }
  block.state = State::kFilling;
  block.bytes = bytes;
  counts_.held_bytes += bytes;
  counts_.held_bytes_peak = std::max(counts_.held_bytes_peak, counts_.held_bytes);
  return {block.memory.get(), bytes, false};
}

void BlockStore::end(BlockId id, uint64_t bytes, Status status) {
  const std::scoped_lock lock(mutex_);
  const auto at = blocks_.find(id);
  if (at == blocks_.end()) return;
  Block& block = at->second;
  const bool was_filled = block.state == State::kFilling;
  for (BlockReading* const reading : std::exchange(block.waiting, {})) {
    if (!status && bytes == 0 && reading->status) reading->status = status;
    readings_.resume(*reading);
  }
  if (!was_filled || (!status && bytes == 0)) {
    if (was_filled) counts_.held_bytes -= block.bytes;
    blocks_.erase(at);
    return;
  }
  ++counts_.blocks;
  counts_.bytes += bytes;
  block.state = State::kThere;
  block.bytes = bytes;
  block.place = place_.now();
  block.fault = std::move(status);
  block.used = list_of(block).insert(list_of(block).end(), id);
}

void BlockStore::expect(std::string_view object, uint64_t offset, uint64_t bytes, uint64_t place, uint64_t horizon) {
  const auto found = numbers_.find(object);
  if (found == numbers_.end() || bytes == 0) return;
  Lock lock(mutex_);
  place_.go_on(place, horizon);
  drop_past(used_);
  drop_past(passed_);
  for (uint64_t number = offset / kBlockBytes; number <= (offset + bytes - 1) / kBlockBytes; ++number) {
    const BlockId id{found->second, number};
    if (bytes_of(id) == 0) return;
    const auto [at, is_new] = blocks_.try_emplace(id);
    if (at->second.state == State::kThere) touch(at->second);
    at->second.place = place_.now();
    at->second.is_passed = false;
    if (!is_new) continue;
    lock.unlock();
    filler_->want(id, Urgency::kExpected);
    lock.lock();
  }
}

BlockStore::Counts BlockStore::counts() const {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

}  // namespace spdld::store::streams
