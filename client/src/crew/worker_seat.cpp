#include "client/src/crew/worker_seat.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <string>

#include "utf8/utf8.h"

namespace spdld::client {

namespace {

using proto::crew::Extent;
using proto::crew::Reply;
using proto::crew::Ring;

constexpr uint64_t kExtentAlignment = 64;
constexpr uint64_t kShortCallNs = 20'000, kUntoldNsMax = 50'000;

uint64_t monotonic_ns() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

CallOutcome map(int fd, uint64_t bytes, const std::string& what, void*& memory) {
  struct stat status = {};
  if (::fstat(fd, &status) != 0 || status.st_size < 0 || static_cast<uint64_t>(status.st_size) < bytes)
    return failure(SPDLD_INTERNAL, "the daemon's " + what + " is smaller than it says");
  memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (memory != MAP_FAILED) return {};
  memory = nullptr;
  return failure(SPDLD_INTERNAL, "the daemon's " + what + " can't be mapped (" + text_of_errno(errno) + ")");
}

}  // namespace

WorkerSeat::~WorkerSeat() {
  for (const auto& [number, slot] : slots_)
    if (slot.start) ::munmap(slot.start, slot.bytes);
  if (ring_) ::munmap(ring_, sizeof(Ring));
  if (scratch_) ::munmap(scratch_, scratch_bytes_);
}

CallOutcome WorkerSeat::open(UniqueFd ring, UniqueFd bell, int scratch, uint64_t scratch_bytes) {
  const int seals = ::fcntl(ring.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
    return failure(SPDLD_INTERNAL, "the daemon's ring of a worker is not sealed against being cut short");
  void* memory = nullptr;
  CallOutcome outcome = map(ring.get(), sizeof(Ring), "ring of a worker", memory);
  ring_ = static_cast<Ring*>(memory);
  if (outcome.ok() && scratch_bytes > 0) {
    outcome = map(scratch, scratch_bytes, "scratch memory", memory);
    scratch_ = static_cast<uint8_t*>(memory);
    if (outcome.ok()) scratch_bytes_ = scratch_bytes;
  }
  if (!outcome.ok()) return outcome;
  bell_ = std::move(bell);
  reader_ = std::make_unique<proto::crew::LaneReader<proto::crew::Task>>(ring_->tasks);
  writer_ = std::make_unique<proto::crew::LaneWriter<Reply>>(ring_->replies, bell_.get());
  return {};
}

Wake WorkerSeat::wait() {
  if (!await_ring()) return Wake::kReady;
  const Wake wake = wait_for(bell_.get(), POLLIN, Deadline::never());
  if (wake == Wake::kReady)
    hear();
  else
    reader_->end_sleep();
  return wake;
}

void WorkerSeat::hear() {
  hear_bell();
  reader_->end_sleep();
}

bool WorkerSeat::await_ring() {
  tell();
  return reader_->begin_sleep();
}

// Takes rings of the bell, and the descriptor that came with them. False: there was nothing to take.
bool WorkerSeat::hear_bell() {
  const proto::IoStatus status = proto::receive_message(bell_.get(), heard_);
  if (status == proto::IoStatus::kClosed) is_over_ = true;
  std::ranges::move(heard_.fds, std::back_inserter(came_));
  return status == proto::IoStatus::kOk;
}

const char* WorkerSeat::take_slot(const proto::crew::Task& task) {
  while (came_.empty() && hear_bell()) {
  }
  if (came_.empty()) return "it announces a slot, and sends no descriptor of it";
  const UniqueFd fd = std::move(came_.front());
  came_.pop_front();
  const int seals = ::fcntl(fd.get(), F_GET_SEALS);
  if (task.slot == 0 || task.room.bytes == 0 || seals < 0 || (seals & F_SEAL_SHRINK) == 0)
    return "it announces a slot that is no memory, or that could be cut short";
  Slot slot;
  void* memory = nullptr;
  if (map(fd.get(), task.room.bytes, "slot", memory).ok()) slot = {static_cast<uint8_t*>(memory), task.room.bytes};
  if (slots_.emplace(task.slot, slot).second) return nullptr;
  if (slot.start) ::munmap(slot.start, slot.bytes);
  return "it announces a slot for the second time";
}

const char* WorkerSeat::drop_slot(const proto::crew::Task& task) {
  const auto at = slots_.find(task.slot);
  if (at == slots_.end()) return "it takes a slot away that it did not announce";
  if (at->second.start) ::munmap(at->second.start, at->second.bytes);
  slots_.erase(at);
  return nullptr;
}

std::optional<bool> WorkerSeat::has_slot(uint32_t slot) const {
  const auto at = slots_.find(slot);
  if (at == slots_.end()) return std::nullopt;
  return at->second.start != nullptr;
}

uint8_t* WorkerSeat::in_slot(uint32_t slot, const Extent& extent) const {
  const auto at = slots_.find(slot);
  if (at == slots_.end() || !at->second.start || extent.offset > at->second.bytes) return nullptr;
  return extent.bytes <= at->second.bytes - extent.offset ? at->second.start + extent.offset : nullptr;
}

uint8_t* WorkerSeat::at(const Extent& extent) const {
  static uint8_t none = 0;
  if (extent.bytes == 0) return scratch_ ? scratch_ : &none;
  if (extent.offset % kExtentAlignment != 0 || extent.offset > scratch_bytes_) return nullptr;
  return extent.bytes <= scratch_bytes_ - extent.offset ? scratch_ + extent.offset : nullptr;
}

bool WorkerSeat::fits(const proto::crew::Shape& shape, uint64_t item_bytes, uint64_t bytes) {
  if (shape.dimensions > proto::crew::kDimensionsMax) return false;
  const int64_t* const end = shape.sizes + shape.dimensions;
  if (std::any_of(shape.sizes, end, [](int64_t size) { return size < 0; })) return false;
  if (std::find(shape.sizes, end, 0) != end) return bytes == 0;
  uint64_t product = item_bytes;
  for (const int64_t* size = shape.sizes; size != end; ++size)
    if (__builtin_mul_overflow(product, static_cast<uint64_t>(*size), &product)) return false;
  return product == bytes;
}

void WorkerSeat::prepare(Reply reply, std::string_view text) {
  text = text.substr(0, utf8::whole_characters(text, proto::crew::kTextBytesMax));
  if (!text.empty()) std::memcpy(ring_->texts[writer_->place()], text.data(), text.size());
  reply.text_bytes = static_cast<uint32_t>(text.size());
  writer_->write(reply);
}

void WorkerSeat::publish(uint64_t call_ns) {
  writer_->publish();
  const uint64_t now_ns = monotonic_ns();
  if (untold_since_ns_ == 0) untold_since_ns_ = now_ns;
  if (call_ns > kShortCallNs || now_ns - untold_since_ns_ > kUntoldNsMax) tell();
}

// Without a reply that is untold there is nothing to wake the daemon for.
void WorkerSeat::tell() {
  if (untold_since_ns_ == 0) return;
  writer_->tell();
  untold_since_ns_ = 0;
}

}  // namespace spdld::client
