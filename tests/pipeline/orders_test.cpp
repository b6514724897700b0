// Orders that take long to make: made once, ahead, and by the pool alone.
#include "daemon/pipeline/order/orders.h"

#include <catch2/catch.hpp>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>

namespace spdld::orders_test {

using namespace spdld;
using pipeline::Orders;

namespace {

sampler::Order slow_order() {
  return {17, sampler::Subset(100), sampler::Weighting{std::vector<double>(100, 1.0), false, 100}};
}

// Waits to be told, and counts.
class Reader final : public Orders::Reader {
 public:
  void on_order(const Status& made) override {
    const std::lock_guard lock(mutex_);
    told_ += made ? 1 : 1000;
    if (then) then();
    changed_.notify_all();
  }
  std::function<void()> then;
  void wait(int times) {
    std::unique_lock lock(mutex_);
    REQUIRE(changed_.wait_for(lock, std::chrono::seconds(30), [&] { return told_ >= times; }));
  }
  int told() {
    const std::lock_guard lock(mutex_);
    return told_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int told_ = 0;
};

// Keeps the only thread until it is opened.
class Gate final : public FairTask {
 public:
  void run(unsigned) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

struct Rig {
  explicit Rig(uint64_t epochs) : orders(order, epochs, pool, lane.emplace(pool)) {}
  ~Rig() { lane.reset(); }

  const sampler::Order order = slow_order();
  FairPool pool{1};
  std::optional<FairPool::Lane> lane;
  Orders orders;
};

}  // namespace

TEST_CASE("a slow order is made once for all who ask, who are told once each") {
  Rig rig(1);
  Gate gate;
  Reader one, two;
  rig.pool.submit(*rig.lane, gate);
  CHECK(rig.orders.find(0, one) == nullptr);
  CHECK(rig.orders.find(0, two) == nullptr);
  CHECK(one.told() == 0);
  gate.open();
  one.wait(1);
  two.wait(1);
  const auto found = rig.orders.find(0, one);
  REQUIRE(found != nullptr);
  CHECK(found == rig.orders.find(0, two));
  CHECK((*found)(3) == sampler::EpochOrder(rig.order, 0)(3));
  rig.lane.reset();  // all tasks have ended
  CHECK(one.told() == 1);
  CHECK(two.told() == 1);
}

TEST_CASE("the next epoch's order is there before it is asked for, and none behind the last") {
  Rig rig(8);
  Reader reader;
  CHECK(rig.orders.find(6, reader) == nullptr);
  reader.wait(1);
  rig.lane.reset();
  CHECK(rig.orders.find(7, reader) != nullptr);  // which wants no further one: the lane has ended
  CHECK(reader.told() == 1);
}

TEST_CASE("what a reader waits for comes before what is made ahead") {
  Rig rig(0);
  Gate gate;
  Reader first, second, third;
  rig.pool.submit(*rig.lane, gate);
  CHECK(rig.orders.find(10, first) == nullptr);   // and 11 ahead
  CHECK(rig.orders.find(20, second) == nullptr);  // and 21 ahead
  CHECK(rig.orders.find(11, third) == nullptr);   // which was to be made ahead
  Reader probe;
  bool made_ahead_first = true;
  third.then = [&] { made_ahead_first = rig.orders.find(21, probe) != nullptr; };
  gate.open();
  for (Reader* reader : {&first, &second, &third, &probe}) reader->wait(1);
  CHECK_FALSE(made_ahead_first);
  CHECK(rig.orders.find(11, third) != nullptr);
  CHECK(third.told() == 1);
}

TEST_CASE("few slow orders are kept, and those that readers hold stay") {
  Rig rig(1000);
  Reader reader;
  std::vector<std::weak_ptr<const sampler::EpochOrder>> seen;
  Orders::Found held;
  int told = 0;
  for (uint64_t epoch = 0; epoch < 1000; epoch += 50) {
    if (!rig.orders.find(epoch, reader)) reader.wait(++told);
    const auto found = rig.orders.find(epoch, reader);
    REQUIRE(found != nullptr);
    seen.push_back(found);
    if (epoch == 0) held = found;
  }
  rig.lane.reset();
  size_t alive = 0;
  for (const auto& order : seen) alive += order.expired() ? 0 : 1;
  CHECK(alive <= Orders::kKeptMax + 1);
  CHECK(held->epoch() == 0);
  CHECK((*held)(5) == sampler::EpochOrder(rig.order, 0)(5));
}

TEST_CASE("an order that takes no time is there at once") {
  const sampler::Order order({}, sampler::Subset(100));
  FairPool pool(1);
  FairPool::Lane lane(pool);
  Orders orders(order, 0, pool, lane);
  Reader reader;
  for (const uint64_t epoch : {uint64_t{0}, uint64_t{5}, uint64_t{1} << 60})
    CHECK((*orders.find(epoch, reader))(7) == sampler::EpochOrder(order, epoch)(7));
}

}  // namespace spdld::orders_test
