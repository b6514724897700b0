// What the tuning measures of rings, pool and fetcher, and what it does with the tuner's decision.
#include "daemon/node/seats/tuning.h"

#include <array>
#include <atomic>

#include "daemon/node/seats/executors.h"
#include "tests/node/rig.h"

namespace spdld::tuning_test {

using namespace spdld::test;

namespace {

constexpr uint64_t kSecond = 1000 * kMs;

class TuningRig : public SeatingRig {
 public:
  explicit TuningRig(config::DaemonSettings given = {}, uint32_t depth = 4)
      : SeatingRig({.depth = depth}),
        fetcher(4),
        tuning((given.fetch_concurrency = 4, given), node::executors_of(pool, fetcher), pool.threads(), now_ns,
               [this] { return cores; }) {}

  const pipeline::TunerDecision& look(uint64_t ms = 250) {
    now_ns += ms * kMs;
    tuning.look(seating.all_feeds(), now_ns);
    return tuning.decision();
  }
  // The trainer says that it waited for so long in all, with its next release.
  void wait(Trainer& trainer, uint64_t waited_ms) {
    const auto lease = trainer.held.front().lease;
    trainer.held.pop_front();
    trainer.attachment->release(lease, ++trainer.taken, waited_ms * 1000);
    settle();
  }

  // The most decode threads; fetch is the first stage, decode the second.
  uint32_t decode_max() const { return tuning.limits().stages.at(1).max; }

  unsigned cores = 2;
  FairPool pool{2};
  source::LocalFetcher fetcher;
  node::Tuning tuning;
};

}  // namespace

TEST_CASE("a node without rings decodes on all its threads, and its depth is told as it is pinned") {
  config::DaemonSettings settings;
  settings.tuning_depth = 3;
  TuningRig rig(settings);
  rig.look();
  CHECK(rig.pool.concurrency() == 2);
  CHECK(rig.tuning.limits().depth.max == 3);
  CHECK(rig.tuning.limits().depth.pinned == 3);
}

TEST_CASE("a pinned depth holds for every ring, as far as the ring allows") {
  config::DaemonSettings settings;
  settings.tuning_depth = 9;
  TuningRig rig(settings);
  rig.attach("a");
  rig.look();
  CHECK(rig.feeds()[0]->depth() == 4);
  settings.tuning_depth = 2;
  rig.tuning.set_settings(settings);
  rig.attach("b");
  rig.look();
  for (const Feed* feed : rig.feeds()) CHECK(feed->depth() == 2);
}

TEST_CASE("without tuning, everything stays at its maximum, and pinned numbers hold") {
  config::DaemonSettings settings;
  settings.tuning_enabled = false;
  settings.tuning_fetch = 3;
  TuningRig rig(settings);
  Trainer& trainer = rig.attach("a");
  const uint64_t changes = rig.look().changes;  // of the ring's own depth
  for (int i = 0; i < 40; i++) rig.consume(trainer, 2), rig.look();
  CHECK(rig.pool.concurrency() == 2);
  CHECK(rig.fetcher.concurrency() == 3);
  CHECK(rig.feeds()[0]->depth() == 4);
  CHECK(rig.tuning.decision().changes == changes);
}

TEST_CASE("a trainer that never waits is given less, and one that waits more") {
  TuningRig rig;
  Trainer& trainer = rig.attach("a");
  for (int i = 0; i < 200; i++) rig.consume(trainer, 1), rig.look();
  const uint32_t calm = rig.feeds()[0]->depth();
  CHECK(calm < 4);
  CHECK(rig.pool.concurrency() == 1);  // nothing was decoded
  for (uint64_t i = 1; i <= 20 && rig.feeds()[0]->depth() == calm; i++) {
    rig.wait(trainer, 200 * i);  // of 250 ms each
    rig.look();
  }
  CHECK(rig.feeds()[0]->depth() > calm);
  CHECK(rig.tuning.decision().reason.find("waited") != std::string::npos);
}

TEST_CASE("time that a trainer waited counts once, and a new ring begins at nothing") {
  TuningRig rig({}, 16);
  Trainer& trainer = rig.attach("a");
  const auto calm_down = [&](Trainer& of) {
    for (int i = 0; i < 400; i++) rig.consume(of, 1), rig.look();
    return rig.feeds()[0]->depth();
  };
  const uint32_t calm = calm_down(trainer);
  rig.wait(trainer, 200);
  rig.look();
  const uint32_t raised = rig.feeds()[0]->depth();
  REQUIRE(raised > calm);
  REQUIRE(raised < 16);
  for (int i = 0; i < 3; i++) rig.consume(trainer, 1), rig.look();
  CHECK(rig.feeds()[0]->depth() == raised);
  trainer.detach();
  rig.settle();
  Trainer& other = rig.attach("b");
  for (int i = 0; i < 3; i++) rig.consume(other, 1), rig.look();
  CHECK(rig.feeds()[0]->depth() <= raised);
}

TEST_CASE("a ring that lies dry while decode threads are held raises their number, before any batch comes") {
  TuningRig rig;
  Trainer& trainer = rig.attach("a");
  for (int i = 0; i < 200; i++) rig.consume(trainer, 1), rig.look();
  REQUIRE(rig.pool.concurrency() == 1);
  rig.streams[0]->holds = true;
  rig.consume(trainer, 20);  // all that is ready
  rig.look();
  struct Held final : FairTask {
    void run(unsigned) override { go_on.wait(false); }
    std::atomic<bool> go_on{false};
  };
  std::array<Held, 3> tasks;
  {
    FairPool::Lane lane(rig.pool);
    for (Held& task : tasks) rig.pool.submit(lane, task);
    rig.look();
    CHECK(rig.pool.concurrency() == 1);  // a short while without a batch tells nothing
    for (int i = 0; i < 3; i++) rig.look();
    CHECK(rig.pool.concurrency() == 1);  // its source may be down: no sample of it waits for a turn
    rig.feeds()[0]->pipeline().stages().back()->on_queued();
    rig.look();
    CHECK(rig.pool.concurrency() == 2);
    rig.feeds()[0]->pipeline().stages().back()->on_turn(0);
    for (Held& task : tasks) task.go_on = true, task.go_on.notify_all();
  }
}

TEST_CASE("other limits of the machine are looked for every ten seconds, unless the budget is set") {
  const bool is_set = GENERATE(true, false);
  config::DaemonSettings settings;
  settings.cpu_budget = is_set ? 2 : 0;
  TuningRig rig(settings);
  rig.attach("a");
  rig.cores = 1;
  rig.look(9'999);
  CHECK(rig.decode_max() == 2);
  rig.look(1);
  CHECK(rig.decode_max() == (is_set ? 2 : 1));
  CHECK(rig.pool.concurrency() <= rig.decode_max());
  rig.cores = 64;  // no more than there are threads
  rig.look(10 * kSecond / kMs);
  CHECK(rig.decode_max() == 2);
}

}  // namespace spdld::tuning_test
