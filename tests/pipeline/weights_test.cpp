// [order] weights, from the file to the batches.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <numeric>
#include <set>

#include "tests/pipeline/rig.h"
#include "tests/sampler/judge.h"
#include "tests/support/temp_dir.h"

namespace spdld::weights_test {

using namespace spdld;
using namespace spdld::test;
using Catch::Contains;

namespace {

using Ids = std::vector<int64_t>;

std::string fingerprint_of(const Given& given) { return Rig(given).pipeline->fingerprint(4); }

// The ids of whole epochs, one behind the other.
Ids ids_of(const Given& given) {
  Rig rig(given);
  rig.fill_all();
  Ids ids;
  while (ids.size() < given.epochs * rig.pipeline->samples()) {
    const Received got = rig.take();
    REQUIRE(got.values == tenfold(got.ids));
    ids.insert(ids.end(), got.ids.begin(), got.ids.end());
  }
  return ids;
}

std::map<int64_t, int> counts_of(const Ids& ids) {
  std::map<int64_t, int> counts;
  for (const int64_t id : ids) ++counts[id];
  return counts;
}

}  // namespace

TEST_CASE("a stream hands out samples as often as the file says, and none of weight 0") {
  const TempDir files;
  Given given;
  given.samples = 5, given.batch_size = 100;
  given.order.weights = files.write("weights", "sample-0\t1\nsample-1\t0\n2\t3\nsample-3\t4\n4\t0\n");
  given.order.epoch_samples = 8000;
  const auto counts = counts_of(ids_of(given));
  REQUIRE(counts.size() == 3);
  CHECK(chi_square({counts.at(0) * 8, counts.at(2) * 8 / 3, counts.at(3) * 2}, 8000) < 8 * chi_square_limit(2));
  given.order.epoch_samples = 0;  // as many as have a weight
  CHECK(ids_of(given).size() == 3);
}

TEST_CASE("classes come equally often, whatever their size, also of a part of the samples") {
  const TempDir files;
  Given given;  // sample i is of class i % 7
  given.samples = 100, given.batch_size = 100;
  given.order.weights = config::kWeightsByClass, given.order.epoch_samples = 21'000;
  given.order.exclude =
      files.write("exclude", "7\n14\n21\n28\n35\n42\n49\n56\n63\n70\n77\n84\n91\n98\n");  // but for one of 0
  std::vector<int> classes(7);
  for (const int64_t id : ids_of(given)) ++classes[static_cast<size_t>(id % 7)];
  CHECK(chi_square(classes, 3000) < chi_square_limit(6));
  CHECK(*std::min_element(classes.begin(), classes.end()) > 2500);
}

TEST_CASE("weights are taken over the samples that the lists leave") {
  const TempDir files;
  Given given;
  given.samples = 20, given.batch_size = 50;
  given.order.include = files.write("include", "3\n5\n8\n");
  given.order.weights = files.write("weights", "3,1\n5,1\n8,0\n19,1000\n");
  given.order.epoch_samples = 500;
  const auto counts = counts_of(ids_of(given));
  CHECK(counts.size() == 2);
  CHECK(counts.contains(3));
  CHECK(counts.contains(5));
  given.order.weights_default = 1000;
  given.order.weights = files.write("weights", "3,1\n5,1\n");
  CHECK(counts_of(ids_of(given))[8] > 480);
}

TEST_CASE("without replacement every epoch has each sample once, in another order, from any place on") {
  const TempDir files;
  std::string text;
  for (int i = 0; i < 60; i++) text += std::to_string(i) + "\t" + std::to_string(i % 6) + "\n";
  Given given;
  given.samples = 60, given.batch_size = 7, given.epochs = 5;
  given.order.weights = files.write("weights", text), given.order.replacement = false;
  const Ids all = ids_of(given);
  REQUIRE(all.size() == 5 * 50);
  std::set<Ids> orders;
  for (size_t epoch = 0; epoch < 5; epoch++) {
    const Ids one(all.begin() + static_cast<ptrdiff_t>(epoch * 50),
                  all.begin() + static_cast<ptrdiff_t>(epoch * 50 + 50));
    orders.insert(one);
    const auto counts = counts_of(one);
    CHECK(counts.size() == 50);
    for (const auto& [id, count] : counts) CHECK(id % 6 != 0);
  }
  CHECK(orders.size() == 5);
  given.threads = 4, given.slots = 5;
  CHECK(ids_of(given) == all);
  for (const uint64_t at : {0u, 1u, 7u, 8u, 23u, 39u}) {  // an epoch has 8 steps
    Rig rig(given);
    rig.stream->seek(1, {at / 8, at % 8});
    rig.fill_all();
    for (uint64_t step = at; step < std::min(at + 3, uint64_t{40}); step++) {
      const Ids got = rig.take().ids;
      CHECK(std::equal(got.begin(), got.end(), all.begin() + static_cast<ptrdiff_t>(step / 8 * 50 + step % 8 * 7)));
    }
  }
}

TEST_CASE("with replacement a stream goes on from any place as well") {
  const TempDir files;
  Given given;
  given.samples = 10, given.batch_size = 6, given.epochs = 4;
  given.order.weights = files.write("weights", "0,1\n1,2\n"), given.order.weights_default = 0.1;
  given.order.epoch_samples = 60;
  const Ids all = ids_of(given);
  CHECK(ids_of(given) == all);
  for (const uint64_t at : {3u, 10u, 39u}) {
    Rig rig(given);
    rig.stream->seek(1, {at / 10, at % 10});
    rig.fill_all();
    const Ids got = rig.take().ids;
    CHECK(std::equal(got.begin(), got.end(), all.begin() + static_cast<ptrdiff_t>(at * 6)));
  }
}

TEST_CASE("a stream that is stopped or sought while its order is being made") {
  Given given;
  given.samples = 200'000, given.batch_size = 4, given.epochs = 0;
  given.order.weights = config::kWeightsByClass, given.order.replacement = false;
  Ids first;
  {
    Rig rig(given);
    rig.fill_all();
    first = rig.take().ids;
  }
  Rig rig(given);
  rig.stream->seek(1, {7, 0});
  rig.stream->fill(rig.slots[0]);
  rig.stream->seek(2, {0, 0});
  rig.wait([&] { return rig.abandoned == 1; });
  rig.stream->fill(rig.slots[0]);
  const Received got = rig.take();
  CHECK(got.batch.run == 2);
  CHECK(got.ids == first);
  Rig stopped(given);
  stopped.fill_all();  // and its end
}

TEST_CASE("bad content is substituted by a sample that has a weight") {
  const TempDir files;
  for (const bool replacement : {true, false}) {
    Given given;
    given.samples = 20, given.batch_size = 3;
    given.order.weights = files.write("weights", "1,1\n2,100\n3,1\n"), given.order.weights_default = 0;
    given.order.replacement = replacement;
    Rig rig(given);
    rig.fetcher.make_bad(2);
    rig.fill_all();
    const Received got = rig.take();
    CHECK(got.batch.substituted.size() >= 1);
    for (const int64_t id : got.ids) CHECK((id == 1 || id == 3));
  }
}

TEST_CASE("missing weights are counted, and other trouble has its sentence") {
  const TempDir files;
  Given given;
  given.samples = 5;
  given.order.weights = files.write("weights", "0,1\nsample-3,1\n");
  CHECK_THROWS_WITH(Rig(given), Contains("order.weights: ") &&
                                    Contains("has no weight for 3 samples of 5, the first of them sample-1: add them, "
                                             "or give order.weights_default."));
  given.order.weights_default = 0.5;
  CHECK_NOTHROW(Rig(given));
  given.order.replacement = false, given.order.epoch_samples = 6;
  CHECK_THROWS_WITH(Rig(given), Contains("order.epoch_samples is 6, and 5 samples have a weight above 0"));
  given.order.weights_default = 0, given.order.epoch_samples = 3;
  CHECK_THROWS_WITH(Rig(given), Contains("2 samples have a weight above 0: without replacement"));
  given.order.epoch_samples = 2;
  CHECK(ids_of(given).size() == 2);
  given.order.weights = files.write("weights", "0,0\n");
  CHECK_THROWS_WITH(Rig(given), Contains("gives no sample a weight above 0."));
  given.order.first = 2;
  CHECK_THROWS_WITH(Rig(given), Contains("gives no selected sample a weight above 0."));
  given.order.weights = files.write("weights", "0,1\n1,-1\n");
  CHECK_THROWS_WITH(Rig(given), Contains("line 2: a weight must be 0 or"));
}

TEST_CASE("weights are in the fingerprint by what they say, and the file is watched") {
  const TempDir files;
  Given given;
  given.samples = 4;
  const std::string none = fingerprint_of(given);
  CHECK(std::count(none.begin(), none.end(), '-') == 3);
  given.order.weights = files.write("weights", "0,1\n1,2\n2,3\n3,4\n");
  const std::string some = fingerprint_of(given);
  const auto differs = [&](const std::string& other) {
    return pipeline::Pipeline::differs(fingerprint_of(given), other);
  };
  CHECK(differs(none) == "the pipeline's spec and the weighting of the samples differ");
  given.order.weights = files.write("others", "sample-3\t4.0\n2\t3\n1\t2\n");
  given.order.weights_default = 1;
  CHECK(fingerprint_of(given) == some);
  const Rig rig(given);
  CHECK(rig.pipeline->unchanged());
  files.write("others", "3,4\n2,3\n1,2.5\n");
  CHECK_FALSE(rig.pipeline->unchanged());
  CHECK(differs(some) == "the weighting of the samples differs");
  files.write("others", "3,4\n2,3\n1,0\n");
  CHECK(differs(some) == "the data set's listing and the weighting of the samples differ");
  given.order.replacement = false;
  CHECK(differs(some) == "the data set's listing, the pipeline's spec and the weighting of the samples differ");
}

TEST_CASE("how long an epoch of weighted draws is belongs to the spec, not to the listing") {
  const TempDir files;
  Given given;
  given.samples = 6;
  given.order.first = 4;
  given.order.weights = files.write("weights", "0,1\n1,2\n2,3\n3,4\n");
  given.order.epoch_samples = 4;
  const std::string four = fingerprint_of(given);
  given.order.epoch_samples = 9;
  CHECK(pipeline::Pipeline::differs(fingerprint_of(given), four) == "the pipeline's spec differs");
}

}  // namespace spdld::weights_test
