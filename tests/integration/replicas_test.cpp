// Replicas of a rank that seek: readers of one ring that go to other places together.
#include <signal.h>

#include <catch2/catch.hpp>
#include <deque>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>

#include "tests/control/raw_client.h"
#include "tests/integration/trainer.h"
#include "tests/support/daemon_process.h"
#include "tests/support/makers/photos.h"

namespace spdld::replicas_test {

using namespace spdld;
using namespace spdld::test;
using Catch::Contains;

namespace {

constexpr uint64_t kPhotos = 40, kBatch = 4, kSteps = 10;  // of an epoch

struct At {
  uint64_t epoch = 0, step = 0;
  At on(uint64_t steps) const { return {epoch + (step + steps) / kSteps, (step + steps) % kSteps}; }
  friend bool operator==(const At&, const At&) = default;
};

// A replica's program, a call at a time, so that it can be run by turns with the others'.
struct Actor {
  struct Call {
    std::optional<At> seek;  // none: take a batch
  };
  Loader loader;
  std::deque<Call> calls = {};
  std::vector<Seen> seen = {};

  void then_seek(At at) { calls.push_back({at}); }
  void then_take(uint64_t count) { calls.insert(calls.end(), count, Call{}); }
  std::vector<Seen> last(size_t count) const {
    REQUIRE(seen.size() >= count);
    return {seen.end() - static_cast<std::ptrdiff_t>(count), seen.end()};
  }
  // Does what it can of the next call.
  void go_on() {
    if (calls.empty()) return;
    if (const auto to = calls.front().seek) {
      loader.seek(to->epoch, to->step);
      return calls.pop_front();
    }
    const auto next = loader.next(1);
    if (next.result != SPDLD_OK) return;
    seen.push_back(look(next.batch));
    calls.pop_front();
  }
};

class ReplicaNode {
 public:
  ReplicaNode() {
    make_photos(daemon.dir() / "photos", kPhotos, 2);
    PhotoSpec spec;
    spec.epochs = 0;
    toml_ = spec.toml(daemon.dir() / "photos");
    spec.name = "reference", spec.cache = "off";
    own_toml_ = spec.toml(daemon.dir() / "photos");
  }
  Loader replica(uint32_t reader, uint32_t readers = 2) const {
    return attach(
        {.socket = daemon.socket(), .spec = toml_, .group = "replicas", .reader = reader, .readers = readers});
  }
  // What a fresh loader gets from there on.
  std::vector<Seen> reference(At at, size_t batches) const {
    Loader loader = attach(
        {.socket = daemon.socket(), .spec = own_toml_, .group = "reference", .epoch = at.epoch, .step = at.step});
    return take_all(loader, batches);
  }
  std::vector<Actor> pair() const;
  void restart() {
    daemon.stop(SIGKILL);
    daemon.start();
  }
  const std::string& toml() const { return toml_; }
  uint64_t decoded() const {
    return nlohmann::json::parse(query("describe", "photos", daemon.socket().c_str()))["stages"][1]["samples"];
  }

  DaemonProcess daemon;

 private:
  std::string toml_, own_toml_;
};

std::vector<Actor> ReplicaNode::pair() const {
  std::vector<Actor> actors;
  for (uint32_t reader = 0; reader < 2; reader++) actors.push_back({replica(reader)});
  return actors;
}

// A replica that has come back, and says so in the protocol's own words.
class RawReplica {
 public:
  RawReplica(const ReplicaNode& node, uint32_t reader, At position, std::optional<At> sought)
      : client_(node.daemon.socket()) {
    client_.hello();
    flatbuffers::FlatBufferBuilder builder;
    const auto spec = builder.CreateString(node.toml()), group = builder.CreateString("replicas");
    const auto from = proto::CreatePosition(builder, position.epoch, position.step);
    const auto has_sought = sought ? proto::CreatePosition(builder, sought->epoch, sought->step) : 0;
    proto::AttachBuilder attach(builder);
    attach.add_request(1);
    attach.add_spec(spec);
    attach.add_group(group);
    attach.add_reader(reader);
    attach.add_readers(2);
    attach.add_position(from);
    attach.add_sought(has_sought);
    client_.send(proto::finish(builder, proto::Body::Attach, attach.Finish()));
    for (;;) {  // each turn waits for the daemon
      const auto heard = client_.hear();
      REQUIRE(heard);
      if (const auto* attached = heard->message().body_as_Attached()) {
        attachment_ = attached->attachment();
        return;
      }
      REQUIRE(heard->message().body_as_Preparing());
    }
  }
  void seek(At to, bool again) {
    run_++;
    flatbuffers::FlatBufferBuilder builder;
    const auto position = proto::CreatePosition(builder, to.epoch, to.step);
    const auto none_kept = builder.CreateVectorOfStructs(std::vector<proto::LeaseId>());
    const auto seek = proto::CreateSeek(builder, attachment_, run_, position, run_, false, none_kept, true, again);
    client_.send(proto::finish(builder, proto::Body::Seek, seek));
  }
  // The place of its next batch, which is given back at once; of an earlier run: passed over.
  At next() {
    for (;;) {  // each turn waits for the daemon
      const auto heard = client_.hear();
      REQUIRE(heard);
      const auto* ready = heard->message().body_as_Ready();
      REQUIRE(ready);
      if (ready->run() != run_) continue;  // its lease ended with the seek
      client_.send_release(attachment_, ready->slot(), ready->generation());
      return {ready->position()->epoch(), ready->position()->step()};
    }
  }

