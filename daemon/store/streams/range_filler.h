// Fills blocks by requests for ranges of objects in other stores.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "daemon/store/store.h"
#include "daemon/store/streams/block_filler.h"

namespace spdld::store::streams {

// Any thread; observers of the stores' requests run on their network thread.
class RangeFiller final : public BlockFiller, private Request::Observer {
 public:
  struct Object {
    std::shared_ptr<Store> store;
    std::string name;        // in the store
    Identity identity = {};  // another object is bad content
  };

  explicit RangeFiller(std::vector<Object> objects) : objects_(std::move(objects)) {}

  void start(BlockShelf& shelf) override { shelf_ = &shelf; }
  void want(BlockId block, Urgency urgency) override;
  void stop() override;
  unsigned concurrency() const override;

 private:
  struct OneRead final : Read {
    BlockId block = {};
  };

  bool fill(BlockId block, Urgency urgency);
  void fill_waiting();
  void on_done(Request& request) override;

  const std::vector<Object> objects_;
  BlockShelf* shelf_ = nullptr;
  std::mutex mutex_;
  std::condition_variable quiet_;
  bool stopping_ = false;  // under the mutex, as the following
  std::vector<std::unique_ptr<OneRead>> under_way_;
  std::vector<std::unique_ptr<OneRead>> ended_;  // while it stops
  std::deque<BlockId> waiting_;                  // for room
  size_t asking_ = 0;                            // threads that are within a store's read()
};

}  // namespace spdld::store::streams
