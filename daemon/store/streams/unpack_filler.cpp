#include "daemon/store/streams/unpack_filler.h"

#include <algorithm>
#include <new>
#include <utility>

#include "daemon/base/system/cpu.h"
#include "daemon/base/system/log.h"
#include "daemon/base/system/memory_reserve.h"

namespace spdld::store::streams {
namespace {

constexpr unsigned kUnpackReads = 64;  // that keep it busy: many reads share a block
constexpr uint64_t kScratchBytes = 256 << 10;
constexpr uint64_t kRestartsToldAt = 16;

}  // namespace

UnpackFiller::UnpackFiller(std::vector<Object> objects, unsigned decoders)
    : objects_(std::move(objects)), decoders_max_(std::max(decoders, 1u)), wishes_(objects_.size()) {}

UnpackFiller::~UnpackFiller() { stop(); }

void UnpackFiller::start(BlockShelf& shelf) {
  shelf_ = &shelf;
  const unsigned count = std::min({decoders_max_, kThreadsMax, std::max(usable_cores().cores / 2, 1u)});
  for (unsigned i = 0; i < count; ++i)
    threads_.emplace_back([this, i] {
      name_thread("unpack", i);
      work();
    });
}

void UnpackFiller::stop() {
  {
    const std::scoped_lock lock(mutex_);
    is_stopping_ = true;
    wake_.notify_all();
  }
  stopping_.request_stop();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  idle_.clear();
}

unsigned UnpackFiller::concurrency() const { return kUnpackReads; }

UnpackFiller::Counts UnpackFiller::counts() const {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

void UnpackFiller::want(BlockId block, Urgency urgency) {
  const std::scoped_lock lock(mutex_);
  if (is_stopping_) return;
  Wishes& wishes = wishes_[block.object];
  if (wishes.blocks.empty()) wished_.push_back(block.object);
  const auto [at, is_new] = wishes.blocks.try_emplace(block.number, urgency);
  if (urgency == Urgency::kDemanded) at->second = urgency;
  wake_.notify_one();
}

void UnpackFiller::note_room() {
  const std::scoped_lock lock(mutex_);
  ++rooms_;
  if (!wished_.empty()) wake_.notify_one();
}

// ---- its threads

void UnpackFiller::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    std::optional<Job> job;
    wake_.wait(lock, [&] { return is_stopping_ || (job = pick()).has_value(); });
    if (is_stopping_) return;
    lock.unlock();
    fill(*job);
    lock.lock();
    wishes_[job->block.object].is_busy = false;
    wake_.notify_all();
  }
}

// Takes the first object with a demanded block, and the lowest of its blocks; where no block is demanded, the lowest
// expected block of the first object.
std::optional<UnpackFiller::Job> UnpackFiller::pick() {
  for (const Urgency urgency : {Urgency::kDemanded, Urgency::kExpected}) {
    for (auto object = wished_.begin(); object != wished_.end(); ++object) {
      Wishes& wishes = wishes_[*object];
      if (wishes.is_busy || (urgency == Urgency::kExpected && wishes.waits_for_room == rooms_)) continue;
      const auto at = std::find_if(wishes.blocks.begin(), wishes.blocks.end(), [&](const auto& wish) {
        return wish.second == urgency || urgency == Urgency::kExpected;
      });
      if (at == wishes.blocks.end()) continue;
      const Job job{{*object, at->first}, at->second, rooms_};
      wishes.blocks.erase(at);
      wishes.is_busy = true;
      if (wishes.blocks.empty())
        wished_.erase(object);
      else
        wished_.splice(wished_.end(), wished_, object);
      return job;
    }
  }
  return {};
}

void UnpackFiller::fill(const Job& job) {
  const BlockShelf::Place place = shelf_->begin(job.block, job.urgency);
  if (place.to == nullptr) {
    if (place.has_no_room && job.urgency == Urgency::kDemanded) shelf_->end(job.block, 0, Error{Trouble::kMemory, {}});
    if (place.has_no_room && job.urgency == Urgency::kExpected) put_back(job.block, job.rooms);
    return;
  }
  uint64_t bytes = 0;
  Status status = Done{};
  try {
    const memory_reserve::Spared spared;
    status = bring(job, place, bytes);
  } catch (const std::bad_alloc&) {
    status = Error{Trouble::kMemory, {}};  // a sentence would need memory
  }
  shelf_->end(job.block, bytes, std::move(status));
}

// A decoder that went on to later blocks would have to come back for this one.
void UnpackFiller::put_back(BlockId block, uint64_t rooms) {
  const std::scoped_lock lock(mutex_);
  Wishes& wishes = wishes_[block.object];
  if (wishes.blocks.empty()) wished_.push_back(block.object);
  wishes.blocks.try_emplace(block.number, Urgency::kExpected);
  wishes.waits_for_room = rooms;
}

Status UnpackFiller::bring(const Job& job, BlockShelf::Place place, uint64_t& bytes) {
  if (Status sound = fault_of(job.block); !sound) return sound;
  Result<Decoder> decoder = take_decoder(job.block);
  if (!decoder) return std::move(decoder.error());
  Status status = pass(*decoder, job.block.number);
  if (status) {
    Filled filled = unpack_block(*decoder, place.to);
    bytes = filled.bytes;
    status = std::move(filled.status);
  }
  if (!status) decoder->reader.reset();  // it can't go on
  give_back(std::move(*decoder));
  return status;
}

