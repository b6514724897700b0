// Keeps a sample's field on a shelf of the cache, prepared or as it was fetched. One thread, for one sample.
#pragma once

#include <cstring>

#include "daemon/cache/cache.h"
#include "daemon/media/representation.h"
#include "daemon/source/fetching/fetcher.h"

namespace spdld::pipeline {

class ShelfKeeper final : public media::Keeper {
 public:
  ShelfKeeper(cache::Shelf& shelf, uint64_t sample, const store::Identity& identity)
      : shelf_(shelf), sample_(sample), identity_(identity) {}

  uint8_t* reserve(size_t bytes) override {
    room_ = shelf_.reserve(sample_, bytes, cache::Form::kPrepared);
    return room_ ? room_.memory() : nullptr;
  }
  bool may_keep(size_t bytes) override {
    if (shelf_.has_room(bytes) || takes(bytes)) return true;
    shelf_.count_refused();
    return false;
  }
  bool takes(size_t bytes) override { return shelf_.has_disk_room(bytes); }
  void keep(const uint8_t* memory, size_t bytes) override {
    if (room_) room_.keep(identity_);
    shelf_.put_on_disk(sample_, identity_, memory, bytes, cache::Form::kPrepared);
  }
  void keep_as_fetched(std::span<const uint8_t> content) override {
    keep_in_memory(content, cache::Form::kEncoded);
    shelf_.put_on_disk(sample_, identity_, content.data(), content.size(), cache::Form::kEncoded);
  }

  // Keeps a copy in memory alone, for what lies on disk already.
  void keep_in_memory(std::span<const uint8_t> bytes, cache::Form form) {
    auto room = shelf_.reserve(sample_, bytes.size(), form);
    if (!room) return;
    std::memcpy(room.memory(), bytes.data(), bytes.size());
    room.keep(identity_);
  }

 private:
  cache::Shelf& shelf_;
  uint64_t sample_;
  const store::Identity& identity_;
  cache::Shelf::Room room_;
};

}  // namespace spdld::pipeline
