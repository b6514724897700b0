// A view of a remote object. It reads ahead: who reads on finds the next bytes there, and who jumps about gets little
// more than what was asked for.
#pragma once

#include <array>
#include <stop_token>
#include <string>

#include "daemon/base/byte_buffer.h"
#include "daemon/store/store.h"
#include "daemon/store/view.h"
#include "daemon/store/waiting.h"

namespace spdld::store {

// Of the object with this identity; another one is an error. Borrows the store.
class ObjectView final : public View {
 public:
  // Blocks are as long as the reader goes on without a jump, between these bounds. Two blocks are held.
  static constexpr uint64_t kBlockMin = 64 << 10, kBlockMax = 4 << 20;
  // A reader who leaves out less than this goes on.
  static constexpr uint64_t kJumpMin = 1 << 20;

  // `takes_compressed`: as Read has it.
  ObjectView(Store& store, std::string object, Identity identity, std::stop_token stop = {},
             bool takes_compressed = false);
  ~ObjectView() override;
  ObjectView(const ObjectView&) = delete;
  ObjectView& operator=(const ObjectView&) = delete;

  uint64_t size() const override { return identity_.size; }
  Result<uint64_t> read(uint64_t offset, std::span<uint8_t> to) override;

 private:
  struct Block {
    explicit Block(Store& store) : waiting(store) {}
    bool has(uint64_t offset) const { return offset >= start && offset - start < bytes; }
    uint64_t end() const { return start + bytes; }

    Waiting waiting;
    Read request;
    ByteBuffer memory;
    uint64_t start = 0, bytes = 0;  // of the object, that it has or is to have; none: it is empty
    bool is_under_way = false;
  };

  Status reach(uint64_t offset, uint64_t bytes);
  void begin(Block& block, uint64_t start);
  Status finish(Block& block);
  void drop(Block& block);

  Store& store_;
  const std::string object_;
  const Identity identity_;
  const std::stop_token stop_;
  const bool takes_compressed_;
  uint64_t block_bytes_ = kBlockMin;
  Block now_, next_;
  Block *current_ = &now_, *ahead_ = &next_;
};

}  // namespace spdld::store
