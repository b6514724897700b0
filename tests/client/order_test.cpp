#include <poll.h>
#include <cstddef>
#include <spdld.hpp>

#include "tests/client/session.h"

namespace spdld::order_test {

using namespace spdld;
using namespace spdld::test;

TEST_CASE("batches come in order, each epoch with its end, then the end") {
  Attached attached;
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    for (int64_t step = 0; step < 5; ++step) {
      const test::Batch batch = next(attached.loader);
      const spdld_batch_info info = info_of(batch);
      CHECK(static_cast<int64_t>(info.epoch) == epoch);
      CHECK(static_cast<int64_t>(info.step) == step);
      CHECK(info.valid == 4);
      CHECK(info.first == static_cast<uint64_t>(step) * 4);
      CHECK(info.tensors == 2);
      CHECK(info.substituted == 1);
      CHECK(number_of(batch) == epoch * 5 + step);
    }
    CHECK(next_result(attached.loader) == SPDLD_END_OF_EPOCH);
  }
  CHECK(next_result(attached.loader) == SPDLD_END);
  CHECK(next_result(attached.loader, 0) == SPDLD_END);
}

TEST_CASE("a batch of a mix tells how many of its samples are of each source") {
  FakeScript script;
  script.sources = {"web", "books", "rare"};
  script.tamper = [](FakeReady& ready) {
    ready.source_counts = {1, 3, 0};
    if (ready.step == 2) ready.source_counts = {2, 1, 1};
  };
  Attached attached(script);
  spdld_info loader = {};
  loader.struct_size = sizeof loader;
  REQUIRE(spdld_get_info(attached.loader.get(), &loader) == SPDLD_OK);
  REQUIRE(loader.sources == 3);
  CHECK(loader.source_names[2] == std::string("rare"));
  for (uint64_t step = 0; step < 5; ++step) {
    const test::Batch batch = next(attached.loader);
    const spdld_batch_info info = info_of(batch);
    REQUIRE(info.sources == 3);
    CHECK(info.source_names[0] == std::string("web"));
    CHECK(info.source_counts[0] == (step == 2 ? 2u : 1u));
    CHECK(info.source_counts[1] == (step == 2 ? 1u : 3u));
    // A program that was built before there were sources knows a shorter structure.
    spdld_batch_info shorter = {};
    shorter.struct_size = offsetof(spdld_batch_info, sources);
    REQUIRE(spdld_batch_get_info(batch.get(), &shorter) == SPDLD_OK);
    CHECK(shorter.valid == 4);
    CHECK(shorter.source_counts == nullptr);
  }
}

TEST_CASE("counts that are no sum of the batch's samples, or of other sources, are refused") {
  struct Case {
    std::vector<std::string> sources;
    std::vector<uint32_t> counts;
    bool fits;
  };
  const std::vector<Case> cases = {{{"a", "b"}, {1, 3}, true},
                                   {{"a", "b"}, {1, 2}, false},
                                   {{"a", "b"}, {1, ~0u}, false},
                                   {{"a", "b"}, {4}, false},
                                   {{"a", "b"}, {}, false},
                                   {{"a", "b"}, {4, 0, 0}, false},
                                   {{}, {4}, false},
                                   {{}, {}, true}};
  for (const Case& one : cases) {
    FakeScript script;
    script.sources = one.sources;
    script.tamper = [&](FakeReady& ready) { ready.source_counts = one.counts; };
    Attached attached(script);
    INFO(one.sources.size() << " sources, " << one.counts.size() << " counts");
    CHECK(next_result(attached.loader, 2000) == (one.fits ? SPDLD_OK : SPDLD_INTERNAL));
  }
}

TEST_CASE("a batch tells how many of its samples are there to fill it") {
  FakeScript script;
  script.tamper = [](FakeReady& ready) { ready.padded = static_cast<uint32_t>(ready.step == 4 ? 3 : 0); };
  Attached attached(script);
  for (uint64_t step = 0; step < 5; ++step) {
    const test::Batch batch = next(attached.loader);
    const spdld_batch_info info = info_of(batch);
    CHECK(info.padded == (step == 4 ? 3u : 0u));
  }
}

