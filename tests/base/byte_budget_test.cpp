#include "daemon/base/byte_budget.h"

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace spdld::byte_budget_test {
namespace {

struct Asker final : ByteBudget::Holder {
  void on_room() override { served++; }
  int served = 0;
};

}  // namespace

TEST_CASE("what is held counts in the budget and in the budgets above it", "[byte_budget]") {
  const auto node = std::make_shared<ByteBudget>(100);
  ByteBudget first(80, node), second(80, node);
  Asker a, b;
  CHECK(first.hold(a, 30));
  CHECK(first.hold(a, 60));
  CHECK(first.hold(a, 20));  // it never holds fewer
  CHECK(a.held_bytes() == 60);
  CHECK_FALSE(first.hold(b, 30));
  CHECK_FALSE(second.hold(b, 50));  // the node has no room
  CHECK(second.bytes() == 0);
  CHECK(second.hold(b, 40));
  CHECK(first.bytes() == 60);
  CHECK(second.bytes() == 40);
  CHECK(node->bytes() == 100);
  first.give_back(a);
  second.give_back(b);
  first.give_back(a);  // which holds nothing
  CHECK(node->bytes() == 0);
  CHECK(node->bytes_peak() == 100);
  CHECK(first.waits() + second.waits() + node->waits() == 0);
}

TEST_CASE("a holder of more than a budget holds it alone", "[byte_budget]") {
  const auto node = std::make_shared<ByteBudget>(100);
  ByteBudget budget(50, node);
  Asker small, huge;
  CHECK(budget.hold(small, 10));
  CHECK_FALSE(budget.hold(huge, 1000));
  budget.wait(huge, 1000);
  CHECK(huge.served == 0);
  CHECK(budget.waits() == 1);
  budget.give_back(small);
  CHECK(huge.served == 1);
  CHECK(node->bytes() == 1000);
  CHECK_FALSE(budget.hold(small, 1));
  budget.give_back(huge);
  CHECK(budget.hold(small, 1));
  budget.give_back(small);
}

TEST_CASE("nobody overtakes a holder that waits, neither in its budget nor above", "[byte_budget]") {
  const auto node = std::make_shared<ByteBudget>(100);
  ByteBudget first(100, node), second(100, node);
  Asker held, large, behind, other;
  CHECK(second.hold(held, 50));
  first.wait(large, 80);  // there is room in its own budget, and none above
  CHECK(large.served == 0);
  CHECK(node->waits() == 1);
  CHECK(first.waits() == 0);
  CHECK_FALSE(second.hold(other, 1));
  CHECK_FALSE(first.hold(behind, 1));
  second.wait(other, 10);
  first.wait(behind, 5);
  second.give_back(held);
  CHECK(large.served == 1);
  CHECK(other.served == 1);
  CHECK(behind.served == 1);
  CHECK(node->bytes() == 95);
  first.give_back(large), second.give_back(other), first.give_back(behind);
  CHECK(node->bytes() == 0);
}

TEST_CASE("who waits gives back what it held before", "[byte_budget]") {
  ByteBudget budget(100);
  Asker a, b;
  CHECK(budget.hold(a, 60));
  CHECK(budget.hold(b, 40));
  CHECK_FALSE(budget.hold(a, 90));
  budget.wait(a, 90);
  CHECK(a.held_bytes() == 0);
  CHECK(budget.bytes() == 40);
  budget.give_back(b);
  CHECK(a.served == 1);
  CHECK(a.held_bytes() == 90);
  budget.give_back(a);
}

TEST_CASE("a higher bound serves those who wait", "[byte_budget]") {
  const auto node = std::make_shared<ByteBudget>(10);
  ByteBudget budget(100, node);
  Asker a, b, c;
  CHECK(budget.hold(a, 10));
  budget.wait(b, 10), budget.wait(c, 10);
  node->set_bytes_max(20);
  CHECK(b.served == 1);
  CHECK(c.served == 0);
  node->set_bytes_max(30);
  CHECK(c.served == 1);
}

namespace {

// Threads hold, wait and give back at random. A holder that is served goes into the queue of all threads.
class Crowd {
 public:
  explicit Crowd(size_t count) : asks_(count) {
    for (size_t i = 0; i < budgets_.size(); i++) budgets_[i] = std::make_unique<ByteBudget>(3000, node_);
    for (auto& ask : asks_) ask.crowd = this;
    for (auto& ask : asks_) ready_.push_back(&ask);
  }

  void run(unsigned threads, uint64_t rounds) {
    rounds_ = rounds;
    std::vector<std::jthread> all;
    for (unsigned i = 0; i < threads; i++) all.emplace_back([this, i] { work(i); });
  }

  std::shared_ptr<ByteBudget> node_ = std::make_shared<ByteBudget>(5000);
  std::array<std::unique_ptr<ByteBudget>, 3> budgets_;
  uint64_t done_ = 0;
  std::atomic<bool> passed_max_{false};

 private:
  struct Ask final : ByteBudget::Holder {
    void on_room() override { crowd->on_ready(*this); }
    Crowd* crowd = nullptr;
    ByteBudget* budget = nullptr;
  };

  void on_ready(Ask& ask) {
    const std::lock_guard lock(mutex_);
    ready_.push_back(&ask);
    changed_.notify_one();
  }

  void work(unsigned seed) {
    std::mt19937 random(seed);
    while (Ask* ask = next()) {
      if (ask->held_bytes() > 0) {
        // Above its bound a budget has one holder alone.
        const uint64_t of_node = node_->bytes();
        if (of_node > node_->bytes_max() && of_node != ask->held_bytes()) passed_max_ = true;
        ask->budget->give_back(*ask);
        on_ready(*ask);
        continue;
      }
      ask->budget = budgets_[random() % budgets_.size()].get();
      const uint64_t bytes = random() % 50 == 0 ? 6000 : 1 + random() % 1000;
      if (ask->budget->hold(*ask, bytes))
        on_ready(*ask);
      else
        ask->budget->wait(*ask, bytes);
    }
  }

  Ask* next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !ready_.empty() || done_ == rounds_; });
    if (done_ == rounds_) {
      changed_.notify_all();
      return nullptr;
    }
    done_++;
    Ask* ask = ready_.front();
    ready_.pop_front();
    return ask;
  }

  std::deque<Ask> asks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Ask*> ready_;
  uint64_t rounds_ = 0;
};

}  // namespace

