// Where the blocks of a BlockStore come from, and the shelf on which they are put.
#pragma once

#include <cstdint>

#include "daemon/base/result.h"

namespace spdld::store::streams {

inline constexpr uint64_t kBlockBytes = 4 << 20;

struct BlockId {
  uint32_t object = 0;  // a number among the objects of the store
  uint64_t number = 0;  // the block begins at byte number * kBlockBytes
  friend bool operator==(const BlockId&, const BlockId&) = default;
};

enum class Urgency : uint8_t {
  kDemanded,  // a read waits for the block
  kExpected,  // reads of the block will come: it is brought where there is room
  kPassed     // nobody asked for it, but the filler comes past it: it leaves before all others
};

// Any thread. Nothing blocks.
class BlockShelf {
 public:
  struct Place {
    uint8_t* to = nullptr;  // null: the block is there already, is being filled, or there is no room
    uint64_t bytes = 0;     // of the block
    bool has_no_room = false;
  };
  // Takes room for a block, which other blocks may have to leave, and which is filled until end().
  virtual Place begin(BlockId block, Urgency urgency) = 0;
  // `bytes`: from the block's beginning. With an error: reads that go beyond these bytes end with it.
  virtual void end(BlockId block, uint64_t bytes, Status status) = 0;

 protected:
  ~BlockShelf() = default;
};

// Any thread. Nothing blocks but stop().
class BlockFiller {
 public:
  virtual ~BlockFiller() = default;
  // Before the first want(). Borrows the shelf until stop().
  virtual void start(BlockShelf& shelf) = 0;
  // Asks for a block. For a demanded one, shelf.begin() and shelf.end() follow.
  virtual void want(BlockId block, Urgency urgency) = 0;
  // Blocks have left: an expected block that found no room may find it now. The shelf must not be called from here.
  virtual void note_room() {}
  // Afterwards nothing is filled any more, and the shelf is not used.
  virtual void stop() = 0;
  // How many reads keep it busy.
  virtual unsigned concurrency() const = 0;
};

}  // namespace spdld::store::streams