TEST_CASE("tell is the position of the next batch") {
  Attached attached;
  uint64_t epoch = 9, step = 9;
  for (uint64_t i = 0; i < 5; ++i) {
    REQUIRE(spdld_tell(attached.loader.get(), &epoch, &step) == SPDLD_OK);
    CHECK(epoch == 0);
    CHECK(step == i);
    next(attached.loader);
  }
  REQUIRE(spdld_tell(attached.loader.get(), &epoch, &step) == SPDLD_OK);
  CHECK(epoch == 1);
  CHECK(step == 0);
}

TEST_CASE("a loader begins where it is told") {
  Folder folder;
  const FakeDaemon daemon(folder.socket(), {});
  const std::string socket = folder.socket();
  spdld_attach_options options = options_for(socket);
  options.epoch = 1;
  options.step = 2;
  const test::Loader loader = attach(options);
  CHECK(numbers_to_the_end(loader) == count_from(7, 10));
}

TEST_CASE("a short batch is short in every tensor") {
  FakeScript script;
  script.valid_in_last_step = 2;
  Attached attached(script);
  REQUIRE(spdld_seek(attached.loader.get(), 0, 4) == SPDLD_OK);
  const test::Batch batch = next(attached.loader);
  spdld_tensor tensor = test::no_tensor();
  REQUIRE(spdld_batch_tensor(batch.get(), 1, &tensor) == SPDLD_OK);
  CHECK(std::string(tensor.name) == "image");
  CHECK(tensor.dtype == SPDLD_UINT8);
  CHECK(tensor.rank == 2);
  CHECK(tensor.shape[0] == 2);
  CHECK(tensor.shape[1] == 3);
  CHECK(tensor.strides[0] == 3);
  CHECK(tensor.strides[1] == 1);
  CHECK(spdld_batch_tensor(batch.get(), 2, &tensor) == SPDLD_INVALID);
  CHECK(spdld_batch_find(batch.get(), "depth", &tensor) == SPDLD_NOT_FOUND);
  CHECK(std::string(spdld_last_error()).find("sample_id, image") != std::string::npos);
}

TEST_CASE("seek goes on from any position, again and again, and gives the void batches back") {
  FakeScript script;
  script.steps_per_epoch = 50;
  script.epochs = 4;
  Attached attached(script);
  for (uint64_t i = 0; i < 100; ++i) {
    const uint64_t epoch = (i * 7) % 4, step = (i * 13) % 50;
    REQUIRE(spdld_seek(attached.loader.get(), epoch, step) == SPDLD_OK);
    for (uint64_t k = 0; k < i % 3 && step + k < 50; ++k) {
      CHECK(number_of(next(attached.loader)) == static_cast<int64_t>(epoch * 50 + step + k));
    }
  }
  REQUIRE(spdld_seek(attached.loader.get(), 3, 45) == SPDLD_OK);
  CHECK(numbers_to_the_end(attached.loader) == count_from(195, 200));
  CHECK(attached.daemon.counts().seeks > 90);
  CHECK(attached.daemon.wait_until([](const FakeCounts& counts) { return counts.releases == counts.batches; }));
  CHECK(attached.daemon.counts().wrong_releases == 0);
}

TEST_CASE("a seek to where the loader is costs nothing") {
  Attached attached;
  for (int i = 0; i < 5; ++i) next(attached.loader);
  REQUIRE(spdld_seek(attached.loader.get(), 1, 0) == SPDLD_OK);
  CHECK(number_of(next(attached.loader)) == 5);  // without the end of epoch 0
  CHECK(attached.daemon.counts().seeks == 0);
}

