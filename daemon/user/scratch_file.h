// The memory in which samples lie for the processes of a user: one memfd, which the daemon and a crew's workers map.
// Its size is sealed, so that nobody can cut it off below the daemon's feet, and pages that were never written to take
// no memory. It is divided by halving: a piece is a power of two of pages. Its content is never trusted.
#pragma once

#include <array>
#include <boost/interprocess/mapped_region.hpp>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <span>
#include <utility>

#include "daemon/media/carried.h"
#include "proto/crew/ring.h"
#include "proto/unique_fd.h"

namespace spdld::user {

class ScratchFile final : public media::ScratchMemory {
 public:
  static constexpr uint64_t kPieceBytesMin = 4096;

  // At least `bytes`, and less than twice as many. Throws SetupError (kLimit) where the memory can't be had.
  // `given_back`: called behind each give_back(), on its thread.
  explicit ScratchFile(uint64_t bytes, std::function<void()> given_back = {});

  uint8_t* take(uint64_t bytes) override;
  void give_back(uint8_t* memory, uint64_t bytes) override;

  int fd() const { return fd_.get(); }
  uint64_t bytes() const { return bytes_; }
  uint64_t taken_bytes() const;  // whole pieces
  bool holds(const uint8_t* memory) const { return memory >= start() && memory < start() + bytes_; }
  // Precondition: it holds the memory.
  proto::crew::Extent extent_of(const uint8_t* memory, uint64_t bytes) const {
    return {static_cast<uint64_t>(memory - start()), bytes};
  }
  // Gives the pages of all free pieces back to the system.
  void release_pages();

 private:
  static constexpr size_t kOrders = 40;

  uint8_t* start() const { return static_cast<uint8_t*>(region_.get_address()); }
  static size_t order_of(uint64_t bytes);  // of the smallest piece that has so many

  const uint64_t bytes_;
  const std::function<void()> given_back_;
  UniqueFd fd_;
  boost::interprocess::mapped_region region_;
  mutable std::mutex mutex_;
  std::array<std::set<uint64_t>, kOrders> free_;  // by order: where free pieces begin; under the lock, as the next
  uint64_t taken_bytes_ = 0;
};

// A piece that is given back with its owner, and how much of it is used.
class ScratchPiece {
 public:
  ScratchPiece() = default;  // none
  ScratchPiece(ScratchFile& scratch, uint8_t* memory, uint64_t taken_bytes, uint64_t bytes)
      : scratch_(&scratch), memory_(memory), taken_bytes_(taken_bytes), bytes_(bytes) {}
  ~ScratchPiece() {
    if (memory_ != nullptr) scratch_->give_back(memory_, taken_bytes_);
  }
  ScratchPiece(ScratchPiece&& other) noexcept
      : scratch_(other.scratch_),
        memory_(std::exchange(other.memory_, nullptr)),
        taken_bytes_(other.taken_bytes_),
        bytes_(std::exchange(other.bytes_, 0)) {}
  ScratchPiece& operator=(ScratchPiece&& other) noexcept {
    std::swap(scratch_, other.scratch_);
    std::swap(memory_, other.memory_);
    std::swap(taken_bytes_, other.taken_bytes_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  std::span<const uint8_t> bytes() const { return {memory_, bytes_}; }

 private:
  ScratchFile* scratch_ = nullptr;
  uint8_t* memory_ = nullptr;
  uint64_t taken_bytes_ = 0, bytes_ = 0;
};

}  // namespace spdld::user
