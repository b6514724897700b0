// share = "stream": jobs that get the same batches, which are decoded once.
#include <signal.h>

#include <catch2/catch.hpp>

#include "tests/integration/shared_node.h"

namespace spdld::stream_share_test {

using namespace spdld;
using namespace spdld::test;

namespace {

constexpr int kPhotos = SharedNode::kPhotos, kSteps = 30;  // of an epoch
constexpr uint64_t kCredit = 4;                            // held_max and two more

std::vector<Seen> part(const std::vector<Seen>& all, size_t first, size_t count) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

size_t place_of(const Loader& loader) {
  const auto [epoch, step] = loader.tell();
  return epoch * kSteps + step;
}

}  // namespace

TEST_CASE("jobs that share a stream get what one alone gets, and it is decoded once") {
  const SharedNode node("", 2);
  Loader a = attach(node.job("a")), b = attach(node.job("b")), c = attach(node.job("c"));
  CHECK(a.info().shared);
  CHECK_FALSE(a.info().writable);
  std::vector<std::vector<Seen>> seen(3);
  for (int step = 0; step < 2 * kSteps; step++) {
    seen[0].push_back(take(a));
    seen[1].push_back(take(b));
    seen[2].push_back(take(c));
  }
  CHECK(a.next(20'000).result == SPDLD_END_OF_EPOCH);
  CHECK(a.next(20'000).result == SPDLD_END);
  CHECK(node.decoded() == 2 * kPhotos);
  const std::vector<Seen> reference = node.reference(1000);
  for (const auto& one : seen) CHECK(one == reference);
  CHECK(node.shared_ring()["jobs"].size() == 3);
}

TEST_CASE("none of them can change another's pixels, or hold more than its share") {
  const SharedNode node;
  Job told_at_once = node.job("a");
  told_at_once.held_wait_ms = -1;  // else it depends on the threads that this process has had
  Loader a = attach(told_at_once), b = attach(node.job("b"));
  const Batch of_a = a.next(20'000).batch, of_b = b.next(20'000).batch;
  const Seen before = look(of_b);
  static_cast<float*>(of_a["image"].address)[0] += 1.0f;
  CHECK(look(of_b) == before);
  std::vector<Batch> held;
  for (uint64_t i = 1; i < kCredit; i++) held.push_back(a.next(20'000).batch);
  try {
    a.next(20'000);
    FAIL("more than it may hold");
  } catch (const Exception& e) {
    CHECK(e.result() == SPDLD_LIMIT);
    CHECK_THAT(e.what(), Catch::Contains("all 4 batches that this loader may hold"));
  }
  held.clear();
  CHECK(take(a).step == kCredit);
}

TEST_CASE("a job that sleeps holds the others back, is cut loose, and goes on exactly where it was") {
  const SharedNode node;
  const std::vector<Seen> reference = node.reference(150);
  Loader quick = attach(node.job("quick")), sleeper = attach(node.job("sleeper"));
  std::vector<Seen> slept = take_all(sleeper, 3);
  const Batch held = sleeper.next(20'000).batch;
  slept.push_back(look(held));
  CHECK(take_all(quick, 150) == reference);
  CHECK(node.shared_ring()["cut_loose"] == 1);
  CHECK(node.shared_ring()["jobs"].size() == 1);
  CHECK(look(held) == slept.back());
  for (const Seen& seen : take_all(sleeper, 90)) slept.push_back(seen);
  CHECK(slept == part(reference, 0, slept.size()));
  CHECK_FALSE(sleeper.info().shared);
  CHECK(quick.info().shared);
  CHECK(look(held) == slept[3]);
  CHECK(node.describe()["rings"].size() == 2);
}

TEST_CASE("a job that is always slower is cut loose as well, and one that pauses shortly is not") {
  const SharedNode node("[limits]\nshare_lag_ms_max = 1500\n");
  Loader quick = attach(node.job("quick")), slow = attach(node.job("slow"));
  // Far less than the limit at a time, and it catches up.
  for (int turn = 0; turn < 10; turn++) {
    take_all(quick, 6);
    take_all(slow, 6);
  }
  CHECK(slow.info().shared);
  // Two batches for each of the other's: it never catches up again.
  size_t of_slow = 60;
  const auto is_cut_loose = [&] { return node.shared_ring()["cut_loose"] == 1; };
  const pid_t taker = in_child([&node] {
    Loader greedy = attach(node.job("greedy"));
    for (;;) greedy.next(20'000);
    return 0;
  });
  CHECK(soon([&] {
    if (quick.next(0).result == SPDLD_OK) take(slow), of_slow++;
    return is_cut_loose();
  }));
  kill(taker, SIGKILL);
  CHECK(wait_for(taker) == -SIGKILL);
}

TEST_CASE("one that comes late begins where it asks") {
  const SharedNode node("", 0);
  Loader early = attach(node.job("early"));
  take_all(early, 40);
  Loader now = attach(node.job("now")), epoch = attach(node.job("epoch", "epoch")),
         exact = attach(node.job("exact", "exact")), alone = attach(node.job("alone", "alone"));
  const size_t begin = place_of(now);
  CHECK(begin > 30);
  CHECK(begin <= 40);
  CHECK(place_of(epoch) == 2 * kSteps);
  CHECK(place_of(exact) == 0);
  CHECK(place_of(alone) == 0);
  CHECK(now.info().shared);
  CHECK(epoch.info().shared);
  CHECK_FALSE(exact.info().shared);
  CHECK_FALSE(alone.info().shared);
  const std::vector<Seen> reference = node.reference(80);
  CHECK(take_all(exact, 5) == part(reference, 0, 5));
  std::vector<Seen> of_now, of_epoch;
  for (size_t step = 40; step < 70; step++) {
    CHECK(take(early) == reference[step]);
    of_now.push_back(take(now));
    if (step >= 2 * kSteps) of_epoch.push_back(take(epoch));
  }
  CHECK(of_now == part(reference, begin, of_now.size()));
  CHECK(of_epoch == part(reference, 2 * kSteps, of_epoch.size()));
}

TEST_CASE("a job that dies, or seeks, leaves the others undisturbed") {
  const SharedNode node;
  const std::vector<Seen> reference = node.reference(60);
  Loader stays = attach(node.job("stays")), seeks = attach(node.job("seeks"));
  const pid_t dies = hold_batches(node.job("dies"), 3);
  std::vector<Seen> of_stays = take_all(stays, 5);
  CHECK(take_all(seeks, 5) == of_stays);
  kill(dies, SIGKILL);
  CHECK(wait_for(dies) == -SIGKILL);
  const Batch held = seeks.next(20'000).batch;
  const Seen before = look(held);
  seeks.seek(1, 4);
  CHECK(take_all(seeks, 3) == part(reference, kSteps + 4, 3));
  CHECK_FALSE(seeks.info().shared);
  CHECK(look(held) == before);
  for (const Seen& seen : take_all(stays, 50)) of_stays.push_back(seen);
  CHECK(of_stays == part(reference, 0, of_stays.size()));
  CHECK(stays.info().shared);
  CHECK(soon([&] { return node.shared_ring()["jobs"].size() == 1; }));
}

TEST_CASE("after the daemon's SIGKILL the jobs share again, each from where it was") {
  SharedNode node("");
  const std::vector<Seen> reference = node.reference(80);
  Loader a = attach(node.job("a")), b = attach(node.job("b"));
  std::vector<Seen> of_a, of_b;
  for (int step = 0; step < 18; step++) of_a.push_back(take(a)), of_b.push_back(take(b));
  for (int step = 0; step < 2; step++) of_a.push_back(take(a));
  node.daemon.stop(SIGKILL);
  node.daemon.start();
  while (of_a.size() < 60) {
    of_a.push_back(take(a));
    of_b.push_back(take(b));
  }
  CHECK(of_a == part(reference, 0, of_a.size()));
  CHECK(of_b == part(reference, 0, of_b.size()));
  INFO(node.daemon.log());
  CHECK(a.info().shared);
  CHECK(b.info().shared);
}

TEST_CASE("the ranks of two groups share a stream each, and no more jobs than the operator allows") {
  const SharedNode node("[limits]\nshare_jobs_max = 2\n");
  const auto rank = [&](const std::string& group, uint32_t number) {
    Job job = node.job(group);
    job.rank = number, job.world_size = 2;
    return attach(job);
  };
  Loader a0 = rank("a", 0), a1 = rank("a", 1), b0 = rank("b", 0), b1 = rank("b", 1), c0 = rank("c", 0);
  CHECK(node.describe()["rings"].size() == 3);
  CHECK_FALSE(c0.info().shared);
  const std::vector<Seen> first = take_all(a0, 10), other = take_all(a1, 10);
  CHECK(take_all(b0, 10) == first);
  CHECK(take_all(b1, 10) == other);
  CHECK(take_all(c0, 10) == first);
  CHECK_FALSE(first == other);
}

}  // namespace spdld::stream_share_test
