// What a loader knows of its data: spdld_get_stats and its two lists, and the same in C++.
#include <chrono>
#include <spdld.hpp>
#include <thread>

#include "tests/client/session.h"

using namespace spdld;
using namespace spdld::test;

namespace {

spdld_stats stats_of(const test::Loader& loader) {
  spdld_stats stats = {};
  stats.struct_size = sizeof stats;
  REQUIRE(spdld_get_stats(loader.get(), &stats) == SPDLD_OK);
  return stats;
}

spdld_bad_reason reason_of(const test::Loader& loader, uint32_t index) {
  spdld_bad_reason reason = {};
  reason.struct_size = sizeof reason;
  REQUIRE(spdld_get_bad_reason(loader.get(), index, &reason) == SPDLD_OK);
  return reason;
}

}  // namespace

TEST_CASE("bad samples of the batches that next has handed out are counted, each reason once") {
  FakeScript script;
  script.tamper = [](FakeReady& ready) {
    ready.substituted = 3;
    ready.masked = 1;
    ready.unsupported = 1;
    ready.bad = {{proto::BadKind::damaged, "cut off", 2, 40 + ready.step, "a.jpg"},
                 {proto::BadKind::unsupported, "a GIF picture", 1, 9, "b.jpg"}};
    if (ready.step == 2) ready.bad.push_back({proto::BadKind::damaged, "empty", 1, 5, "\xff.jpg"});
  };
  const Attached attached(script);
  CHECK(stats_of(attached.loader).batches == 0);
  for (int i = 0; i < 3; ++i) next(attached.loader);
  const spdld_stats stats = stats_of(attached.loader);
  CHECK(stats.batches == 3);
  CHECK(stats.samples == 12);
  CHECK(stats.substituted == 9);
  CHECK(stats.masked == 3);
  CHECK(stats.unsupported == 3);
  CHECK(stats.missing_count == 0);
  REQUIRE(stats.bad_reasons == 3);
  const spdld_bad_reason first = reason_of(attached.loader, 0), second = reason_of(attached.loader, 1);
  CHECK(std::string(first.reason) == "cut off");
  CHECK(first.unsupported == 0);
  CHECK(first.count == 6);
  CHECK(first.sample == 40);
  CHECK(std::string(first.name) == "a.jpg");
  CHECK(std::string(second.reason) == "a GIF picture");
  CHECK(second.unsupported == 1);
  CHECK(std::string(reason_of(attached.loader, 2).name) == "\xff.jpg");
  spdld_bad_reason none = {};
  none.struct_size = sizeof none;
  CHECK(spdld_get_bad_reason(attached.loader.get(), 3, &none) == SPDLD_INVALID);
  CHECK(spdld_get_bad_reason(nullptr, 0, &none) == SPDLD_INVALID);
}

TEST_CASE("dropped samples are counted apart, and batches tell how many they lack") {
  FakeScript script;
  script.tamper = [](FakeReady& ready) {
    ready.substituted = 1, ready.absent = 2, ready.dropped = 2, ready.too_long = 1;
    ready.valid -= 2;
    ready.bad = {{proto::BadKind::dropped, "own:keep dropped it", 2, 7, "a.jpg"},
                 {proto::BadKind::too_long, "a length of 9", 1, 8, "b.jpg"}};
  };
  const Attached attached(script);
  spdld_batch* batch = nullptr;
  REQUIRE(spdld_next(attached.loader.get(), 5000, &batch) == SPDLD_OK);
  spdld_batch_info info = {};
  info.struct_size = sizeof info;
  REQUIRE(spdld_batch_get_info(batch, &info) == SPDLD_OK);
  CHECK(info.valid == 2);
  CHECK(info.absent == 2);
  CHECK(info.dropped == 2);
  spdld_batch_release(batch);
  const spdld_stats stats = stats_of(attached.loader);
  CHECK(stats.samples == 2);
  CHECK(stats.substituted == 1);
  CHECK(stats.absent == 2);
  CHECK(stats.dropped == 2);
  CHECK(stats.too_long == 1);
  CHECK(stats.unsupported == 0);
  REQUIRE(stats.bad_reasons == 2);
  const spdld_bad_reason first = reason_of(attached.loader, 0), second = reason_of(attached.loader, 1);
  CHECK((first.dropped == 1 && first.too_long == 0 && first.unsupported == 0));
  CHECK((second.dropped == 0 && second.too_long == 1 && second.unsupported == 0));
  const spdld::Stats told = spdld::stats_of(attached.loader.get());
  CHECK(told.counts.absent == 2);
  CHECK((told.reasons.at(0).dropped && !told.reasons.at(1).dropped));
}

