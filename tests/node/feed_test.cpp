// A feed alone, over every state that it has.
#include "daemon/node/seats/feed.h"

#include "tests/node/feed_rig.h"

namespace spdld::feed_test {

using namespace spdld::test;
using State = Feed::State;

namespace {

const Error kBroken{Trouble::kInternal, "it broke"};

}  // namespace

TEST_CASE("a feed fills nothing before every replica has its seat, then as much as its depth, and waits for releases") {
  FeedRig rig({.depth = 3}, 2, 6);
  Feed& feed = rig.open();
  PlainReader a, b;
  const ReaderId in_a = rig.join(a, 0);
  CHECK(feed.state() == State::kGathering);
  CHECK(a.steps.empty());
  CHECK(rig.stream().next == Position{0, 0});
  rig.join(b, 1);
  CHECK(feed.state() == State::kFilling);
  CHECK(a.steps == std::vector<uint64_t>{0, 1, 2, 3, 4, 5});  // the depth, and the three that may be held
  CHECK(b.steps == a.steps);
  CHECK(rig.give_back(in_a, a));
  CHECK(a.steps.size() == 6);  // the slow replica has the batch still
  CHECK(feed.depth_max() == 3);
}

TEST_CASE("a lower depth takes effect with the next batches, and a higher depth at once") {
  FeedRig rig({.depth = 5}, 1, 6);
  rig.setting.readers = 1;
  Feed& feed = rig.open();
  feed.set_depth(1);
  PlainReader reader;
  const ReaderId id = rig.join(reader);
  CHECK(reader.steps.size() == 2);  // one ready, one held
  rig.give_back(id, reader);
  CHECK(reader.steps.size() == 3);
  feed.set_depth(4);
  rig.loop.run_ready();
  CHECK(reader.steps.size() == 6);
  CHECK(feed.depth() == 4);
}

TEST_CASE("replicas that come back gather at the first of their positions") {
  FeedRig rig({}, 2);
  rig.setting.start = {0, 7};
  Feed& feed = rig.open();
  PlainReader a, b;
  rig.join(a, 0);
  feed.begin_by({0, 9});
  CHECK(rig.stream().sought.empty());
  feed.begin_by({0, 4});
  CHECK(rig.stream().sought == std::vector<Position>{{0, 4}});
  rig.join(b, 1);
  CHECK(b.steps.front() == 4);
  feed.begin_by({0, 1});  // too late
  CHECK(rig.stream().sought.size() == 1);
}

TEST_CASE("a feed without staging memory waits for room, and goes on when there is some") {
  FeedRig rig;
  Feed& feed = rig.open();
  rig.rules->has_room = false;
  PlainReader reader;
  const ReaderId id = rig.join(reader);
  CHECK(feed.state() == State::kWaitingForRoom);
  CHECK(rig.rules->wait_for_room.size() == 1);
  feed.set_depth(2);  // asks for nothing while it waits
  CHECK(rig.rules->wait_for_room.size() == 1);
  CHECK(feed.ring().levels().filling == 0);
  SECTION("there is some") {
    rig.rules->has_room = true;
    rig.rules->wait_for_room.front()();
    CHECK(feed.state() == State::kWaitingForRoom);  // the news came on another thread, and is posted
    rig.loop.run_ready();
    CHECK(feed.state() == State::kFilling);
    CHECK_FALSE(reader.steps.empty());
  }
  SECTION("there is some for a moment") {
    rig.rules->wait_for_room.front()();
    rig.loop.run_ready();
    CHECK(feed.state() == State::kWaitingForRoom);
    CHECK(rig.rules->wait_for_room.size() == 2);
  }
  SECTION("the news comes when it has failed") {
    feed.give_up(kBroken);
    rig.rules->has_room = true;
    rig.rules->wait_for_room.front()();
    rig.loop.run_ready();
    CHECK(feed.state() == State::kFailed);
    CHECK(reader.steps.empty());
  }
  SECTION("the news comes when it is stopped, or has gone") {
    bool quiet = false;
    feed.leave(id);
    feed.stop([&] { quiet = true; });
    rig.loop.run_ready();
    CHECK(quiet);
    rig.rules->wait_for_room.front()();
    rig.loop.run_ready();
    CHECK(feed.state() == State::kQuiet);
    rig.rules->wait_for_room.front()();
    rig.feed.reset();
    rig.loop.run_ready();
  }
}

TEST_CASE("a feed that fails tells every reader once, gives no further batch, and keeps what is held") {
  FeedRig rig({.depth = 2}, 2, 4);
  rig.holds_batches = true;
  Feed& feed = rig.open();
  PlainReader a, b;
  const ReaderId in_a = rig.join(a, 0);
  rig.join(b, 1);
  rig.stream().make();
  rig.loop.run_ready();
  REQUIRE(a.steps.size() == 1);
  b.when_told = [&] { feed.leave(in_a); };  // a reader that is told may end another
  a.when_told = b.when_told;
  rig.stream().fail(kBroken);
  CHECK_FALSE(feed.has_failed());  // posted
  rig.loop.run_ready();
  CHECK(feed.state() == State::kFailed);
  CHECK(feed.failure() == "it broke");
  REQUIRE(a.failure);
  REQUIRE(b.failure);
  feed.give_up({Trouble::kLimit, "again"});
  CHECK(feed.failure() == "it broke");
  rig.stream().make();  // was under way
  rig.loop.run_ready();
  CHECK(b.steps.size() == 1);
  CHECK(b.held.size() == 1);
  CHECK_FALSE(feed.entry(control::Join::kNow, {}) == std::nullopt);  // of a ring that is not shared: its position
}

TEST_CASE("a batch that can't be published fails the feed, and so does lost memory") {
  FeedRig rig;
  Feed& feed = rig.open();
  PlainReader reader;
  SECTION("not published") {
    rig.rules->publishes_fail = true;
    rig.join(reader);
    CHECK(feed.failure() == "the GPU failed");
    CHECK(reader.steps.empty());
    CHECK(feed.ring().levels().filling == 0);
  }
  SECTION("lost") {
    rig.join(reader);
    feed.tick(kMs);
    CHECK_FALSE(reader.failure);
    rig.rules->trouble = kBroken;
    feed.tick(2 * kMs);
    CHECK(reader.failure->message == "it broke");
    CHECK(rig.stream().ticks == 2);
  }
}

TEST_CASE("a stopped feed is quiet when its stream is, and batches under way go nowhere") {
  FeedRig rig;
  rig.holds_batches = true;
  Feed& feed = rig.open();
  PlainReader reader;
  const ReaderId id = rig.join(reader);
  rig.rules->holds_publishes = true;
  rig.stream().make();
  rig.loop.run_ready();
  rig.stream().holds_quiet = true;
  feed.leave(id);
  int quiet = 0;
  feed.stop([&] { quiet++; });
  rig.loop.run_ready();
  CHECK(feed.state() == State::kStopping);
  CHECK(quiet == 0);
  rig.rules->answer(Done{});
  rig.stream().stop();
  feed.give_up(kBroken);  // nobody is there to be told
  rig.loop.run_ready();
  CHECK(feed.ring().levels().free == 6);
  CHECK(feed.failure().empty());
  rig.stream().holds_quiet = false;
  rig.stream().stop();
  rig.loop.run_ready();
  CHECK(quiet == 1);
  CHECK(feed.state() == State::kQuiet);
}

TEST_CASE("a feed is stopped once") {
  FeedRig rig;
  Feed& feed = rig.open();
  feed.stop([] {});
  CHECK_THROWS_AS(feed.stop([] {}), std::logic_error);
  rig.loop.run_ready();
  CHECK_THROWS_AS(feed.stop([] {}), std::logic_error);
}

TEST_CASE("too many bad samples fail the feed, and bad samples from before a seek do not count") {
  FeedRig rig({.samples = 1000, .batch_size = 10, .bad_max = 33.0});
  rig.holds_batches = true;
  Feed& feed = rig.open();
  PlainReader reader;
  const ReaderId id = rig.join(reader);
  const std::vector<uint32_t> all = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const auto make_bad = [&] {
    rig.stream().substituted = all;
    rig.stream().make();
    rig.loop.run_ready();
    if (!reader.held.empty()) rig.give_back(id, reader);
  };
  for (int i = 0; i < 3; i++) make_bad();
  CHECK_FALSE(feed.has_failed());
  SECTION("enough") {
    make_bad();
    CHECK(feed.has_failed());
  }
  SECTION("an older run's") {
    rig.rules->holds_publishes = true;
    make_bad();  // waits to be published
    REQUIRE(feed.seek(id, {.run = 1, .to = {0, 50}, .waits = true}));
    rig.rules->holds_publishes = false;
    rig.rules->answer(Done{});
    rig.loop.run_ready();
    CHECK_FALSE(feed.has_failed());
  }
}

TEST_CASE("a reader that dies with batches on a GPU ends its ring, where others wait for the memory") {
  const uint32_t readers = GENERATE(1u, 2u);
  FeedRig rig({}, readers);
  rig.rules->kind = memory::MemoryKind::kCudaIpc;
  Feed& feed = rig.open();
  PlainReader dead, other;
  const ReaderId id = rig.join(dead, 0);
  if (readers == 2) rig.join(other, 1);
  SECTION("it has batches") {
    CHECK(feed.lose(id) == (readers == 2));
    CHECK(feed.has_failed() == (readers == 2));
    CHECK(feed.ring().leases(id) > 0);
    if (readers == 2) CHECK(other.failure->trouble == Trouble::kStopping);
  }
  SECTION("it has none") {
    while (!dead.held.empty()) {
      const auto lease = dead.held.front().lease;
      dead.held.pop_front();
      if (dead.held.empty()) rig.holds_batches = rig.stream().holds = true;
      REQUIRE(feed.release(id, lease, 0, 0));
    }
    CHECK_FALSE(feed.lose(id));
    CHECK_FALSE(feed.has_failed());
    CHECK(feed.seats().size() == readers - 1);
  }
  CHECK(feed.device_bytes() == 6 * rig.layout.slot_bytes());
  CHECK(feed.host_bytes() == 0);
}

TEST_CASE("a job that dies with batches on a GPU ends a shared ring where no slots are left for another job") {
  const uint32_t jobs_max = GENERATE(2u, 3u);
  FeedRig rig({}, 1, 20);
  rig.rules->kind = memory::MemoryKind::kCudaIpc;
  rig.setting.sharing = Feed::Sharing{{2, 2, rig.sharding.steps()}, jobs_max, 1000 * kMs};
  Feed& feed = rig.open();
  PlainReader dead, other;
  const ReaderId id = rig.join(dead);
  rig.join(other);
  REQUIRE(feed.ring().leases(id) == 2);
  CHECK(feed.lose(id) == (jobs_max == 2));
  CHECK(feed.has_failed() == (jobs_max == 2));
  CHECK(other.failure.has_value() == (jobs_max == 2));
  CHECK(feed.ring().leases(id) == 2);
}

TEST_CASE("pushed steps go to the stream") {
  FeedRig rig;
  Feed& feed = rig.open();
  CHECK(feed.push({{0, 0}, {4, 4}, {}, false}));
  CHECK(rig.stream().pushed == 2);
  CHECK(feed.host_bytes() == 6 * rig.layout.slot_bytes());
  CHECK(feed.device_bytes() == 0);
}

}  // namespace spdld::feed_test
