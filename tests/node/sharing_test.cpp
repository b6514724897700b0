// Jobs that share a stream: where they join, who holds whom back, and whose batches are copied from whose.
#include "tests/node/rig.h"

namespace spdld::sharing_test {

using namespace spdld::test;

namespace {

constexpr uint64_t kLagMs = 10'000;

class ShareRig : public SeatingRig {
 public:
  explicit ShareRig(Wanted wanted = {}) : SeatingRig(shared(wanted)) { settings.share_lag_ms_max = kLagMs; }

  control::AttachRequest sized(const std::string& group, uint64_t batch_size) const {
    auto of_size = request(group);
    of_size.batch_size = batch_size;
    return of_size;
  }
  // All of these give back all that they hold, and get what comes of it.
  void run(std::initializer_list<Trainer*> jobs, size_t rounds) {
    for (size_t i = 0; i < rounds; i++)
      for (Trainer* job : jobs) consume(*job, job->held.size());
  }
  Feed& feed_of(uint64_t batch_size) const {
    for (Feed* feed : feeds())
      if (feed->sharding().batch_size() == batch_size) return *feed;
    FAIL("no feed of " << batch_size);
    return *feeds()[0];
  }
  size_t cut_loose() const {
    size_t count = 0;
    for (const Feed* feed : feeds()) count += feed->cut_loose();
    return count;
  }

