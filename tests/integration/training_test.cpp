// A usual training program: a train and a val loader in one process, epochs, validation after each, an epoch that is
// left and gone on with; and what the daemon says of it: nothing is attached, opened or listed again.
#include <signal.h>

#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/integration/trainer.h"
#include "tests/support/daemon_process.h"
#include "tests/support/makers/photos.h"

namespace spdld::training_test {

using namespace spdld;
using namespace spdld::test;

namespace {

using nlohmann::json;

// Batches to the end of the epoch, which must be of this epoch, from this step on, without a gap.
std::vector<Seen> rest_of_epoch(Loader& loader, uint64_t epoch, uint64_t step = 0) {
  std::vector<Seen> seen;
  for (;;) {
    const Loader::Next next = loader.next(20'000);
    if (next.result == SPDLD_END_OF_EPOCH) return seen;
    REQUIRE(next.result == SPDLD_OK);
    seen.push_back(look(next.batch));
    REQUIRE(seen.back().epoch == epoch);
    REQUIRE(seen.back().step == step++);
  }
}

// The sessions that are attached, by id, and the pipelines with how they were listed.
json told(const std::string& socket) {
  const auto ask = [&](const char* topic, const char* argument) {
    return json::parse(query(topic, argument, socket.c_str()));
  };
  const json status = ask("status", nullptr), list = ask("list", nullptr);
  json all;
  for (const json& session : status["sessions"])
    if (session["attachments"] != 0) all["sessions"].push_back(json::array({session["id"], session["attachments"]}));
  for (const json& pipeline : list["pipelines"]) {
    const auto name = pipeline["name"].get<std::string>();
    all["listings"][name] = ask("describe", name.c_str())["listing"];
  }
  return all;
}

}  // namespace

TEST_CASE("train and val by turns: whole epochs, no stale batch, and nothing is opened again") {
  DaemonProcess daemon;
  make_photos(daemon.dir() / "photos", 30, 2);
  const auto pipeline = [&](const std::string& name, int epochs) {
    PhotoSpec spec;
    spec.name = name, spec.epochs = epochs;
    return spec.toml(daemon.dir() / "photos");
  };
  Loader train = attach({.socket = daemon.socket(), .spec = pipeline("train", 0)});
  Loader val = attach({.socket = daemon.socket(), .spec = pipeline("val", 1)});
  const json before = told(daemon.socket());
  REQUIRE(before["sessions"].size() == 2);
  REQUIRE(before["listings"].size() == 2);

  std::vector<std::vector<Seen>> epochs;
  const std::vector<Seen> first_look = rest_of_epoch(val, 0);
  for (uint64_t epoch = 0; epoch < 4; epoch++) {
    train.set_epoch(epoch);
    epochs.push_back(rest_of_epoch(train, epoch));
    CHECK(epochs.back().size() == 8);
    CHECK(val.next(20'000).result == SPDLD_END);  // it has one epoch, and that is begun anew
    val.set_epoch(0);
    CHECK(rest_of_epoch(val, 0) == first_look);
  }
  CHECK_FALSE(epochs[0][0].ids == epochs[1][0].ids);

  train.set_epoch(1);  // left in the middle, validated, gone on with
  for (size_t step = 0; step < 3; step++) CHECK(look(train.next(20'000).batch) == epochs[1][step]);
  const std::string place = train.state();
  val.set_epoch(0);
  CHECK(rest_of_epoch(val, 0) == first_look);
  CHECK(rest_of_epoch(train, 1, 3) == std::vector<Seen>(epochs[1].begin() + 3, epochs[1].end()));
  CHECK(rest_of_epoch(train, 2) == epochs[2]);
  train.load_state(place);  // and once more, by its state
  CHECK(rest_of_epoch(train, 1, 3) == std::vector<Seen>(epochs[1].begin() + 3, epochs[1].end()));
  train.set_epoch(3);
  CHECK(rest_of_epoch(train, 3) == epochs[3]);
  CHECK(told(daemon.socket()) == before);
}

TEST_CASE("an order that is pushed, over a daemon that is killed, and by two ranks") {
  DaemonProcess daemon;
  make_photos(daemon.dir() / "photos", 30, 2);
  PhotoSpec spec;
  spec.epochs = 2, spec.extra_order = "shuffle = \"client\"";
  const std::string text = spec.toml(daemon.dir() / "photos");
  std::vector<Loader> ranks;
  for (uint32_t rank : {0u, 1u})
    ranks.push_back(attach({.socket = daemon.socket(), .spec = text, .rank = rank, .world_size = 2}));
  std::map<int64_t, int> times;
  for (uint64_t epoch = 0; epoch < 2; epoch++) {
    for (uint64_t rank = 0; rank < 2; rank++)  // every other sample, three a step
      for (uint64_t step = 0; step < 5; step++) {
        std::vector<uint64_t> ids;
        for (uint64_t i = 0; i < 3; i++) ids.push_back(2 * (3 * step + i) + (rank + epoch) % 2);
        ranks[rank].push(epoch, step, ids, step == 4);
      }
    for (Loader& loader : ranks)
      for (const Seen& seen : rest_of_epoch(loader, epoch)) {
        CHECK(seen.ids.size() == 3);
        for (int64_t id : seen.ids) times[id]++;
        if (seen.step == 2) {
          daemon.stop(SIGKILL);
          daemon.start();
        }
      }
  }
  CHECK(times.size() == 30);
  for (const auto& [id, count] : times) CHECK(count == 2);
}

}  // namespace spdld::training_test
