// Keeps a sample's prepared form on a shelf of the cache, in memory and on disk. One thread, for one sample.
#pragma once

#include "daemon/cache/cache.h"
#include "daemon/media/representation.h"
#include "daemon/source/fetcher.h"

namespace spdld::pipeline {

class ShelfKeeper final : public media::Keeper {
 public:
  ShelfKeeper(cache::Shelf& shelf, uint64_t sample, const source::Identity& identity)
      : shelf_(shelf), sample_(sample), identity_(identity) {}

  uint8_t* reserve(size_t bytes) override {
    room_ = shelf_.reserve(sample_, bytes);
    return room_ ? room_.memory() : nullptr;
  }
  bool takes(size_t bytes) override { return shelf_.has_disk_room(bytes); }
  void keep(const uint8_t* memory, size_t bytes) override {
    if (room_) room_.keep(identity_);
    shelf_.put_on_disk(sample_, identity_, memory, bytes);
  }

 private:
  cache::Shelf& shelf_;
  uint64_t sample_;
  const source::Identity& identity_;
  cache::Shelf::Room room_;
};

}  // namespace spdld::pipeline
