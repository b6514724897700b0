#include "daemon/user/scratch_file.h"

#include <fcntl.h>

#include <algorithm>
#include <bit>

#include "daemon/user/shared_file.h"

namespace spdld::user {
namespace {

uint64_t size_of(size_t order) { return ScratchFile::kPieceBytesMin << order; }

uint64_t rounded(uint64_t bytes) { return std::bit_ceil(std::max(bytes, ScratchFile::kPieceBytesMin)); }

}  // namespace

ScratchFile::ScratchFile(uint64_t bytes, std::function<void()> given_back)
    : bytes_(rounded(bytes)),
      given_back_(std::move(given_back)),
      fd_(make_shared_file("spdld-scratch", bytes_)),
      region_(map_shared_file(fd_.get(), bytes_)) {
  free_[order_of(bytes_)].insert(0);
}

size_t ScratchFile::order_of(uint64_t bytes) {
  return static_cast<size_t>(std::countr_zero(rounded(bytes)) - std::countr_zero(kPieceBytesMin));
}

uint8_t* ScratchFile::take(uint64_t bytes) {
  if (bytes > bytes_) return nullptr;
  const size_t wanted = order_of(bytes);
  const std::lock_guard lock(mutex_);
  size_t order = wanted;
  while (order < kOrders && free_[order].empty()) order++;
  if (order == kOrders) return nullptr;
  const uint64_t at = *free_[order].begin();
  free_[order].erase(free_[order].begin());
  while (order > wanted) {
    order--;
    free_[order].insert(at + size_of(order));
  }
  taken_bytes_ += size_of(wanted);
  return start() + at;
}

void ScratchFile::give_back(uint8_t* memory, uint64_t bytes) {
  uint64_t at = static_cast<uint64_t>(memory - start());
  size_t order = order_of(bytes);
  {
    const std::lock_guard lock(mutex_);
    taken_bytes_ -= size_of(order);
    for (; size_of(order) < bytes_; order++) {  // two free halves become one piece
      const auto other = free_[order].find(at ^ size_of(order));
      if (other == free_[order].end()) break;
      free_[order].erase(other);
      at &= ~size_of(order);
    }
    free_[order].insert(at);
  }
  if (given_back_) given_back_();
}

uint64_t ScratchFile::taken_bytes() const {
  const std::lock_guard lock(mutex_);
  return taken_bytes_;
}

// Where the system can't do it, the pages stay: they belong to this file alone.
void ScratchFile::release_pages() {
  const std::lock_guard lock(mutex_);
  for (size_t order = 0; order < kOrders; order++)
    for (const uint64_t at : free_[order])
      static_cast<void>(fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(at),
                                  static_cast<off_t>(size_of(order))));
}

}  // namespace spdld::user
