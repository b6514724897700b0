// The order that the caller pushes: what the library refuses, what it keeps, and when it says an epoch's end.
#include <numeric>

#include "tests/client/session.h"

namespace spdld::pushed_test {

using namespace spdld;
using namespace spdld::test;

namespace {

using Ids = std::vector<uint64_t>;

FakeScript pushing() {
  FakeScript script;  // 20 samples, batches of 4
  script.push_steps_max = 5;
  script.epochs = 0;
  return script;
}

spdld_result push(const Loader& loader, uint64_t epoch, uint64_t step, const Ids& ids, bool last = false) {
  return spdld_push(loader.get(), epoch, step, ids.data(), ids.size(), last ? 1 : 0);
}

void refused(const Loader& loader, uint64_t epoch, uint64_t step, const Ids& ids, bool last, spdld_result result,
             const std::string& sentence) {
  CHECK(push(loader, epoch, step, ids, last) == result);
  CHECK_THAT(spdld_last_error(), Catch::Contains(sentence));
}

Ids ids_of(const Loader& loader) {
  const Batch batch = next(loader);
  spdld_tensor ids = test::no_tensor();
  REQUIRE(spdld_batch_find(batch.get(), "sample_id", &ids) == SPDLD_OK);
  const auto* id = static_cast<const int64_t*>(ids.address);
  return {id, id + ids.shape[0]};
}

std::pair<uint64_t, uint64_t> position_of(const Loader& loader) {
  std::pair<uint64_t, uint64_t> place;
  REQUIRE(spdld_tell(loader.get(), &place.first, &place.second) == SPDLD_OK);
  return place;
}

using Position = std::pair<uint64_t, uint64_t>;

}  // namespace

TEST_CASE("pushed steps are handed out in turn, and epochs end where the caller says") {
  const Attached attached(pushing());
  const Loader& loader = attached.loader;
  const spdld_info info = info_of(loader);
  CHECK(info.pushed == 1);
  CHECK(info.steps_per_epoch == 0);
  REQUIRE(push(loader, 0, 0, {3, 3, 19}) == SPDLD_OK);
  REQUIRE(push(loader, 0, 1, {0}, true) == SPDLD_OK);
  REQUIRE(push(loader, 1, 0, {1, 2, 3, 4}) == SPDLD_OK);
  CHECK(ids_of(loader) == Ids{3, 3, 19});
  CHECK(position_of(loader) == Position{0, 1});
  CHECK(ids_of(loader) == Ids{0});
  CHECK(position_of(loader) == Position{1, 0});
  CHECK(next_result(loader) == SPDLD_END_OF_EPOCH);
  CHECK(ids_of(loader) == Ids{1, 2, 3, 4});
  REQUIRE(push(loader, 1, 1, {}, true) == SPDLD_OK);  // it had ended before this was known
  CHECK(position_of(loader) == Position{2, 0});
  CHECK(next_result(loader) == SPDLD_END_OF_EPOCH);
  REQUIRE(push(loader, 2, 0, {7}) == SPDLD_OK);
  REQUIRE(push(loader, 2, 1, {}, true) == SPDLD_OK);  // and this before it was taken
  CHECK(ids_of(loader) == Ids{7});
  CHECK(next_result(loader) == SPDLD_END_OF_EPOCH);
}

TEST_CASE("what was not pushed is not waited for") {
  const Attached attached(pushing());
  CHECK(next_result(attached.loader, -1) == SPDLD_INVALID);
  CHECK_THAT(spdld_last_error(), Catch::Contains("no samples were pushed for epoch 0, step 0"));
  REQUIRE(push(attached.loader, 0, 0, {1}) == SPDLD_OK);
  CHECK(ids_of(attached.loader) == Ids{1});
  CHECK(next_result(attached.loader, -1) == SPDLD_INVALID);
}

TEST_CASE("the last epoch ends the run where the pipeline counts them") {
  FakeScript script = pushing();
  script.epochs = 1;
  const Attached attached(script);
  REQUIRE(push(attached.loader, 0, 0, {1}, true) == SPDLD_OK);
  refused(attached.loader, 1, 0, {1}, false, SPDLD_INVALID, "and the pipeline has 1 epochs");
  CHECK(ids_of(attached.loader) == Ids{1});
  CHECK(next_result(attached.loader) == SPDLD_END_OF_EPOCH);
  CHECK(next_result(attached.loader) == SPDLD_END);
}

TEST_CASE("a wrong push is refused with what is wrong, and sends nothing") {
  const Attached attached(pushing());
  const Loader& loader = attached.loader;
  refused(loader, 0, 1, {1}, false, SPDLD_INVALID, "pushed for epoch 0, step 1, where epoch 0, step 0 comes next");
  refused(loader, 0, 0, {}, false, SPDLD_INVALID, "has no samples: a step has 1 to 4");
  refused(loader, 0, 0, {}, true, SPDLD_INVALID, "an epoch at least one step");
  refused(loader, 0, 0, {1, 2, 3, 4, 5}, false, SPDLD_INVALID, "has 5 samples, and a batch of this rank at most 4");
  refused(loader, 0, 0, {1, 20}, false, SPDLD_INVALID, "names sample 20, and the data set has 20");
  refused(loader, 0, 0, {~uint64_t{0}}, false, SPDLD_INVALID, "names sample 18446744073709551615");
  CHECK(spdld_push(loader.get(), 0, 0, nullptr, 1, 0) == SPDLD_INVALID);
  CHECK(spdld_push(nullptr, 0, 0, nullptr, 0, 1) == SPDLD_INVALID);
  CHECK(attached.daemon.counts().pushes == 0);
  for (uint64_t step = 0; step < 5; ++step) REQUIRE(push(loader, 0, step, {step, 1, 2, 3}) == SPDLD_OK);
  refused(loader, 0, 5, {1}, false, SPDLD_LIMIT, "5 steps of 20 samples are pushed ahead, and 5 of 20 may be");
  REQUIRE(push(loader, 0, 5, {}, true) == SPDLD_OK);  // an end needs no room
  CHECK(ids_of(loader) == Ids{0, 1, 2, 3});
  CHECK(push(loader, 1, 0, {9}) == SPDLD_OK);

  const Attached own{FakeScript{}};
  refused(own.loader, 0, 0, {1}, false, SPDLD_INVALID, "has its own order");
}

TEST_CASE("what was not handed out is pushed again to a daemon that comes back, and nothing else") {
  FakeScript script = pushing();
  script.push_steps_max = 40, script.push_ids_max = 160;
  script.end_after = 7, script.end_sessions = 4;
  script.end = GENERATE(FakeScript::End::kClose, FakeScript::End::kGoodbye);
  const Attached attached(script);
  std::vector<Ids> pushed, seen;
  for (uint64_t step = 0; step < 40; ++step) {
    pushed.push_back({step % 20, (step * 7) % 20});
    REQUIRE(push(attached.loader, step / 10, step % 10, pushed.back(), step % 10 == 9) == SPDLD_OK);
  }
  while (seen.size() < 40) {
    if (seen.size() % 10 == 0 && !seen.empty() && position_of(attached.loader).second == 0) {
      REQUIRE(next_result(attached.loader) == SPDLD_END_OF_EPOCH);
    }
    seen.push_back(ids_of(attached.loader));
  }
  CHECK(seen == pushed);
  CHECK(attached.daemon.counts().attaches == 5);
}

TEST_CASE("pushed while the daemon is away, it is taken when it is back") {
  Folder folder;
  const std::string socket = folder.socket();
  auto daemon = std::make_unique<FakeDaemon>(socket, pushing());
  const Loader loader = attach(options_for(socket));
  REQUIRE(push(loader, 0, 0, {1}) == SPDLD_OK);
  CHECK(ids_of(loader) == Ids{1});
  daemon.reset();
  CHECK(push(loader, 0, 1, {2}) == SPDLD_OK);
  daemon = std::make_unique<FakeDaemon>(socket, pushing());
  CHECK(ids_of(loader) == Ids{2});
  CHECK(daemon->counts().pushed_steps == 1);
  REQUIRE(push(loader, 0, 2, {}, true) == SPDLD_OK);
  CHECK(next_result(loader) == SPDLD_END_OF_EPOCH);
}

TEST_CASE("a seek, also to where it is, and a state void what was pushed") {
  const Attached attached(pushing());
  const Loader& loader = attached.loader;
  REQUIRE(push(loader, 0, 0, {1}) == SPDLD_OK);
  REQUIRE(push(loader, 0, 1, {2}) == SPDLD_OK);
  CHECK(ids_of(loader) == Ids{1});
  REQUIRE(spdld_seek(loader.get(), 0, 1) == SPDLD_OK);
  CHECK(next_result(loader) == SPDLD_INVALID);
  REQUIRE(push(loader, 0, 1, {12}) == SPDLD_OK);
  CHECK(ids_of(loader) == Ids{12});
  char* json = nullptr;
  REQUIRE(spdld_state(loader.get(), &json) == SPDLD_OK);
  const std::string state = json;
  spdld_free(json);
  CHECK_THAT(state, Catch::Contains("\"step\":2,"));
  REQUIRE(spdld_seek(loader.get(), 1'000, 1'000'000) == SPDLD_OK);  // no end is known
  REQUIRE(push(loader, 1'000, 1'000'000, {3}) == SPDLD_OK);
  CHECK(ids_of(loader) == Ids{3});
  REQUIRE(spdld_load_state(loader.get(), state.c_str(), 0) == SPDLD_OK);
  CHECK(position_of(loader) == Position{0, 2});
  REQUIRE(push(loader, 0, 2, {4}) == SPDLD_OK);
  CHECK(ids_of(loader) == Ids{4});
}

TEST_CASE("many large steps find their way through a small socket") {
  FakeScript script = pushing();
  script.batch_size = 8'000, script.steps_per_epoch = 1'000, script.slot_bytes = 1 << 17;
  script.push_steps_max = 32, script.push_ids_max = 32 * 8'000;
  const Attached attached(script);
  Ids ids(8'000);
  for (uint64_t step = 0; step < 32; ++step) {
    std::iota(ids.begin(), ids.end(), step);
    REQUIRE(push(attached.loader, 0, step, ids) == SPDLD_OK);
  }
  for (uint64_t step = 0; step < 32; ++step) {
    const Ids seen = ids_of(attached.loader);
    REQUIRE(seen.size() == ids.size());
    for (uint64_t i = 0; i < 16; ++i) REQUIRE(seen[i] == step + i);  // the fake daemon writes its image over the others
  }
}

TEST_CASE("a daemon that refuses what was pushed, or fills other samples, is not waited for") {
  FakeScript script = pushing();
  SECTION("refused") {
    script.push_error = proto::ErrorCode::limit, script.sends_batches = false;
    const Attached attached(script);
    REQUIRE(push(attached.loader, 0, 0, {1}) == SPDLD_OK);
    CHECK(next_result(attached.loader) == SPDLD_LIMIT);
    CHECK_THAT(spdld_last_error(), Catch::Contains("refused what was pushed: push was refused"));
  }
  SECTION("others") {
    script.tamper = [](FakeReady& ready) { ready.valid = 2; };
    const Attached attached(script);
    REQUIRE(push(attached.loader, 0, 0, {1}) == SPDLD_OK);
    CHECK(next_result(attached.loader) == SPDLD_INTERNAL);
    CHECK_THAT(spdld_last_error(), Catch::Contains("broke the protocol"));
  }
}

}  // namespace spdld::pushed_test
