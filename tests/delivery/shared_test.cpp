// A ring that jobs share: each at its own pace, within a window.
#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "daemon/delivery/ring.h"
#include "tests/delivery/slots.h"

namespace spdld::shared_test {

using namespace spdld::delivery;
using spdld::batch::Batch;
using spdld::batch::Slot;
using spdld::memory::Access;
using spdld::sampler::Position;

namespace {

constexpr uint32_t kCredit = 3, kDepth = 4, kJobs = 4;
constexpr Ring::Shared kShared{kCredit, kDepth, 1ull << 40};

struct Job final : Reader {
  struct Sent {
    LeaseId lease;
    uint64_t step;
  };
  void on_ready(const Batch& batch, uint64_t generation, uint32_t) override {
    held.push_back({{batch.slot->index, generation}, batch.position.step});
    steps.push_back(batch.position.step);
  }
  bool give_back(Ring& ring) {
    if (held.empty()) return false;
    REQUIRE(ring.release(id, held.front().lease));
    held.pop_front();
    return true;
  }
  ReaderId id = 0;
  std::deque<Sent> held;
  std::vector<uint64_t> steps;
};

class Shared {
 public:
  explicit Shared(uint32_t jobs = kJobs)
      : ring(spdld::test::make_slots(kShared.slots(jobs), Access::kCopyOnWrite), Access::kCopyOnWrite, kShared) {}

  void join(Job& job, uint64_t from = 0) {
    job.id = ring.join(job, Position{0, from});
    ring.begin(job.id);
  }
  // As many as there is room for.
  uint32_t fill() {
    uint32_t filled = 0;
    for (; Slot* slot = ring.take_free(); filled++) {
      touched.insert(slot->index);
      ring.filled({slot, 0, {0, next++}, {0, 1, 0}});
    }
    return filled;
  }
  // Both sides go on until nothing moves.
  void run(const std::vector<Job*>& jobs, uint64_t until) {
    while (next < until) {
      fill();
      bool moved = false;
      for (Job* job : jobs) moved |= job->give_back(ring);
      if (!moved && fill() == 0) return;
    }
  }

