// Fills blocks of what compressed objects hold. A decoder goes through an object from its beginning to its end, and the
// blocks that it comes past on its way to a wanted one are offered to the shelf. A block that lies before all decoders
// of its object costs a restart: another decoder begins at the object's beginning. All blocks that are wanted at that
// time then come in one go.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "daemon/store/streams/block_filler.h"
#include "daemon/store/unpack/unpacked_reader.h"

namespace spdld::store::streams {

// Any thread. Its own threads open and read the objects.
class UnpackFiller final : public BlockFiller {
 public:
  // Opens the compressed bytes; waits for them end where the token says so.
  using Open = std::function<Result<std::unique_ptr<View>>(const std::stop_token&)>;
  struct Object {
    std::string name;  // for errors
    unpack::Compression compression = unpack::Compression::kGzip;
    uint64_t bytes = 0;  // unpacked, up to the last byte that is of use
    Open open;
  };
  struct Counts {
    uint64_t begun = 0;     // decoders
    uint64_t restarts = 0;  // decoders that were begun for objects that another decoder had not finished
  };
  // The shelf must have room for the blocks that the threads fill: two each.
  static constexpr unsigned kThreadsMax = 3;

  // `decoders`: that are kept at a time, at least 1.
  UnpackFiller(std::vector<Object> objects, unsigned decoders);
  ~UnpackFiller() override;
  UnpackFiller(const UnpackFiller&) = delete;
  UnpackFiller& operator=(const UnpackFiller&) = delete;

  void start(BlockShelf& shelf) override;
  void want(BlockId block, Urgency urgency) override;
  void note_room() override;
  void stop() override;
  unsigned concurrency() const override;

  Counts counts() const;

 private:
  struct Decoder {
    uint32_t object = 0;
    std::unique_ptr<View> view;
    std::unique_ptr<unpack::UnpackedReader> reader;
    uint64_t next = 0;  // the block that it comes to next
  };
  struct Wishes {
    std::map<uint64_t, Urgency> blocks;  // by number
    bool is_busy = false;                // a thread works on the object
    uint64_t waits_for_room = 0;         // until rooms_ is another number; 0: nothing expected waits
    bool is_begun = false;               // a decoder began, and none has come to the end since
    Status fault = Done{};               // of the object's bytes from this block on:
    uint64_t fault_from = 0;
  };
  struct Job {
    BlockId block;
    Urgency urgency = Urgency::kExpected;
    uint64_t rooms = 0;  // before it asks for room
  };
  struct Filled {
    uint64_t bytes = 0;
    Status status = Done{};
  };

  void work();
  std::optional<Job> pick();
  void fill(const Job& job);
  void put_back(BlockId block, uint64_t rooms);
  Status bring(const Job& job, BlockShelf::Place place, uint64_t& bytes);
  Result<Decoder> take_decoder(BlockId block);
  Result<Decoder> begin_decoder(uint32_t object);
  void give_back(Decoder decoder);
  void forget(BlockId block);
  Status pass(Decoder& decoder, uint64_t target);
  Filled unpack_block(Decoder& decoder, uint8_t* to);
  Error damaged(const Decoder& decoder, uint64_t block);
  Status fault_of(BlockId block) const;

  const std::vector<Object> objects_;
  const unsigned decoders_max_;
  BlockShelf* shelf_ = nullptr;
  std::stop_source stopping_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool is_stopping_ = false;    // under the mutex, as the following
  std::vector<Wishes> wishes_;  // by object
  std::list<uint32_t> wished_;  // objects with wishes, by how long they have waited
  std::list<Decoder> idle_;     // used least lately: first
  unsigned decoders_ = 0;       // idle or in use
  uint64_t rooms_ = 1;          // how often room came
  bool has_told_ = false;
  Counts counts_;
  std::vector<std::thread> threads_;
};

}  // namespace spdld::store::streams