TEST_CASE("batches that are passed over by a seek are none of the counts") {
  FakeScript script;
  script.tamper = [](FakeReady& ready) { ready.bad = {{.reason = "epoch " + std::to_string(ready.epoch)}}; };
  Attached attached(script);
  next(attached.loader);
  REQUIRE(spdld_seek(attached.loader.get(), 1, 0) == SPDLD_OK);
  next(attached.loader);
  CHECK(stats_of(attached.loader).substituted == 2);
  REQUIRE(stats_of(attached.loader).bad_reasons == 2);
  CHECK(std::string(reason_of(attached.loader, 0).reason) == "epoch 0");
  CHECK(std::string(reason_of(attached.loader, 1).reason) == "epoch 1");
}

TEST_CASE("of very many reasons 64 are kept, and texts are cut") {
  FakeScript script;
  script.steps_per_epoch = 100;
  script.tamper = [](FakeReady& ready) {
    ready.bad = {{.reason = std::to_string(ready.step) + std::string(5000, 'r'), .name = std::string(5000, 'n')}};
  };
  const Attached attached(script);
  for (int i = 0; i < 100; ++i) next(attached.loader);
  CHECK(stats_of(attached.loader).substituted == 100);
  REQUIRE(stats_of(attached.loader).bad_reasons == 64);
  CHECK(std::string(reason_of(attached.loader, 63).reason).size() == 512);
  CHECK(std::string(reason_of(attached.loader, 63).name).size() == 512);
}

TEST_CASE("what the data set misses is told from the start") {
  FakeScript script;
  script.missing = {"the folder a can't be read", "b.tar: it is cut"};
  script.missing_count = 7;
  const Attached attached(script);
  const spdld_stats stats = stats_of(attached.loader);
  CHECK(stats.missing_count == 7);
  REQUIRE(stats.missing == 2);
  const char* what = nullptr;
  REQUIRE(spdld_get_missing(attached.loader.get(), 1, &what) == SPDLD_OK);
  CHECK(std::string(what) == "b.tar: it is cut");
  CHECK(spdld_get_missing(attached.loader.get(), 2, &what) == SPDLD_INVALID);
  CHECK(what == nullptr);
}

TEST_CASE("a daemon that tells too much of what is missing is cut short") {
  FakeScript script;
  script.missing.assign(100, std::string(600, 'm'));
  script.missing_count = 3;  // fewer than it tells
  const Attached attached(script);
  CHECK(stats_of(attached.loader).missing == 16);
  CHECK(stats_of(attached.loader).missing_count == 16);
}

TEST_CASE("the daemon is told how long next has waited for batches, without the waiting for the attachment") {
  FakeScript script;
  script.before_attached = [] { std::this_thread::sleep_for(std::chrono::milliseconds(200)); };
  script.write = [](unsigned char*, uint64_t) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
  Attached attached(script);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 5; ++i) next(attached.loader).reset();
  const auto in_next_us = (std::chrono::steady_clock::now() - start) / std::chrono::microseconds(1);
  REQUIRE(attached.daemon.wait_until([](const FakeCounts& counts) { return counts.releases == 5; }));
  const uint64_t told_us = attached.daemon.counts().last_waited_us;
  CHECK(told_us > 0);
  CHECK(told_us <= static_cast<uint64_t>(in_next_us));
}

TEST_CASE("C++ has the same as values") {
  FakeScript script;
  script.missing = {"one"};
  script.missing_count = 1;
  script.tamper = [](FakeReady& ready) {
    ready.unsupported = 1;
    ready.bad = {{proto::BadKind::unsupported, "a GIF picture", 1, 3, "c.jpg"}};
  };
  Folder folder;
  const FakeDaemon daemon(folder.socket(), script);
  const std::string socket = folder.socket();
  spdld::Loader loader(options_for(socket));
  REQUIRE(loader.next(5000).result == SPDLD_OK);
  const Stats stats = loader.stats();
  CHECK(stats.counts.samples == 4);
  REQUIRE(stats.reasons.size() == 1);
  CHECK(stats.reasons[0].reason == "a GIF picture");
  CHECK(stats.reasons[0].unsupported);
  CHECK(stats.missing == std::vector<std::string>{"one"});
}