 private:
  static Wanted shared(Wanted wanted) {
    wanted.share = config::Share::kStream;
    return wanted;
  }
};

bool is_run(const std::vector<int64_t>& numbers, int64_t first) {
  for (size_t i = 0; i < numbers.size(); i++)
    if (numbers[i] != first + static_cast<int64_t>(i)) return false;
  return !numbers.empty();
}

}  // namespace

TEST_CASE("jobs share one stream, and each gets every batch from where it joined") {
  ShareRig rig;
  Trainer& a = rig.attach("a");
  rig.run({&a}, 5);
  REQUIRE(a.numbers.size() > 100);
  Trainer& b = rig.attach("b");
  CHECK(rig.feeds().size() == 1);
  CHECK(b.info->shared);
  CHECK(b.info->leases_max == 4);
  const int64_t first = b.numbers.front();
  CHECK(first > 0);
  CHECK(first <= a.numbers.back());
  rig.run({&a, &b}, 5);
  CHECK(is_run(a.numbers, 0));
  CHECK(is_run(b.numbers, first));
  CHECK(rig.streams.size() == 1);
  CHECK_FALSE(a.seek(1, {0, 0}));
  CHECK_FALSE(a.attachment->push({}));
  const node::Feed& feed = *rig.seating.all_feeds().front();
  const delivery::Ring::Shared& shared = feed.setting().sharing->ring;
  CHECK(shared.slots(2) > shared.slots(1));
  CHECK(feed.host_bytes() == shared.slots(2) * feed.layout().slot_bytes());
}

TEST_CASE("a job joins where it asks to, or gets a ring of its own") {
  ShareRig rig({.samples = 1000, .batch_size = 10, .epochs = 2});
  Trainer& a = rig.attach("a");
  rig.run({&a}, 12);
  const uint64_t now = a.steps.back();
  REQUIRE(now > 20);
  auto request = rig.request("b");
  SECTION("at a batch that is there") {
    request.position = {0, now - 1}, request.join = control::Join::kExact;
    CHECK(rig.attach(request).steps.front() == now - 1);
    CHECK(rig.feeds().size() == 1);
  }
  SECTION("exactly, where the stream is not") {
    request.join = control::Join::kExact;
    CHECK(rig.attach(request).steps.front() == 0);
    CHECK(rig.feeds().size() == 2);
  }
  SECTION("ahead of the stream") {
    request.position = {0, now + 40};
    CHECK(rig.attach(request).steps.front() == now + 40);
    CHECK(rig.feeds().size() == 2);
  }
  SECTION("with the next epoch") {
    request.join = control::Join::kEpoch;
    Trainer& b = rig.attach(request);
    CHECK(rig.feeds().size() == 1);
    CHECK(b.steps.empty());
    CHECK(b.info->position == Position{1, 0});
    rig.run({&a}, 30);
    REQUIRE_FALSE(b.held.empty());
    CHECK(b.held.front().position == Position{1, 0});
    auto late = rig.request("c");
    late.join = control::Join::kEpoch;
    rig.run({&a, &b}, 5);
    CHECK(rig.attach(late).steps.front() == 0);  // no epoch is left
    CHECK(rig.feeds().size() == 2);
  }
  SECTION("alone, or as replicas") {
    request.join = control::Join::kAlone;
    CHECK(rig.attach(request).steps.front() == 0);
    request.group = "c", request.join = control::Join::kNow, request.readers = 2;
    rig.attach(request);
    CHECK(rig.feeds().size() == 3);
    CHECK(rig.feed_of(10).setting().sharing);
  }
  SECTION("where too many hold its batches") {
    rig.run({&a}, 1);
    for (uint32_t i = 0; i < rig.settings.share_jobs_max - 1; i++) rig.attach("job" + std::to_string(i));
    CHECK(rig.feeds().size() == 1);
    CHECK_FALSE(rig.attach("last").info->shared);
    CHECK(rig.feeds().size() == 2);
  }
  SECTION("where the stream has failed") {
    rig.streams[0]->fail({Trouble::kContent, "bad"});
    rig.settle();
    REQUIRE(a.failure);
    Trainer& b = rig.attach(request);
    CHECK(b.info->shared);
    CHECK_FALSE(b.failure);
    CHECK(rig.feeds().size() == 1);
  }
}

TEST_CASE("jobs that come back after a restart stand some steps apart, and all keep their positions") {
  ShareRig rig;
  auto first = rig.request("a"), second = rig.request("b"), third = rig.request("c");
  first.position = {0, 20}, second.position = {0, 17}, third.position = {0, 24};
  for (auto* request : {&first, &second, &third}) request->join = control::Join::kExact;
  Trainer &a = rig.attach(first), &b = rig.attach(second), &c = rig.attach(third);
  CHECK(rig.feeds().size() == 1);
  rig.run({&a, &b, &c}, 4);
  CHECK(is_run(a.numbers, 200));
  CHECK(is_run(b.numbers, 170));
  CHECK(is_run(c.numbers, 240));
}

TEST_CASE("a job that is some steps ahead shares the stream where no job has to give anything back for it") {
  ShareRig rig;
  Trainer& slow = rig.attach("slow");
  rig.run({&slow}, 3);
  rig.streams[0]->holds = true;  // from now on a batch takes its time
  auto request = rig.request("ahead");
  request.join = control::Join::kExact;
  SECTION("the batches up to it are being made") {
    rig.run({&slow}, 2);
    REQUIRE(slow.held.empty());
    request.position = {0, slow.steps.back() + 4};
    Trainer& ahead = rig.attach(request);
    CHECK(ahead.info->shared);
    CHECK(rig.feeds().size() == 1);
    for (int i = 0; i < 6; i++) rig.streams[0]->make();
    rig.settle();
    REQUIRE_FALSE(ahead.steps.empty());
    CHECK(ahead.steps.front() == request.position.step);
  }
  SECTION("another job holds all that there is room for") {
    request.position = {0, slow.steps.back() + 9};
    CHECK_FALSE(rig.attach(request).info->shared);
    CHECK(rig.feeds().size() == 2);
  }
}

TEST_CASE("a job that holds the others back for too long is cut loose, and goes on where it was") {
  ShareRig rig;
  Trainer &quick = rig.attach("quick"), &slow = rig.attach("slow");
  rig.tick(1);
  rig.run({&quick}, 10);
  const size_t stuck = quick.numbers.size();
  rig.run({&quick}, 1);
  CHECK(quick.numbers.size() == stuck);
  rig.tick(kLagMs);
  CHECK_FALSE(slow.failure);
  CHECK(rig.feeds()[0]->seats().rbegin()->second.lag_ns == kLagMs * kMs);
  rig.tick(1);
  REQUIRE(slow.failure);
  CHECK(slow.failure->trouble == Trouble::kLagged);
  CHECK(slow.failure->message.find("for more than 10000 ms") != std::string::npos);
  CHECK(rig.cut_loose() == 1);
  CHECK_FALSE(quick.failure);
  const auto kept = slow.held;
  rig.run({&quick}, 5);
  CHECK(quick.numbers.size() > stuck + 100);
  for (const auto& held : kept) CHECK(slow.attachment->release(held.lease, 1, 0));  // its leases went on
  auto request = rig.request("slow");
  request.position = {0, kept.back().position.step + 1}, request.join = control::Join::kExact;
  slow.held.clear();
  slow.die();
  Trainer& anew = rig.attach(request);
  CHECK_FALSE(anew.info->shared);
  CHECK(anew.steps.front() == kept.back().position.step + 1);
}

TEST_CASE("lag is not summed over pauses: a job that was abreast in between holds nobody back for long") {
  ShareRig rig;
  Trainer &quick = rig.attach("quick"), &pauses = rig.attach("pauses");
  rig.tick(1);
  const bool is_seen = GENERATE(true, false);  // whether a tick comes while it is abreast
  for (int i = 0; i < 5; i++) {
    rig.run({&quick}, 10);
    rig.tick(kLagMs - 1000);
    rig.run({&pauses}, 4);  // it catches up with the other
    if (is_seen) rig.tick(1);
    rig.run({&quick, &pauses}, 5);
  }
  CHECK_FALSE(pauses.failure);
  rig.run({&quick}, 10);
  rig.tick(kLagMs - 1000);
  rig.tick(1001);
  CHECK(pauses.failure);
}

TEST_CASE("lag is not counted on for other jobs: the job that waited has left, and another has come") {
  ShareRig rig;
  Trainer &quick = rig.attach("quick"), &slow = rig.attach("slow");
  rig.tick(1);
  rig.run({&quick}, 10);
  rig.tick(kLagMs - 1000);
  quick.detach();
  rig.tick(1);
  Trainer& other = rig.attach("other");
  rig.run({&other}, 10);
  rig.tick(kLagMs - 1000);
  CHECK_FALSE(slow.failure);
  rig.tick(1001);
  CHECK(slow.failure);
}

TEST_CASE("two slow jobs are not abreast of one another where a third waits: both are cut loose") {
  ShareRig rig;
  Trainer &quick = rig.attach("quick"), &one = rig.attach("one"), &two = rig.attach("two");
  rig.tick(1);
  for (int i = 0; i < 40; i++) {
    rig.run({&quick}, 3);
    rig.tick(kLagMs / 10);
    if (!one.failure) rig.consume(one, 1);
    if (!two.failure) rig.consume(two, 1);
  }
  CHECK(one.failure);
  CHECK(two.failure);
  CHECK_FALSE(quick.failure);
}

TEST_CASE("a job that is behind and holds nobody back has no lag") {
  ShareRig rig;
  Trainer &one = rig.attach("one"), &other = rig.attach("other");
  rig.tick(1);
  SECTION("the others wait for nothing: none has room for more") {
    for (int i = 0; i < 10; i++) rig.tick(kLagMs);
  }
  SECTION("it is alone") {
    other.detach();
    for (int i = 0; i < 10; i++) rig.tick(kLagMs);
  }
  SECTION("the node looked for the first time only now") {
    rig.run({&one}, 10);
    rig.now_ns += 100 * kLagMs * kMs;
  }
  CHECK_FALSE(one.failure);
  CHECK_FALSE(other.failure);
  CHECK(rig.cut_loose() == 0);
}

TEST_CASE("the batches of another size are copied from the stream's: decoded once, and every sample in its place") {
  const uint64_t size = GENERATE(1u, 3u, 4u, 10u, 25u, 64u);
  ShareRig rig({.samples = 100, .batch_size = 10, .epochs = 3});
  Trainer &a = rig.attach("a"), &b = rig.attach(rig.sized("b", size));
  if (size != 10) {
    CHECK(rig.feeds().size() == 2);
    CHECK(rig.feed_of(size).tap());
  }
  rig.streams[0]->substituted = {3, 8};
  rig.run({&a, &b}, 80);
  CHECK(rig.streams.size() == 1);
  REQUIRE(a.numbers.size() == 300);
  REQUIRE(b.numbers.size() == 300);
  for (int64_t epoch = 0; epoch < 3; epoch++)
    for (int64_t i = 0; i < 100; i++) REQUIRE(b.numbers[static_cast<size_t>(100 * epoch + i)] == 1000 * epoch + i);
  CHECK(rig.streams[0]->ticks == 0);
}

TEST_CASE("a third size is copied from the stream's ring, and not from a copy") {
  ShareRig rig;
  rig.attach("a");
  rig.attach(rig.sized("b", 4));
  Trainer& c = rig.attach(rig.sized("c", 2));
  CHECK(rig.feed_of(10).seats().size() == 3);
  CHECK(rig.feed_of(4).seats().size() == 1);
  CHECK(is_run(c.numbers, 0));
}

TEST_CASE("the ring that is copied from shows the Tap as one of its seats, which goes when its own ring goes") {
  ShareRig rig;
  rig.attach("a");
  Trainer& b = rig.attach(rig.sized("b", 4));
  Feed& whole = rig.feed_of(10);
  CHECK(whole.seats().size() == 2);
  CHECK(whole.seats().rbegin()->second.group.empty());
  CHECK(whole.seats().rbegin()->second.client.name == "batches of 4");
  CHECK(rig.feed_of(4).tap()->state() == node::Tap::State::kCopying);
  b.detach();
  rig.settle();
  CHECK(rig.feeds().size() == 1);
  CHECK(whole.seats().size() == 1);
  CHECK(rig.seating.at_rest());
}

TEST_CASE("a Tap whose upstream ends in the middle of a batch hands on whole batches, and a stream goes on behind") {
  ShareRig rig;
  Trainer& a = rig.attach("a");
  rig.streams[0]->holds = true;
  rig.run({&a}, 3);
  rig.holds_copies = true;
  Trainer& b = rig.attach(rig.sized("b", 25));  // of two and a half batches of the stream
  while (!rig.copies.empty()) rig.copy(), rig.settle();
  const size_t whole = b.numbers.size();
  REQUIRE(whole % 25 == 0);
  rig.streams[0]->make();
  rig.settle();
  REQUIRE_FALSE(rig.copies.empty());  // under way, into a batch that will not get its other samples
  SECTION("the stream fails") {
    rig.streams[0]->fail({Trouble::kContent, "bad"});
    rig.settle();
    CHECK(a.failure);
  }
  SECTION("the tapped job is cut loose: it holds the stream's batches while its copies last") {
    rig.streams[0]->holds = false;
    while (!rig.streams[0]->open.empty()) rig.streams[0]->make();
    rig.settle();
    rig.tick(1);
    for (int i = 0; i < 20; i++) rig.run({&a}, 1), rig.tick(kLagMs);
    CHECK_FALSE(a.failure);
    CHECK(rig.cut_loose() == 1);
  }
  const node::Tap* const tap = rig.feed_of(25).tap();
  REQUIRE(tap);
  CHECK(tap->state() == node::Tap::State::kEnding);
  CHECK_FALSE(b.failure);
  CHECK(rig.streams.size() == 1);  // the slot of the broken batch is still written to
  rig.holds_copies = false;
  while (!rig.copies.empty()) rig.copy();
  rig.settle();
  CHECK_FALSE(rig.feed_of(25).tap());
  REQUIRE(rig.streams.size() == 2);
  rig.streams[1]->holds = false;
  while (!rig.streams[1]->open.empty()) rig.streams[1]->make();
  rig.settle();
  rig.run({&b}, 5);
  CHECK(b.numbers.size() > whole + 100);
  CHECK(is_run(b.numbers, b.numbers.front()));
  CHECK_FALSE(b.failure);
}

TEST_CASE("a tapped job that leaves while its batches are copied waits for the copies, and nothing else waits for it") {
  ShareRig rig;
  Trainer& a = rig.attach("a");
  rig.holds_copies = true;
  Trainer& b = rig.attach(rig.sized("b", 7));
  REQUIRE_FALSE(rig.copies.empty());
  b.detach();
  rig.settle();
  CHECK(rig.feeds().size() == 1);
  CHECK_FALSE(rig.seating.at_rest());
  CHECK(rig.feeds()[0]->seats().size() == 2);  // its Tap still reads
  while (!rig.copies.empty()) rig.copy();
  rig.settle();
  CHECK(rig.seating.at_rest());
  CHECK(rig.feeds()[0]->seats().size() == 1);
  rig.run({&a}, 5);
  CHECK(is_run(a.numbers, 0));
}

TEST_CASE("the other jobs leave: the Tap keeps their ring, and its job gets every sample") {
  ShareRig rig({.samples = 100, .batch_size = 10, .epochs = 2});
  Trainer& a = rig.attach("a");
  Trainer& b = rig.attach(rig.sized("b", 4));
  rig.run({&a, &b}, 3);
  a.detach();
  rig.run({&b}, 60);
  CHECK(b.numbers.size() == 200);
  CHECK(rig.streams.size() == 1);
}

TEST_CASE("a seek of a job that shares a stream is refused, in the middle of copies too") {
  ShareRig rig;
  rig.attach("a");
  rig.holds_copies = true;
  Trainer& b = rig.attach(rig.sized("b", 4));
  REQUIRE_FALSE(rig.copies.empty());
  CHECK_FALSE(b.attachment->seek({.run = 1, .to = {0, 3}}));
  while (!rig.copies.empty()) rig.copy(), rig.settle();
  rig.run({&b}, 3);
  CHECK(is_run(b.numbers, 0));
}

}  // namespace spdld::sharing_test