// The damage of an object stays known. A reader still gets the blocks before the damage.
Status UnpackFiller::fault_of(BlockId block) const {
  const std::scoped_lock lock(mutex_);
  const Wishes& wishes = wishes_[block.object];
  if (wishes.fault || block.number <= wishes.fault_from) return Done{};
  return wishes.fault;
}

// The decoder that has the shortest way to the block.
Result<UnpackFiller::Decoder> UnpackFiller::take_decoder(BlockId block) {
  Decoder evicted;  // ends without the mutex
  {
    const std::scoped_lock lock(mutex_);
    auto best = idle_.end();
    for (auto at = idle_.begin(); at != idle_.end(); ++at)
      if (at->object == block.object && at->next <= block.number && (best == idle_.end() || at->next > best->next))
        best = at;
    if (best != idle_.end()) {
      Decoder decoder = std::move(*best);
      idle_.erase(best);
      return decoder;
    }
    if (decoders_ == decoders_max_ && !idle_.empty()) {
      evicted = std::move(idle_.front());
      idle_.pop_front();
      --decoders_;
    }
  }
  return begin_decoder(block.object);
}

Result<UnpackFiller::Decoder> UnpackFiller::begin_decoder(uint32_t object) {
  const Object& one = objects_[object];
  auto view = one.open(stopping_.get_token());
  if (!view) return std::move(view.error());
  Decoder decoder;
  decoder.object = object;
  decoder.view = std::move(*view);
  decoder.reader = std::make_unique<unpack::UnpackedReader>(*decoder.view, one.compression);
  const std::scoped_lock lock(mutex_);
  ++decoders_;
  ++counts_.begun;
  if (std::exchange(wishes_[object].is_begun, true)) ++counts_.restarts;
  if (counts_.restarts >= kRestartsToldAt && !std::exchange(has_told_, true))
    log::warn(
        "{}: compressed archives were unpacked again from their beginning {} times, for samples that had been passed; "
        "a smaller order.window, or a larger source.stream_bytes_max, avoids it",
        one.name, counts_.restarts);
  return decoder;
}

void UnpackFiller::give_back(Decoder decoder) {
  const bool is_done = decoder.next * kBlockBytes >= objects_[decoder.object].bytes;
  const std::scoped_lock lock(mutex_);
  if (is_done) wishes_[decoder.object].is_begun = false;
  if (is_done || !decoder.reader)
    --decoders_;
  else
    idle_.push_back(std::move(decoder));
}

void UnpackFiller::forget(BlockId block) {
  const std::scoped_lock lock(mutex_);
  auto& blocks = wishes_[block.object].blocks;
  if (blocks.erase(block.number) > 0 && blocks.empty()) wished_.remove(block.object);
}

Status UnpackFiller::pass(Decoder& decoder, uint64_t target) {
  while (decoder.next < target) {
    const BlockId id{decoder.object, decoder.next};
    const BlockShelf::Place place = shelf_->begin(id, Urgency::kPassed);
    if (place.to != nullptr) forget(id);  // a wish that is met must not bring the block again
    Filled filled = unpack_block(decoder, place.to);
    if (place.to != nullptr) shelf_->end(id, filled.bytes, filled.status);
    if (!filled.status) return filled.status;
  }
  return Done{};
}

// `to`: null, where nobody wants the block.
UnpackFiller::Filled UnpackFiller::unpack_block(Decoder& decoder, uint8_t* to) {
  const uint64_t start = decoder.next * kBlockBytes;
  const uint64_t bytes = std::min(kBlockBytes, objects_[decoder.object].bytes - start);
  ByteBuffer scratch;
  Filled filled;
  while (filled.bytes < bytes) {
    if (stopping_.stop_requested()) return {filled.bytes, Error{Trouble::kStopping, {}}};
    uint64_t part = bytes - filled.bytes;
    if (to == nullptr) part = std::min(part, kScratchBytes);
    uint8_t* const at = to == nullptr ? scratch.resize(part) : to + filled.bytes;
    const Result<uint64_t> got = decoder.reader->read({at, part});
    if (!got) return {filled.bytes, got.error()};
    filled.bytes += *got;
    if (*got < part) return {filled.bytes, damaged(decoder, decoder.next)};
  }
  ++decoder.next;
  return filled;
}

Error UnpackFiller::damaged(const Decoder& decoder, uint64_t block) {
  const std::string& damage = decoder.reader->damage();
  Error error{Trouble::kContent, "the archive " + objects_[decoder.object].name + " can't be unpacked beyond byte " +
                                     std::to_string(decoder.reader->position()) + ": " +
                                     (damage.empty() ? "it ends there, and was longer when it was listed" : damage) +
                                     "."};
  const std::scoped_lock lock(mutex_);
  wishes_[decoder.object].fault = error;
  wishes_[decoder.object].fault_from = block;
  return error;
}

}  // namespace spdld::store::streams
