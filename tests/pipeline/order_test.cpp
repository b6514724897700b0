// Which samples a stream hands out, in which order: [order] and batch.last, end to end.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <numeric>
#include <random>

#include "tests/pipeline/rig.h"
#include "tests/support/temp_dir.h"

namespace spdld::order_test {

using namespace spdld;
using test::Given;
using test::Received;
using test::Rig;
using test::tenfold;

namespace {

using Ids = std::vector<int64_t>;

// The ids of whole epochs, batch by batch.
std::vector<Ids> batches_of(const Given& given, uint64_t steps) {
  Rig rig(given);
  rig.fill_all();
  std::vector<Ids> batches;
  for (uint64_t i = 0; i < steps * given.epochs; i++) {
    const Received got = rig.take();
    REQUIRE(got.batch.position == sampler::Position{i / steps, i % steps});
    REQUIRE(got.values == tenfold(got.ids));
    batches.push_back(got.ids);
  }
  return batches;
}

Ids joined(const std::vector<Ids>& batches) {
  Ids ids;
  for (const Ids& batch : batches) ids.insert(ids.end(), batch.begin(), batch.end());
  return ids;
}

Ids sorted(Ids ids) {
  std::sort(ids.begin(), ids.end());
  return ids;
}

Ids counted_up(int64_t size) {
  Ids ids(static_cast<size_t>(size));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

std::string fingerprint_of(const Given& given) { return Rig(given).pipeline->fingerprint(4); }

}  // namespace

TEST_CASE("padded: every sample once, and the padded ones are the epoch's first ones again, at the end") {
  std::mt19937_64 random(4);
  for (int i = 0; i < 20; i++) {
    Given given;
    given.samples = random() % 40 + 1, given.batch_size = random() % 50 + 1, given.epochs = 2;
    given.last = config::LastBatch::kPad;
    given.shuffle = i % 4 != 0;
    const uint64_t steps = (given.samples + given.batch_size - 1) / given.batch_size;
    INFO(given.samples << " samples, batches of " << given.batch_size);
    Rig rig(given);
    rig.fill_all();
    for (uint64_t epoch = 0; epoch < 2; epoch++) {
      Ids ids;
      uint64_t padded = 0;
      for (uint64_t step = 0; step < steps; step++) {
        const Received got = rig.take();
        REQUIRE(got.ids.size() == given.batch_size);
        REQUIRE(got.values == tenfold(got.ids));
        if (step + 1 < steps) REQUIRE(got.batch.slice.padded == 0);
        padded += got.batch.slice.padded;
        ids.insert(ids.end(), got.ids.begin(), got.ids.end());
      }
      REQUIRE(ids.size() - padded == given.samples);
      REQUIRE(sorted({ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(given.samples)}) ==
              counted_up(static_cast<int64_t>(given.samples)));
      for (size_t p = given.samples; p < ids.size(); p++) REQUIRE(ids[p] == ids[p % given.samples]);
    }
  }
}

TEST_CASE("padded: bad content is substituted at the end as it was at the beginning") {
  Given given;
  given.samples = 7, given.batch_size = 10, given.last = config::LastBatch::kPad;
  Rig rig(given);
  for (uint64_t bad = 0; bad < 4; bad++) rig.fetcher.make_bad(bad);
  rig.fill_all();
  const Received got = rig.take();
  CHECK(got.batch.slice.padded == 3);
  for (size_t p = 7; p < 10; p++) CHECK(got.ids[p] == got.ids[p - 7]);
}

TEST_CASE("windows: a stream reads archive by archive, whole epochs, another order in each") {
  Given given;
  given.samples = 60, given.batch_size = 7, given.epochs = 2;
  given.order.shuffle = config::Shuffle::kWindow, given.order.window = 10;
  given.archive_starts = {0, 10, 20, 30, 40, 50};
  const auto batches = batches_of(given, 9);
  const Ids both = joined(batches);
  const Ids first(both.begin(), both.begin() + 60), second(both.begin() + 60, both.end());
  CHECK(sorted(first) == counted_up(60));
  CHECK(sorted(second) == counted_up(60));
  CHECK(first != second);
  for (size_t p = 0; p < 60; p++) CHECK(first[p] / 10 == first[p / 10 * 10] / 10);
  given.threads = 4, given.slots = 5;
  CHECK(joined(batches_of(given, 9)) == both);
}

TEST_CASE("windows: a seek into an epoch gives what would have come there") {
  Given given;
  given.samples = 200, given.batch_size = 9, given.epochs = 3;
  given.order.shuffle = config::Shuffle::kWindow, given.order.window = 50;
  given.archive_starts = {0, 33, 66, 99, 150};
  const auto batches = batches_of(given, 23);
  for (const uint64_t at : {0u, 1u, 22u, 23u, 40u, 68u}) {
    Rig rig(given);
    rig.stream->seek(1, {at / 23, at % 23});
    rig.fill_all();
    CHECK(rig.take().ids == batches[at]);
  }
}

TEST_CASE(
    "repeats: the rows of a sample follow one another, an epoch may be cut, and a seek gives what would have come") {
  Given given;
  given.samples = 20, given.batch_size = 8, given.epochs = 3;
  given.order.repeats = 3;
  const auto batches = batches_of(given, 8);
  const Ids all = joined(batches);
  REQUIRE(all.size() == 180);
  for (size_t p = 0; p < all.size(); p++) CHECK(all[p] == all[p / 3 * 3]);
  Ids of_each;
  for (size_t p = 0; p < 60; p += 3) of_each.push_back(all[p]);
  CHECK(sorted(of_each) == counted_up(20));
  for (const uint64_t at : {0u, 5u, 7u, 8u, 23u}) {
    Rig rig(given);
    rig.stream->seek(1, {at / 8, at % 8});
    rig.fill_all();
    CHECK(rig.take().ids == batches[at]);
  }
  const std::string plain = fingerprint_of(given);
  given.order.repeats = 2;
  CHECK(fingerprint_of(given) != plain);
  given.order.repeats = 3, given.order.epoch_samples = 20, given.epochs = 9;  // the same rows, cut otherwise
  CHECK(joined(batches_of(given, 3)) == all);
}

TEST_CASE("lists of names and ids, and the first ones: ids stay those of the listing") {
  const test::TempDir lists;
  Given given;
  given.samples = 20, given.batch_size = 2, given.shuffle = false;
  given.order.include = lists.write("include", "sample-3\n17\r\n\nsample-4\nsample-19\n5\n");
  CHECK(joined(batches_of(given, 3)) == Ids{3, 4, 5, 17, 19});
  given.order.exclude = lists.write("exclude", "sample-4\n17");
  CHECK(joined(batches_of(given, 2)) == Ids{3, 5, 19});
  given.order.first = 2;
  CHECK(joined(batches_of(given, 1)) == Ids{3, 5});
  given.order.include.clear();
  given.order.first = 5;
  CHECK(joined(batches_of(given, 3)) == Ids{0, 1, 2, 3, 5});
  given.order.exclude.clear();
  given.order.first = 1000;
  given.shuffle = true;
  CHECK(sorted(joined(batches_of(given, 10))) == counted_up(20));
}

TEST_CASE("bad content is substituted from among the samples that were chosen") {
  const test::TempDir lists;
  Given given;
  given.samples = 100, given.batch_size = 4;
  given.order.include = lists.write("include", "10\n20\n30\n40\n");
  Rig rig(given);
  rig.fetcher.make_bad(20);
  rig.fill_all();
  const Received got = rig.take();
  CHECK(got.batch.substituted.size() == 1);
  for (const int64_t id : got.ids) CHECK((id == 10 || id == 30 || id == 40));
}

TEST_CASE("an unknown name is refused with its line, and how many there are") {
  const test::TempDir lists;
  Given given;
  given.order.include = lists.write("include", "sample-3\n20\nsample-03\n999999999999999999999999\n");
  CHECK_THROWS_WITH(Rig(given), Catch::Contains("order.include: ") &&
                                    Catch::Contains("line 2: no sample has the name or id that stands there, "
                                                    "and the same holds for 2") &&
                                    Catch::Contains("\"sample-0\", or its id, at most 19"));
  given.order.include = lists.write("include", "sample-3\nx\u001b[0m\n");
  CHECK_THROWS_WITH(Rig(given), Catch::Contains("line 2: no sample has the name or id that stands there; a line"));
  given.order.include = lists.write("include", "\n\n");
  CHECK_THROWS_WITH(Rig(given), Catch::Contains("order.include: ") && Catch::Contains("is empty"));
  given.order.include = lists.write("include", "3\n");
  given.order.exclude = lists.write("exclude", "sample-3\n");
  CHECK_THROWS_WITH(Rig(given), Catch::Contains("leaves none of the samples that order.include names"));
  given.order.exclude = lists.write("exclude", "");
  CHECK_NOTHROW(Rig(given));
  given.order.exclude += ".gone";
  CHECK_THROWS_WITH(Rig(given), Catch::Contains("order.exclude: ") && Catch::Contains("No such file"));
  given.order.exclude = lists.path().string();
  CHECK_THROWS_WITH(Rig(given), Catch::Contains("is not a file"));
}

TEST_CASE("the fingerprint tells which samples are taken, and differs() says so") {
  const test::TempDir lists;
  Given given;
  const std::string all = fingerprint_of(given);
  const auto differs = [&](const std::string& other) {
    return pipeline::Pipeline::differs(fingerprint_of(given), other);
  };
  given.order.include = lists.write("list", "1\n2\n");
  const std::string some = fingerprint_of(given);
  CHECK(differs(all) == "the data set's listing differs");
  given.order.include = lists.write("other list", "sample-2\nsample-1\n");  // the same samples
  CHECK(fingerprint_of(given) == some);
  given.order.include.clear();
  given.order.exclude = lists.write("list", "0\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n");
  CHECK(fingerprint_of(given) == some);
  given.order.exclude = lists.write("list", "1\n");
  CHECK(differs(some) == "the data set's listing differs");
  given.order.exclude.clear();
  given.order.first = 20;  // that is all of them
  CHECK(fingerprint_of(given) == all);
  given.order.shuffle = config::Shuffle::kWindow, given.order.window = 10;
  CHECK(differs(all) == "the pipeline's spec differs");
  CHECK(differs(some) == "the data set's listing and the pipeline's spec differ");
}

TEST_CASE("the fingerprint knows neither how long a run is nor how its batches are cut into ranks") {
  Given given;
  const std::string one = fingerprint_of(given);
  given.epochs = 90;
  CHECK(fingerprint_of(given) == one);
  given.batch_size = 2;  // of two ranks
  CHECK(fingerprint_of(given) == one);
  given.last = config::LastBatch::kDrop;
  CHECK(pipeline::Pipeline::differs(fingerprint_of(given), one) == "the pipeline's spec differs");
  CHECK(pipeline::Pipeline::differs(one, "1-2") == "its form differs");
}

TEST_CASE("the fingerprint tells the versions of the code, and differs() says so") {
  pipeline::FingerprintParts parts{"decode-image 1, libjpeg-turbo 2.1.5", std::string(32, 'a'), "{}", 8, {}};
  const std::string before = pipeline::fingerprint_of(parts);
  CHECK(pipeline::fingerprint_of(parts) == before);
  for (const char* upgraded : {"decode-image 2, libjpeg-turbo 2.1.5", "decode-image 1, libjpeg-turbo 3.0.1"}) {
    parts.code = upgraded;
    CHECK(pipeline::fingerprint_of(parts) != before);
    CHECK(pipeline::Pipeline::differs(pipeline::fingerprint_of(parts), before) ==
          "the code that makes the samples differs");
  }
  Given given;
  const Rig rig(given);
  CHECK(rig.pipeline->fingerprint(8) == pipeline::fingerprint_of({rig.pipeline->plan().code(),
                                                                  rig.pipeline->listing().fingerprint(),
                                                                  config::canonical_json(rig.pipeline->spec()),
                                                                  8,
                                                                  {}}));
}

TEST_CASE("a list that is written anew is read anew") {
  const test::TempDir lists;
  Given given;
  given.order.include = lists.write("list", "1\n2\n");
  const Rig rig(given);
  CHECK(rig.pipeline->unchanged());
  lists.write("list", "1\n2\n3\n");
  CHECK_FALSE(rig.pipeline->unchanged());
}

}  // namespace spdld::order_test
