// A store that serves reads of objects from long blocks of them, for orders that read objects one after another: the
// first read of a block has the block brought once, and all reads of its bytes are copies out of it. Small members of
// an archive then cost one request for a block, and not one each.
//
// The reader of an order says with expect() which bytes will be read soon. Their blocks are brought ahead of the reads,
// as long as no block has to leave for them that is still of use.
//
// A block leaves once all its useful bytes were read, or once the order is past it. Under pressure the block that was
// used least lately leaves first. So any order of reads works, but one that reads from more bytes at a time than the
// store may hold has blocks brought again.
//
// A filler that can only go forward, such as one that unpacks, offers the blocks that it comes past on its way to
// another one. They stay while there is room for them.
//
// The blocks are no part of the bytes in flight (ByteBudget): a block stays while samples wait for room there, and only
// further samples make it leave. They have a bound of their own.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/store/store.h"
#include "daemon/store/streams/block_filler.h"
#include "daemon/store/streams/order_place.h"
#include "daemon/store/streams/readings.h"

namespace spdld::store::streams {

class BlockStore final : public Store, private BlockShelf {
 public:
  static constexpr uint64_t kBytesMin = 8 * kBlockBytes;

  struct Object {
    std::string name;
    uint64_t bytes = 0;
    std::vector<uint32_t> useful = {};  // by block: the bytes that are of use; empty: not known
  };
  struct Counts {
    uint64_t blocks = 0, bytes = 0;  // that were brought
    uint64_t held_bytes = 0, held_bytes_peak = 0;
    uint64_t pressed = 0;  // blocks that had to leave though the order was not past them
  };

  // Holds at most `bytes_max` (kBytesMin at least) of blocks. Starts one thread, which copies and tells observers.
  BlockStore(std::vector<Object> objects, std::unique_ptr<BlockFiller> filler, uint64_t bytes_max);
  // Reads under way end with kStopping.
  ~BlockStore() override;
  BlockStore(const BlockStore&) = delete;
  BlockStore& operator=(const BlockStore&) = delete;

  // Any thread. The observer is told on the store's own thread. The object's identity is not compared: a filler does
  // so.
  void read(Read& read) override;
  void stat(Stat& stat) override;
  void list(List& list) override;
  void cancel(Request& request) override;
  std::string uri_of(std::string_view object) const override { return std::string(object); }
  unsigned concurrency() const override { return filler_->concurrency(); }

  // Bytes of an object that will be read soon. `place` is where the reader is in its order; bytes that are of use there
  // are past when the reader has gone on by `horizon` places. Any thread; nothing blocks.
  void expect(std::string_view object, uint64_t offset, uint64_t bytes, uint64_t place, uint64_t horizon);

  Counts counts() const;

 private:
  struct BlockReading : Reading {
    uint32_t object = 0;
    uint64_t at = 0, end = 0;
    BlockId waits_for = {};  // if it waits
  };
  enum class State : uint8_t { kWanted, kFilling, kThere };
  struct Block {
    State state = State::kWanted;
    bool is_demanded = false;
    bool is_passed = false;  // nobody has asked for it yet
    std::shared_ptr<uint8_t[]> memory;
    uint64_t bytes = 0;        // that are there, or that memory has room for
    uint64_t given_bytes = 0;  // to reads
    uint64_t place = 0;        // of the order, when it was last of use
    Status fault = Done{};     // kThere: why it has no more bytes
    std::vector<BlockReading*> waiting;
    std::list<BlockId>::iterator used;  // kThere: in used_ or passed_
  };
  struct HashOfBlock {
    size_t operator()(const BlockId& id) const { return std::hash<uint64_t>()(id.number << 20 ^ id.object); }
  };
  using Blocks = std::unordered_map<BlockId, Block, HashOfBlock>;
  using Lock = std::unique_lock<std::mutex>;

  Place begin(BlockId id, Urgency urgency) override;
  void end(BlockId id, uint64_t bytes, Status status) override;
  bool serve(BlockReading& reading, Lock& lock);
  bool step(BlockReading& reading, Lock& lock);
  bool make_room(uint64_t bytes, Urgency urgency);
  bool is_past(const Block& block) const { return place_.is_past(block.place); }
  std::list<BlockId>& list_of(const Block& block) { return block.is_passed ? passed_ : used_; }
  void touch(Block& block);
  void note_given(BlockId id, uint64_t bytes);
  void drop(Blocks::iterator at);
  void drop_past(std::list<BlockId>& blocks);
  uint64_t bytes_of(BlockId id) const;

  const std::vector<Object> objects_;
  std::unordered_map<std::string_view, uint32_t> numbers_;  // of objects, by name
  const uint64_t bytes_max_;
  const std::unique_ptr<BlockFiller> filler_;

  mutable std::mutex mutex_;
  Readings<BlockReading> readings_{mutex_};
  Blocks blocks_;
  std::list<BlockId> used_;    // blocks that are there: the one used least lately first
  std::list<BlockId> passed_;  // blocks that are there and that nobody has asked for yet: the oldest one first
  OrderPlace place_;
  Counts counts_;
};

}  // namespace spdld::store::streams