TEST_CASE("a replica tells of each seek, also where it stands, and that it wants a batch from there") {
  Folder folder;
  const FakeDaemon daemon(folder.socket(), {});
  const std::string socket = folder.socket();
  spdld_attach_options options = options_for(socket);
  options.readers = 2;
  const test::Loader loader = attach(options);
  REQUIRE(spdld_seek(loader.get(), 1, 1) == SPDLD_OK);
  REQUIRE(spdld_seek(loader.get(), 0, 1) == SPDLD_OK);
  CHECK(number_of(next(loader)) == 1);
  CHECK(daemon.wait_until([](const FakeCounts& counts) { return counts.seeks == 2 && counts.waits == 1; }));
  CHECK(daemon.counts().stays == 0);
  REQUIRE(spdld_seek(loader.get(), 0, 2) == SPDLD_OK);
  CHECK(number_of(next(loader)) == 2);
  CHECK(number_of(next(loader)) == 3);
  REQUIRE(spdld_seek(loader.get(), 0, 4) == SPDLD_OK);  // and then elsewhere after all
  REQUIRE(spdld_seek(loader.get(), 1, 0) == SPDLD_OK);
  CHECK(number_of(next(loader)) == 5);
  CHECK(number_of(next(loader)) == 6);
  CHECK(daemon.wait_until([](const FakeCounts& counts) { return counts.seeks == 5 && counts.waits == 3; }));
  CHECK(daemon.counts().stays == 2);
  CHECK(daemon.counts().wrong_releases == 0);  // the daemon took back what it had sent beyond the place of that one
}

TEST_CASE("seek knows the borders") {
  Attached attached;
  CHECK(spdld_seek(attached.loader.get(), 0, 6) == SPDLD_INVALID);
  CHECK(spdld_seek(attached.loader.get(), 3, 0) == SPDLD_INVALID);
  CHECK(spdld_seek(attached.loader.get(), 2, 1) == SPDLD_INVALID);
  REQUIRE(spdld_seek(attached.loader.get(), 2, 0) == SPDLD_OK);
  CHECK(next_result(attached.loader) == SPDLD_END);
  REQUIRE(spdld_seek(attached.loader.get(), 0, 5) == SPDLD_OK);
  CHECK(numbers_to_the_end(attached.loader) == count_from(5, 10));
  REQUIRE(spdld_seek(attached.loader.get(), 1, 4) == SPDLD_OK);
  CHECK(numbers_to_the_end(attached.loader) == count_from(9, 10));
}

TEST_CASE("next ends in its time") {
  FakeScript script;
  script.sends_batches = false;
  Attached attached(script);
  CHECK(next_result(attached.loader, 0) == SPDLD_TIMEOUT);
  const Stopwatch stopwatch;
  CHECK(next_result(attached.loader, 120) == SPDLD_TIMEOUT);
  CHECK(stopwatch.ms() >= 120);
  CHECK(stopwatch.ms() < 3000);
}

TEST_CASE("the poll descriptor says when a batch is there") {
  Attached attached;
  pollfd entry = {spdld_poll_fd(attached.loader.get()), POLLIN, 0};
  REQUIRE(::poll(&entry, 1, 5000) == 1);
  CHECK(next_result(attached.loader, 0) == SPDLD_OK);
}

TEST_CASE("copy-on-write slots show the new batch after the old one was written over") {
  FakeScript script;
  script.access = proto::Access::copy_on_write;
  script.slot_count = 1;
  Attached attached(script);
  const spdld_info info = info_of(attached.loader);
  CHECK(info.writable == 0);
  for (int64_t i = 0; i < 5; ++i) {
    const test::Batch batch = next(attached.loader);
    CHECK(number_of(batch) == i);
    spdld_tensor tensor = test::no_tensor();
    REQUIRE(spdld_batch_find(batch.get(), "image", &tensor) == SPDLD_OK);
    std::memset(tensor.address, 0xff, 12);
  }
}

TEST_CASE("the C++ interface says the same") {
  Folder folder;
  const FakeDaemon daemon(folder.socket(), {});
  const std::string socket = folder.socket();
  spdld::Loader loader(options_for(socket));
  CHECK(loader.info().steps_per_epoch == 5);
  loader.seek(0, 4);
  auto [result, batch] = loader.next();
  REQUIRE(result == SPDLD_OK);
  const spdld::Batch copy = batch;
  batch.release();
  CHECK(copy.info().step == 4);
  CHECK(static_cast<const int64_t*>(copy["sample_id"].address)[0] == 16);
  CHECK(loader.next().result == SPDLD_END_OF_EPOCH);
  CHECK(loader.tell() == std::pair<uint64_t, uint64_t>(1, 0));
  CHECK_THROWS_AS(loader.seek(7), spdld::Exception);
  CHECK_THROWS_AS(copy["depth"], spdld::Exception);
  CHECK(spdld::query("ping", nullptr, socket.c_str()) == "{\"pid\":1}");
}

}  // namespace spdld::order_test