  Ring ring;
  uint64_t next = 0;
  std::set<uint32_t> touched;
};

bool is_run(const std::vector<uint64_t>& steps, uint64_t first) {
  for (size_t i = 0; i < steps.size(); i++)
    if (steps[i] != first + i) return false;
  return !steps.empty();
}

}  // namespace

TEST_CASE("every job of a shared ring gets every batch once, in order, and holds no more than its credit") {
  Shared shared;
  Job a, b;
  shared.join(a), shared.join(b);
  CHECK(shared.fill() == kDepth + kCredit);
  CHECK(a.held.size() == kCredit);
  CHECK(shared.ring.behind(a.id) == kDepth);
  shared.run({&a, &b}, 200);
  CHECK(is_run(a.steps, 0));
  CHECK(is_run(b.steps, 0));
  CHECK(a.steps.size() >= 190);
  CHECK(shared.touched.size() == 2 * kDepth + kCredit);  // no more than it needs
}

TEST_CASE("jobs that keep up with the loader touch no more slots than are kept and in use") {
  Shared shared;
  Job a, b;
  shared.join(a), shared.join(b);
  for (int i = 0; i < 100; i++) {  // one batch at a time, which both have had before the next one comes
    Slot* const slot = shared.ring.take_free();
    REQUIRE(slot);
    shared.touched.insert(slot->index);
    shared.ring.filled({slot, 0, {0, shared.next++}, {0, 1, 0}});
    while (a.give_back(shared.ring) || b.give_back(shared.ring)) {
    }
    if (i >= 10) CHECK(shared.ring.window_begin() == Position{0, shared.next - kDepth - 1});
  }
  CHECK(is_run(a.steps, 0));
  CHECK(shared.touched.size() == kDepth + 1);
}

TEST_CASE("a job is abreast where none that takes the next batch was sent more") {
  Shared shared;
  Job a, b, later;
  shared.join(a), shared.join(b);
  shared.fill();
  CHECK(shared.ring.is_abreast(a.id));
  CHECK(shared.ring.is_abreast(b.id));
  CHECK(shared.ring.behind(a.id) > 0);  // the ring is filled ahead of both
  a.give_back(shared.ring);
  CHECK(shared.ring.is_abreast(a.id));
  CHECK_FALSE(shared.ring.is_abreast(b.id));
  shared.join(later, 100);  // it has passed over all batches, and takes none for long
  CHECK(shared.ring.behind(later.id) == 0);
  CHECK(shared.ring.is_abreast(a.id));
  b.give_back(shared.ring);
  CHECK(shared.ring.is_abreast(b.id));
  a.give_back(shared.ring);
  shared.ring.dismiss(a.id, shared.ring.leases_of(a.id));
  CHECK(shared.ring.is_abreast(b.id));  // of those that are there
  CHECK_FALSE(shared.ring.is_abreast(99));
  Job coming;
  shared.join(coming, shared.next);  // it takes the very next batch
  CHECK(shared.ring.is_abreast(coming.id));
  CHECK_FALSE(shared.ring.is_abreast(b.id));
}

TEST_CASE("the furthest behind holds the others back, is named, and cut loose keeps what it holds") {
  Shared shared;
  Job quick, slow;
  shared.join(quick), shared.join(slow);
  shared.run({&quick}, 1000);
  CHECK(quick.steps.size() == kDepth + kCredit);
  CHECK(quick.held.empty());
  CHECK(shared.ring.take_free() == nullptr);
  REQUIRE(shared.ring.laggard() == slow.id);
  shared.ring.dismiss(slow.id, shared.ring.leases_of(slow.id));
  CHECK(shared.ring.departed() == 1);
  CHECK(shared.ring.leases(slow.id) == kCredit);
  std::set<uint32_t> kept;
  for (const auto& sent : slow.held) kept.insert(sent.lease.slot);
  shared.touched.clear();
  shared.run({&quick}, 100);
  CHECK(is_run(quick.steps, 0));
  CHECK(quick.steps.size() >= 90);
  for (const uint32_t slot : kept) CHECK(!shared.touched.contains(slot));
  CHECK(slow.steps.size() == kCredit);  // it is sent no more
  while (slow.give_back(shared.ring)) {
  }
  CHECK(shared.ring.departed() == 0);
}

TEST_CASE("a job that holds all it may does not wait for the furthest behind") {
  Shared shared;
  Job quick, slow;
  shared.join(quick), shared.join(slow);
  shared.fill();
  while (shared.ring.behind(quick.id) > 0 || shared.fill() > 0) REQUIRE(quick.give_back(shared.ring));
  CHECK(quick.held.size() == kCredit);
  CHECK(shared.ring.take_free() == nullptr);
  CHECK_FALSE(shared.ring.laggard());
  REQUIRE(quick.give_back(shared.ring));
  CHECK(shared.ring.laggard() == slow.id);
}

TEST_CASE("nobody is behind where all are as far, or one waits for what is yet to come") {
  Shared shared;
  Job a, b, later;
  shared.join(a), shared.join(b);
  shared.fill();
  CHECK_FALSE(shared.ring.laggard());  // both hold all that they may
  shared.join(later, 1'000'000);
  while (a.give_back(shared.ring)) {
  }
  while (b.give_back(shared.ring)) {
  }
  shared.fill();
  CHECK(later.steps.empty());
  Job alone;
  Shared single;
  single.join(alone), single.join(later, 1'000'000);
  single.fill();
  CHECK_FALSE(single.ring.take_free());
  CHECK_FALSE(single.ring.laggard());
}

TEST_CASE("one that comes late begins at any batch of the window, or with one to come") {
  Shared shared;
  Job early;
  shared.join(early);
  shared.run({&early}, 50);
  REQUIRE(shared.ring.window_begin());
  const uint64_t begin = shared.ring.window_begin()->step;
  CHECK(begin + 2 * kDepth + kCredit == shared.next);
  CHECK(begin < shared.next);
  Job at_begin, inside, beyond;
  shared.join(at_begin, begin);
  shared.join(inside, shared.next - 1);
  shared.join(beyond, shared.next + 5);
  shared.run({&early, &at_begin, &inside, &beyond}, 100);
  CHECK(is_run(at_begin.steps, begin));
  CHECK(is_run(inside.steps, inside.steps.front()));
  CHECK(inside.steps.front() + 1 >= begin + 1);
  CHECK(is_run(beyond.steps, beyond.steps.front()));
  CHECK(is_run(early.steps, 0));
  CHECK(early.steps.size() >= 90);
}

TEST_CASE("all but one may sleep with all they may hold, and that one goes on") {
  Shared shared;
  std::vector<Job> jobs(kJobs);
  for (Job& job : jobs) shared.join(job);
  std::set<ReaderId> gone;
  for (size_t i = 1; i < jobs.size(); i++) {
    shared.run({&jobs.front()}, 1000);
    const auto laggard = shared.ring.laggard();
    REQUIRE(laggard);
    REQUIRE(*laggard != jobs[0].id);
    gone.insert(*laggard);
    shared.ring.dismiss(*laggard, shared.ring.leases_of(*laggard));
    // The others go some way before they fall asleep, so that each holds other batches.
    for (int turn = 0; turn < 3; turn++) {
      for (Job& job : jobs)
        if (!gone.contains(job.id)) job.give_back(shared.ring);
      shared.fill();
    }
  }
  const size_t before = jobs[0].steps.size();
  shared.run({&jobs.front()}, shared.next + 100);
  CHECK(jobs[0].steps.size() >= before + 90);
  CHECK(is_run(jobs[0].steps, 0));
  CHECK(shared.ring.departed() == kJobs - 1);
}

TEST_CASE("whatever jobs do, none loses or repeats a batch, and no slot is filled that one holds") {
  std::mt19937 random(11);
  for (int round = 0; round < 60; round++) {
    Shared shared(6);
    std::deque<Job> jobs;
    std::map<const Job*, uint64_t> firsts;
    std::set<const Job*> gone;
    std::vector<Slot*> filling;
    for (int i = 0; i < 800; i++) {
      const auto choice = random() % 10;
      if (choice == 0 && jobs.size() - gone.size() < 4 && shared.ring.departed() + jobs.size() - gone.size() < 6) {
        Job& job = jobs.emplace_back();
        const auto begin = shared.ring.window_begin();
        firsts[&job] = begin ? begin->step + random() % 3 : shared.next;
        shared.join(job, firsts[&job]);
      } else if (choice == 1 && !jobs.empty() && random() % 8 == 0) {
        Job& job = jobs[random() % jobs.size()];
        if (gone.insert(&job).second) shared.ring.dismiss(job.id, shared.ring.leases_of(job.id));
      } else if (choice < 5) {
        if (Slot* slot = shared.ring.take_free()) filling.push_back(slot);
      } else if (choice < 7 && !filling.empty()) {
        for (const Job& job : jobs)
          for (const auto& sent : job.held) REQUIRE(sent.lease.slot != filling.front()->index);
        shared.ring.filled({filling.front(), 0, {0, shared.next++}, {0, 1, 0}});
        filling.erase(filling.begin());
      } else if (!jobs.empty()) {
        jobs[random() % jobs.size()].give_back(shared.ring);
      }
      for (const Job& job : jobs) {
        REQUIRE(job.held.size() <= kCredit);
        if (!job.steps.empty()) REQUIRE(is_run(job.steps, std::max(firsts[&job], job.steps.front())));
      }
    }
  }
}

}  // namespace spdld::shared_test
