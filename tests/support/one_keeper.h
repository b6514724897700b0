// A place for one prepared form of a content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "daemon/media/representation.h"

namespace spdld::test {

// Keeps one form, in memory of its own or in the memory that it is given.
class OneKeeper final : public media::Keeper {
 public:
  explicit OneKeeper(bool has_room, bool has_disk = true) : has_room_(has_room), has_disk_(has_disk) {}
  uint8_t* reserve(size_t bytes) override {
    if (!has_room_) return nullptr;
    room_.assign(bytes + kAlignment, 0x99);
    return room_.data() + (kAlignment - reinterpret_cast<uintptr_t>(room_.data()) % kAlignment);
  }
  bool may_keep(size_t) override { return has_room_ || has_disk_; }
  bool takes(size_t) override { return has_disk_; }
  void keep(const uint8_t* memory, size_t bytes) override { kept.assign(memory, memory + bytes); }
  void keep_as_fetched(std::span<const uint8_t> content) override { as_fetched.assign(content.begin(), content.end()); }

  std::vector<uint8_t> kept, as_fetched;

 private:
  static constexpr size_t kAlignment = 64;

  bool has_room_, has_disk_;
  std::vector<uint8_t> room_;
};

}  // namespace spdld::test
