// Seeks of a feed's readers, and what its stream and its ring make of them.
#include "daemon/node/seats/feed.h"
#include "tests/node/feed_rig.h"

namespace spdld::feed_seek_test {

using namespace spdld::test;

namespace {

// Of a reader that gives back all it holds, and waits for a batch from there.
control::SeekRequest seek_to(uint32_t run, Position to, bool again = false) {
  return {.run = run, .to = to, .keeps = std::vector<delivery::LeaseId>(), .waits = true, .again = again};
}

}  // namespace

TEST_CASE("a seek in the middle drops what is being filled, and the batches of the new run come from there") {
  FeedRig rig;
  rig.holds_batches = true;
  Feed& feed = rig.open();
  PlainReader reader;
  const ReaderId id = rig.join(reader);
  rig.stream().make();
  rig.loop.run_ready();
  rig.rules->holds_publishes = true;
  rig.stream().make();
  rig.loop.run_ready();
  REQUIRE(reader.held.size() == 1);
  const auto lease = reader.held.front().lease;
  REQUIRE(feed.seek(id, {.run = 3, .to = {2, 100}, .keeps = std::vector{lease}}));  // the end of epoch 2
  rig.rules->holds_publishes = false;
  rig.rules->answer(Done{});
  rig.loop.run_ready();
  CHECK(rig.stream().sought == std::vector<Position>{{3, 0}});
  rig.stream().make();
  rig.loop.run_ready();
  REQUIRE(reader.held.size() == 2);
  CHECK(reader.held.back().position == Position{3, 0});
  CHECK(reader.held.back().run == 3);
  CHECK(feed.release(id, lease, 1, 0));
  CHECK_FALSE(feed.seek(id, {.run = 3, .to = {0, 0}}));    // not a larger run
  CHECK_FALSE(feed.seek(id, {.run = 4, .to = {0, 101}}));  // not in an epoch
  CHECK(feed.seek(id, {.run = 3, .to = {2, 100}, .waits = true}));
  feed.leave(id);
  CHECK_FALSE(feed.seek(id, {.run = 5, .to = {0, 0}}));
}

TEST_CASE("replicas that have parted are told where each goes, and can meet afterwards") {
  FeedRig rig({}, 2);
  Feed& feed = rig.open();
  PlainReader a, b;
  const ReaderId in_b = rig.join(b, 1), in_a = rig.join(a, 0);
  REQUIRE(feed.seek(in_b, seek_to(1, {0, 20})));
  CHECK(b.parted_why.empty());
  REQUIRE(feed.seek(in_a, seek_to(1, {1, 3})));
  CHECK(a.parted_why.find("replica 0 goes to epoch 1, step 3, and replica 1 goes to epoch 0, step 20") !=
        std::string::npos);
  CHECK(b.parted_why == a.parted_why);
  CHECK(rig.stream().sought.empty());
  REQUIRE(feed.seek(in_b, seek_to(2, {1, 3})));
  CHECK(rig.stream().sought == std::vector<Position>{{1, 3}});
  rig.loop.run_ready();
  CHECK(a.held.back().run == 1);
  CHECK(b.held.back().run == 2);
}

TEST_CASE("a replica that leaves is not waited for") {
  FeedRig rig({}, 2);
  Feed& feed = rig.open();
  PlainReader a, b;
  const ReaderId in_a = rig.join(a, 0), in_b = rig.join(b, 1);
  REQUIRE(feed.seek(in_a, seek_to(1, {0, 30})));
  CHECK(rig.stream().sought.empty());
  SECTION("it detaches") { feed.leave(in_b); }
  SECTION("its leases go on") { feed.vacate(in_b); }
  CHECK(rig.stream().sought == std::vector<Position>{{0, 30}});
}

TEST_CASE("replicas of a daemon that died when one of them had sought meet there") {
  FeedRig rig({}, 2);
  rig.setting.start = {0, 30};
  Feed& feed = rig.open();
  PlainReader ahead, back;
  // One took a batch from step 30 on before the daemon died; the other seeks that position again.
  const ReaderId first = feed.join({"a", 0, {}, &ahead}, {0, 30}, Position{0, 30});
  const ReaderId second = feed.join({"a", 1, {}, &back}, {0, 30}, {});
  rig.loop.run_ready();
  REQUIRE(feed.seek(second, seek_to(1, {0, 30}, true)));
  rig.loop.run_ready();
  CHECK(rig.stream().sought == std::vector<Position>{{0, 30}});
  CHECK(rig.give_back(first, ahead));  // a lease from before goes on
  CHECK(ahead.held.back().position == Position{0, 30});
  CHECK(ahead.held.back().run == 0);
  CHECK(back.held.back().run == 1);
  CHECK(feed.ring().has_begun());
  // Followed once, the first replica must seek itself.
  REQUIRE(feed.seek(second, seek_to(2, {0, 30}, true)));
  CHECK(rig.stream().sought.size() == 1);
  REQUIRE(feed.seek(first, seek_to(1, {0, 30})));
  CHECK(rig.stream().sought.size() == 2);
}

}  // namespace spdld::feed_seek_test
