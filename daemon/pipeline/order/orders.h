// The orders of a pipeline's epochs, for all its streams. Most orders are made at once when they are asked for. A slow
// order (sampler::Order::begins_slowly()) is made on the pool, once for all streams. The slow order of the next epoch
// is made as soon as an order is asked for, so that nobody waits where an epoch ends. Any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "daemon/base/fair_pool.h"
#include "daemon/base/result.h"
#include "daemon/sampler/order.h"

namespace spdld::pipeline {

class Orders {
 public:
  class Reader {
   public:
    // On a pool thread, once for each find() that gave none: the reader may ask again. An error: the order could not be
    // made.
    virtual void on_order(const Status& made) = 0;

   protected:
    ~Reader() = default;
  };
  using Found = std::shared_ptr<const sampler::EpochOrder>;

  // The most slow orders that are kept, beside orders that readers hold.
  static constexpr size_t kKeptMax = 4;

  // `epochs`: how many there are; 0: endless. `order` and `pool` must outlive this object; `lane` must end before it.
  Orders(const sampler::Order& order, uint64_t epochs, FairPool& pool, FairPool::Lane& lane);
  ~Orders();

  // The order of an epoch. None: it is being made, and the reader, which must stay until then, will be told.
  Found find(uint64_t epoch, Reader& reader);
  // The order of an epoch, for somebody who asks again and is not told. A slow order is made after the orders that
  // readers wait for, and is not begun while many are to be made already.
  Found look(uint64_t epoch);

 private:
  struct Wanted {
    uint64_t epoch = 0;
    std::vector<Reader*> readers;  // empty: the order is made ahead
  };
  class Making;

  Found kept(uint64_t epoch) const;  // under the lock, as are the following
  void want(uint64_t epoch, Reader* reader);
  void make_first();  // on a pool thread, without the lock

  const sampler::Order& order_;
  const uint64_t epochs_;
  FairPool& pool_;
  FairPool::Lane& lane_;
  const std::unique_ptr<Making> making_;  // the task: in the pool as long as something is wanted

  std::mutex mutex_;
  std::deque<Found> kept_;     // the youngest last
  std::deque<Wanted> wanted_;  // first the order being made; then the orders that readers wait for
};

}  // namespace spdld::pipeline