 private:
  RawClient client_;
  uint32_t attachment_ = 0, run_ = 0;
};

void run_by_turns(std::vector<Actor>& actors, std::mt19937& random) {
  REQUIRE(soon([&] {
    for (int turn = 0; turn < 8; turn++) actors[random() % actors.size()].go_on();
    return std::all_of(actors.begin(), actors.end(), [](const Actor& actor) { return actor.calls.empty(); });
  }));
}

// Both wait for each other: the text that each is told.
std::string parted(Loader& loader, Loader& other) {
  std::string told[2];
  REQUIRE(soon([&] {
    Loader* const loaders[] = {&loader, &other};
    for (int i = 0; i < 2; i++) {
      if (!told[i].empty()) continue;
      try {
        const auto next = loaders[i]->next(1);
        REQUIRE(next.result == SPDLD_TIMEOUT);
      } catch (const Exception& e) {
        REQUIRE(e.result() == SPDLD_INVALID);
        told[i] = e.what();
      }
    }
    return !told[0].empty() && !told[1].empty();
  }));
  CHECK(told[0] == told[1]);
  return told[0];
}

Seen take(Loader& loader) {
  const auto batches = take_all(loader, 1);
  REQUIRE(batches.size() == 1);
  return batches.front();
}

std::vector<Seen> take_both(Loader& a, Loader& b, int batches) {
  std::vector<Seen> seen;
  for (int i = 0; i < batches; i++) {
    seen.push_back(take(a));
    REQUIRE(take(b) == seen.back());
  }
  return seen;
}

// Says it at the daemon, where the other replica has not.
void seek_and_wait(Loader& loader, At at) {
  loader.seek(at.epoch, at.step);
  CHECK(loader.next(0).result == SPDLD_TIMEOUT);
}

}  // namespace

TEST_CASE("replicas seek back and forth at different moments, and get what a fresh loader gets there") {
  std::mt19937 random(5);
  const uint32_t count = GENERATE(2u, 3u);
  const ReplicaNode node;
  std::vector<Actor> actors;
  for (uint32_t reader = 0; reader < count; reader++) actors.push_back({node.replica(reader, count)});
  At at;
  for (int round = 0; round < 30; round++) {
    // Some break off later than others, by more than the ring has slots as well, and may stand where they go.
    const uint64_t common = random() % 4;
    At to = random() % 3 == 0 ? at.on(common) : At{random() % 4, random() % kSteps};
    const uint64_t after = 1 + random() % 5;
    const bool all_go_round = random() % 3 == 0;
    for (Actor& actor : actors) {
      actor.seen.clear();
      actor.then_take(common + (random() % 2 ? random() % 9 : 0));
      if (random() % 4 == 0) actor.then_seek({random() % 4, random() % kSteps});  // and changes its mind
      if (all_go_round) actor.then_seek(to), actor.then_seek({7, 1});
      if (random() % 4 == 0) actor.then_seek(to);
      actor.then_seek(to);
      actor.then_take(after);
    }
    run_by_turns(actors, random);
    const std::vector<Seen> expected = node.reference(to, after);
    REQUIRE(expected.size() == after);
    for (const Actor& actor : actors) REQUIRE(actor.last(after) == expected);
    at = to.on(after);
  }
}

TEST_CASE("what replicas seek is decoded once") {
  const ReplicaNode node;
  std::mt19937 random(6);
  std::vector<Actor> actors = node.pair();
  constexpr uint64_t kRounds = 10, kTaken = 20, kAhead = 10;
  for (uint64_t round = 0; round < kRounds; round++)
    for (Actor& actor : actors) {
      actor.then_seek({2 * round, 3});
      actor.then_take(kTaken);
    }
  run_by_turns(actors, random);
  CHECK(actors[0].seen == actors[1].seen);
  CHECK(node.decoded() <= (kRounds * (kTaken + kAhead) + kAhead) * kBatch);
  CHECK((kRounds * (kTaken + kAhead) + kAhead) < 2 * kRounds * kTaken);
}

TEST_CASE("where all replicas stand there already, nothing is decoded anew") {
  const ReplicaNode node;
  std::mt19937 random(7);
  std::vector<Actor> actors = node.pair();
  constexpr uint64_t kEpochs = 20;
  for (uint64_t epoch = 0; epoch < kEpochs; epoch++)
    for (Actor& actor : actors) {
      actor.then_seek({epoch, 0});
      actor.then_take(kSteps);
    }
  run_by_turns(actors, random);
  const std::vector<Seen> expected = node.reference({}, kEpochs * kSteps);
  CHECK(actors[0].seen == expected);
  CHECK(actors[1].seen == expected);
  CHECK(node.decoded() <= kEpochs * kPhotos + 6 * kBatch);  // and what was made ahead, once
}

TEST_CASE("batches in hand stay as they are when replicas seek") {
  const ReplicaNode node;
  Loader a = node.replica(0), b = node.replica(1);
  const Batch of_a = a.next(20'000).batch;
  const Seen before = look(of_a);
  take(b);
  for (uint64_t round = 0; round < 5; round++) {
    seek_and_wait(a, {round, 5});
    b.seek(round, 5);
    take_both(a, b, 6);
    CHECK(look(of_a) == before);
  }
}

TEST_CASE("replicas that seek different places are told, and may seek anew") {
  const ReplicaNode node;
  Loader a = node.replica(0), b = node.replica(1);
  take_both(a, b, 2);
  a.seek(1, 0);
  b.seek(2, 3);
  CHECK_THAT(parted(a, b), Contains("rank 0 ") && Contains("replica 0 goes to epoch 1, step 0") &&
                               Contains("replica 1 goes to epoch 2, step 3") && Contains("same place"));
  // One of them takes the other's word; where it was told it goes on with the same.
  CHECK(a.next(0).result == SPDLD_TIMEOUT);
  b.seek(1, 0);
  CHECK(take_both(a, b, 3) == node.reference({1, 0}, 3));
  // What one has asked for first does not count.
  seek_and_wait(a, {3, 3});
  seek_and_wait(a, {0, 1});
  b.seek(3, 3);
  b.seek(0, 1);
  CHECK(take_both(a, b, 3) == node.reference({0, 1}, 3));
  seek_and_wait(a, {0, 4});  // where both are
  b.seek(0, 3);
  CHECK_THAT(parted(a, b), Contains("replica 0 goes to epoch 0, step 4, and replica 1 goes to epoch 0, step 3"));
  a.seek(0, 3);
  CHECK(take_both(a, b, 3) == node.reference({0, 3}, 3));
}

TEST_CASE("a replica that has sought, and wants no batch yet, keeps nobody from theirs") {
  const ReplicaNode node;
  Loader a = node.replica(0), b = node.replica(1);
  take_both(a, b, 2);
  for (const At at : {At{2, 0}, At{1, 3}, At{2, 0}}) b.seek(at.epoch, at.step);
  for (const At at : {At{2, 0}, At{1, 3}}) {
    a.seek(at.epoch, at.step);
    CHECK(take(a) ==
          node.reference(at, 1).front());  // as a pipeline's first stage, that gives the others something then
  }
  a.seek(2, 0);
  CHECK(take_both(a, b, 3) == node.reference({2, 0}, 3));
}

TEST_CASE("a replica that waits says so") {
  const ReplicaNode node;
  Loader a = node.replica(0), b = node.replica(1);
  a.seek(1, 0);
  CHECK(a.next(0).result == SPDLD_TIMEOUT);
  CHECK_THAT(spdld_last_error(), Contains("other replicas") && Contains("epoch 1, step 0"));
  CHECK(take_all(b, 25) == node.reference({}, 25));  // it holds nobody back
  b.seek(1, 0);
  CHECK(take_both(a, b, 3) == node.reference({1, 0}, 3));
}

TEST_CASE("a replica that dies is not waited for, and may come back") {
  const ReplicaNode node;
  const bool dies_waiting = GENERATE(false, true);
  Loader a = node.replica(0);
  Pipe told;
  const pid_t dies = in_child([&] {
    Loader b = node.replica(1);
    take_all(b, 2);
    if (dies_waiting) seek_and_wait(b, {3, 1});
    told.write("x");
    for (;;) pause();
    return 0;
  });
  take_all(a, 2);
  REQUIRE(told.read_byte());
  if (!dies_waiting) seek_and_wait(a, {1, 4});
  kill(dies, SIGKILL);
  REQUIRE(wait_for(dies) == -SIGKILL);
  if (dies_waiting) {
    CHECK(take_all(a, 20) == node.reference({0, 2}, 20));
    a.seek(1, 4);
  }
  CHECK(take_all(a, 5) == node.reference({1, 4}, 5));

  Loader back = node.replica(1);  // its count of seeks begins anew
  const auto [epoch, step] = back.tell();
  const Seen first = node.reference({epoch, step}, 1).front();
  for (int i = 0; i < 20 && !(take(a) == first); i++) continue;
  CHECK(take(back) == first);
  CHECK(take_both(a, back, 5) == node.reference(At{epoch, step}.on(1), 5));
  seek_and_wait(back, {0, 2});
  a.seek(0, 2);
  CHECK(take_both(a, back, 5) == node.reference({0, 2}, 5));
}

TEST_CASE("one that leaves and comes back at once begins where the others have gone") {
  const ReplicaNode node;
  Loader a = node.replica(0);
  std::optional<Loader> b(node.replica(1));
  take_both(a, *b, 3);
  for (uint64_t round = 1; round < 10; round++) {
    seek_and_wait(a, {round, 4});
    b.reset();
    b.emplace(node.replica(1));
    const auto [epoch, step] = b->tell();
    CHECK(epoch == round);
    CHECK(step >= 4);
    for (At at{round, 4}; at != At{epoch, step}; at = at.on(1)) CHECK(take(a) == node.reference(at, 1).front());
    CHECK(take_both(a, *b, 2) == node.reference({epoch, step}, 2));
  }
}

TEST_CASE("a daemon that is killed while some replicas have sought: all go on together") {
  ReplicaNode node;
  std::mt19937 random(8);
  std::vector<Actor> actors = node.pair();
  take_both(actors[0].loader, actors[1].loader, 5);
  const At places[] = {{2, 3}, {0, 1}, {0, 4}, {5, 0}, {1, 1}};
  for (size_t round = 0; round < std::size(places); round++) {
    INFO("round " << round);
    const At to = places[round];
    Actor &first = actors[round % 2], &second = actors[1 - round % 2];
    seek_and_wait(first.loader, to);
    node.restart();
    if (round >= 2) second.then_take(3);  // it takes some where it was, from the new daemon
    second.then_seek(to);
    for (Actor& actor : actors) actor.then_take(6);
    run_by_turns(actors, random);
    for (Actor& actor : actors) CHECK(actor.last(6) == node.reference(to, 6));
  }
}

TEST_CASE("a daemon that is killed when all have sought: what it sent counts, and what it did not is sent again") {
  ReplicaNode node;
  std::mt19937 random(9);
  std::vector<Actor> actors = node.pair();
  Loader &a = actors[0].loader, &b = actors[1].loader;
  for (uint64_t round = 1; round < 6; round++) {
    seek_and_wait(a, {round, 4});
    b.seek(round, 4);
    actors[1].then_take(8);
    if (round % 2) {
      CHECK(take(b) == node.reference({round, 4}, 1).front());  // and the other one has not looked yet
      actors[1].calls.pop_front();
    }
    node.restart();
    actors[0].then_take(8);
    run_by_turns(actors, random);
    CHECK(actors[0].last(8) == node.reference({round, 4}, 8));
    CHECK(actors[1].last(7) == node.reference({round, 5}, 7));
  }
}

TEST_CASE("a daemon that is killed between the first batches of two replicas: both go on from there") {
  const ReplicaNode node;
  RawReplica behind(node, 0, {0, 2}, {}), ahead(node, 1, {1, 5}, At{1, 4});
  behind.seek({1, 4}, true);
  At place = ahead.next();
  for (int i = 0; i < 20 && place != At{1, 4}; i++) place = ahead.next();  // batches that it has had, or passes over
  CHECK(place == At{1, 4});
  CHECK(behind.next() == At{1, 4});
  CHECK(ahead.next() == At{1, 5});
  CHECK(behind.next() == At{1, 5});
}

TEST_CASE("a replica that came back waits for the others where it seeks anew") {
  const ReplicaNode node;
  RawReplica one(node, 0, {1, 5}, At{1, 4}), other(node, 1, {1, 5}, At{1, 4});
  one.seek({1, 4}, false);
  for (At at{1, 5}; at != At{3, 0}; at = at.on(1)) CHECK(other.next() == at);  // it goes on as it likes
  other.seek({1, 4}, false);
  for (RawReplica* replica : {&one, &other}) {
    CHECK(replica->next() == At{1, 4});
    CHECK(replica->next() == At{1, 5});
  }
}

}  // namespace spdld::replicas_test
