// Jobs that share a stream and want batches of different sizes.
#include <signal.h>

#include <catch2/catch.hpp>
#include <deque>
#include <fstream>
#include <future>
#include <numeric>

#include "tests/integration/shared_node.h"

namespace spdld::stream_sizes_test {

using namespace spdld;
using namespace spdld::test;

namespace {

constexpr int kPhotos = SharedNode::kPhotos;
constexpr uint64_t kSize = 4;  // the pipeline's own

struct Taker {
  Taker(const SharedNode& node, const std::string& group, uint64_t batch_size = 0, const std::string& join = {})
      : size(batch_size), loader(attach(node.job(group, join, batch_size))) {}
  uint64_t place() const {  // in samples; an epoch's short end counts as whole
    const auto [epoch, step] = loader.tell();
    return epoch * kPhotos + step * (size ? size : kSize);
  }
  // false: the run has ended.
  bool take() {
    const std::vector<Seen> one = take_all(loader, 1);
    seen.insert(seen.end(), one.begin(), one.end());
    return !one.empty();
  }
  uint64_t size;
  Loader loader;
  std::vector<Seen> seen;
};

// Each as jobs do it, by itself: to the end of the run, or so many samples far.
void take_together(std::deque<Taker>& takers, uint64_t samples = UINT64_MAX) {
  std::vector<std::future<void>> runs;
  for (Taker& taker : takers)
    runs.push_back(std::async(std::launch::async, [&taker, samples] {
      while (taker.place() < samples && taker.take()) {
      }
    }));
  for (auto& run : runs) run.get();
}

void check_share(const SharedNode& node, std::deque<Taker>& takers) {
  for (const Taker& taker : takers) {
    INFO(taker.size);
    CHECK(taker.loader.info().shared);
    CHECK(taker.seen == node.reference(taker.seen.size(), taker.size));
  }
}

}  // namespace

TEST_CASE("jobs with batches of other sizes share a stream: each gets its own order's, decoded once") {
  for (const std::string last : {"short", "drop", "pad"}) {
    PhotoSpec spec;
    spec.epochs = 3, spec.last = last;
    const SharedNode node("", spec);
    std::deque<Taker> takers;
    takers.emplace_back(node, "a");
    for (const uint64_t size : {6u, 15u, 1u, 40u, 6u})
      takers.emplace_back(node, "b" + std::to_string(takers.size()), size);
    take_together(takers);
    INFO(last);
    CHECK(node.decoded() == 3 * kPhotos);
    CHECK(node.describe()["rings"].size() == 5);
    CHECK(node.shared_ring(6)["jobs"].size() == 2);
    CHECK(node.shared_ring(6)["copied_from"] == kSize);
    CHECK(node.shared_ring(kSize)["copied_from"] == 0);
    CHECK(node.shared_ring(kSize)["jobs"].size() == 5);
    CHECK(node.shared_ring(kSize)["pids"].size() == 1);
    CHECK(node.describe()["fingerprint"] != "");
    for (const Taker& taker : takers)
      CHECK(std::accumulate(taker.seen.begin(), taker.seen.end(), 0ul,
                            [](auto n, const Seen& s) { return n + s.valid; }) == 3 * kPhotos);
    check_share(node, takers);
  }
}

TEST_CASE("an epoch's uneven end is shared where one has all that the other has, else decoded anew") {
  for (const std::string last : {"short", "drop", "pad"}) {
    PhotoSpec spec;
    spec.epochs = 2, spec.last = last, spec.batch_size = 7;  // 120 = 17 * 7 + 1
    const SharedNode node("", spec);
    std::deque<Taker> takers;
    takers.emplace_back(node, "a", 7);
    takers.emplace_back(node, "b", 9);  // 120 = 13 * 9 + 3
    take_together(takers);
    INFO(last);
    CHECK(takers[1].loader.info().shared);
    CHECK(node.shared_ring(9)["copied_from"] == 7);
    CHECK(node.decoded() == 2u * (last == "short" ? 120 : last == "drop" ? 119 : 126));
    check_share(node, takers);
    Taker more(node, "c", 8);  // all 120: what "drop" leaves out must be decoded for it
    CHECK(node.shared_ring(8)["copied_from"] == (last == "drop" ? 0 : 7));
  }
}

TEST_CASE("what a batch says of single samples goes with them") {
  for (const std::string on_bad : {"substitute", "mask"}) {
    PhotoSpec spec;
    spec.epochs = 2, spec.on_bad = on_bad;
    const SharedNode node("", spec);
    int bad = 0;
    for (const auto& file : std::filesystem::directory_iterator(node.daemon.dir() / "photos/class-0"))
      if (bad < 5) std::ofstream(file.path()) << "no picture", bad++;
    std::deque<Taker> takers;
    takers.emplace_back(node, "a");
    takers.emplace_back(node, "b", 9);
    std::array<uint64_t, 2> substituted{}, masked{};
    for (int turn = 0; turn < 1000; turn++) {
      const size_t which = takers[0].place() <= takers[1].place() ? 0 : 1;
      const auto next = takers[which].loader.next(20'000);
      if (next.result == SPDLD_END) break;
      if (next.result != SPDLD_OK) continue;
      substituted[which] += next.batch.info().substituted, masked[which] += next.batch.info().masked;
    }
    CHECK(substituted[0] == (on_bad == "mask" ? 0 : 10));
    CHECK(masked[0] == (on_bad == "mask" ? 10 : 0));
    CHECK(substituted[1] == substituted[0]);
    CHECK(masked[1] == masked[0]);
    CHECK(node.shared_ring(9)["copied_from"] == kSize);
  }
}

TEST_CASE("those of one size that sleep are cut loose together, and go on exactly where they were") {
  const SharedNode node;
  std::deque<Taker> sleepers;
  Taker quick(node, "quick");
  sleepers.emplace_back(node, "one", 10);
  sleepers.emplace_back(node, "other", 10);
  for (int i = 0; i < 5; i++) quick.take();
  for (Taker& sleeper : sleepers) sleeper.take(), sleeper.take();
  for (int i = 0; i < 3; i++) quick.take();
  const Batch held = sleepers[0].loader.next(20'000).batch;
  sleepers[0].seen.push_back(look(held));
  while (quick.seen.size() < 90) quick.take();
  CHECK(quick.seen == node.reference(90));
  CHECK(node.shared_ring(kSize)["cut_loose"] == 1);
  CHECK(node.shared_ring(10)["copied_from"] == 0);
  CHECK(look(held) == sleepers[0].seen.back());
  take_together(sleepers, 400);
  check_share(node, sleepers);  // with one another
  CHECK(look(held) == sleepers[0].seen[2]);
  CHECK(quick.loader.info().shared);
}

TEST_CASE("the job whose size the stream has may go or die: the others go on with the stream") {
  const SharedNode node;
  std::deque<Taker> stays;
  const pid_t dies = hold_batches(node.job("dies"), 2);
  stays.emplace_back(node, "stays", 6);
  take_together(stays, 12);
  kill(dies, SIGKILL);
  CHECK(wait_for(dies) == -SIGKILL);
  CHECK(soon([&] { return node.shared_ring(kSize)["jobs"].size() == 1; }));
  const uint64_t before = node.decoded();
  take_together(stays, 300);
  CHECK(node.shared_ring(6)["copied_from"] == kSize);
  CHECK(node.decoded() - before <= 300 + 60);
  check_share(node, stays);
  stays.clear();
  CHECK(soon([&] { return node.describe()["rings"].empty(); }));
}

TEST_CASE("one with another size that comes late begins where it asks") {
  const SharedNode node("");
  std::deque<Taker> early;
  early.emplace_back(node, "early");
  take_together(early, 50 * kSize);
  Taker now(node, "now", 10), epoch(node, "epoch", 24, "epoch"), exact(node, "exact", 30, "exact"),
      alone(node, "alone", 12, "alone");
  const uint64_t begin = now.place();
  CHECK(begin > 120);
  CHECK(begin <= 200);
  CHECK(epoch.place() == 2 * kPhotos);
  CHECK(exact.place() == 0);
  CHECK(alone.place() == 0);
  CHECK(node.shared_ring(10)["copied_from"] == kSize);
  CHECK(node.shared_ring(24)["copied_from"] == kSize);
  CHECK(node.shared_ring(30)["copied_from"] == 0);
  CHECK_FALSE(alone.loader.info().shared);
  const auto abreast = [&](Taker& other, uint64_t until) {
    while (early[0].place() < until || other.place() < until)
      (early[0].place() <= other.place() ? early[0] : other).take();
  };
  abreast(now, 230);
  CHECK(now.seen == [&] {
    const auto all = node.reference(23, 10);
    return std::vector<Seen>(all.begin() + static_cast<std::ptrdiff_t>(begin / 10), all.end());
  }());
}

TEST_CASE("after the daemon's SIGKILL jobs of several sizes go on, each from where it was") {
  SharedNode node("");
  std::deque<Taker> takers;
  takers.emplace_back(node, "a");
  takers.emplace_back(node, "b", 10);
  takers.emplace_back(node, "c", 3);
  for (const uint64_t far : {60u, 130u, 210u}) {
    take_together(takers, far);
    node.daemon.stop(SIGKILL);
    node.daemon.start();
  }
  take_together(takers, 400);
  INFO(node.daemon.log());
  check_share(node, takers);
}

TEST_CASE("a batch size of its own needs no sharing, and is the same for all ranks of a job") {
  const SharedNode node;
  Job first = node.job("job", "alone", 10), second = node.job("job", "alone", 12);
  first.world_size = second.world_size = 2, second.rank = 1;
  Loader rank0 = attach(first);
  CHECK(rank0.info().batch_size == 10);
  CHECK(rank0.info().global_size == 20);
  CHECK_THROWS_WITH(attach(second), Catch::Contains("is here with a global batch of 20 samples, not 24"));
  second.batch_size = 10;
  Loader rank1 = attach(second);
  CHECK(take(rank0).ids.size() == 10);
  // Ranks of another size have other parts of the order: a stream of their own.
  Job wide = node.job("wide", {}, 4), narrow = node.job("narrow", {}, 2);
  wide.world_size = narrow.world_size = 2;
  Loader of_wide = attach(wide), of_narrow = attach(narrow);
  CHECK(node.shared_ring(2)["copied_from"] == 0);
  Job much = node.job("much", {}, uint64_t{1} << 60);
  CHECK_THROWS_WITH(attach(much), Catch::Contains("lower batch.size"));
}

TEST_CASE("what a job saved with one size goes on with it beside another") {
  const SharedNode node;
  std::string state;
  {
    Taker taker(node, "before", 10);
    for (int i = 0; i < 5; i++) taker.take();
    state = taker.loader.state();
  }
  std::deque<Taker> takers;
  takers.emplace_back(node, "other");
  take_together(takers, 48);
  Job job = node.job("after", {}, 10);
  AttachOptions options;
  options.socket = job.socket.c_str(), options.spec = job.spec.c_str(), options.group = "after";
  options.batch_size = 10, options.state = state.c_str(), options.no_private_daemon = 1;
  Loader after(options);
  CHECK(node.shared_ring(10)["copied_from"] == kSize);
  const std::vector<Seen> reference = node.reference(8, 10);
  std::vector<Seen> seen;
  for (int i = 0; i < 3; i++) {
    take_together(takers, 60 + 10 * static_cast<uint64_t>(i));
    seen.push_back(take(after));
  }
  CHECK(seen == std::vector<Seen>(reference.begin() + 5, reference.end()));
}

}  // namespace spdld::stream_sizes_test