TEST_CASE("many threads and budgets of all sizes: everybody is served, and the bound holds", "[byte_budget]") {
  Crowd crowd(40);
  crowd.run(4, 100'000);  // ends only where nobody waits for ever: all are served again and again
  CHECK(crowd.done_ == 100'000);
  CHECK_FALSE(crowd.passed_max_);
  CHECK(crowd.node_->waits() > 0);
  CHECK(crowd.node_->bytes_peak() <= 6000);
}

TEST_CASE("holders that nobody wants any more leave their queues, at any height, and let go of what they hold below",
          "[byte_budget]") {
  struct Dropped final : ByteBudget::Holder {
    void on_room() override { served++; }
    bool is_wanted() const override { return wanted; }
    int served = 0;
    bool wanted = true;
  };
  const auto node = std::make_shared<ByteBudget>(100);
  ByteBudget first(60, node), second(60, node);
  Asker hog, other;
  Dropped below, above, kept;
  REQUIRE(second.hold(hog, 60));
  first.wait(above, 50);  // has the room of its own budget, and waits for the node's
  first.wait(below, 20);
  second.wait(other, 10);  // behind nobody in its own, where there is no room
  CHECK(first.bytes() == 50);
  CHECK(first.waiting() == 1);
  CHECK(node->waiting() == 1);
  below.wanted = false;
  first.drop_unwanted();
  CHECK(below.served == 1);
  CHECK(below.held_bytes() == 0);
  CHECK(first.waiting() == 0);
  CHECK(above.served == 0);
  first.wait(kept, 10);
  CHECK(node->waiting() == 2);  // behind the holder that needs more
  above.wanted = false;
  first.drop_unwanted();
  CHECK(above.served == 1);
  CHECK(above.held_bytes() == 0);
  CHECK(kept.served == 1);  // it is its turn now
  CHECK(kept.held_bytes() == 10);
  CHECK(first.bytes() == 10);
  // A holder that is unwanted before it asks does not wait.
  first.wait(above, 90);
  CHECK(above.served == 2);
  CHECK(first.bytes() == 10);
  CHECK(first.waiting() == 0);
  first.give_back(kept);
  second.give_back(hog);
  CHECK(other.served == 1);
  second.give_back(other);
  CHECK(node->bytes() == 0);
}

}  // namespace spdld::byte_budget_test
