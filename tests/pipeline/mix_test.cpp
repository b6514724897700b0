// Several sources, end to end through a stream: what is handed out, and what batches say of it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <numeric>

#include "tests/pipeline/rig.h"
#include "tests/support/temp_dir.h"

namespace spdld::mix_test {

using namespace spdld;
using test::Given;
using test::Received;
using test::Rig;
using test::tenfold;

namespace {

using Ids = std::vector<int64_t>;

// Whole epochs: the ids of each batch. What a batch says of its sources is held against its ids.
std::vector<Ids> batches_of(Rig& rig, const Given& given, uint64_t steps) {
  rig.fill_all();
  std::vector<Ids> batches;
  for (uint64_t i = 0; i < steps; i++) {
    const Received got = rig.take();
    REQUIRE(got.values == tenfold(got.ids));
    std::vector<uint32_t> really(given.mixed.size());
    for (const int64_t id : got.ids) {
      size_t source = 0;
      for (uint64_t end = given.mixed[0]; static_cast<uint64_t>(id) >= end; end += given.mixed[++source]) continue;
      really[source]++;
    }
    REQUIRE(got.batch.of_source == really);
    REQUIRE(std::accumulate(really.begin(), really.end(), uint64_t{0}) == got.batch.slice.count);
    batches.push_back(got.ids);
  }
  return batches;
}

Given mixed(std::vector<uint64_t> sizes, std::vector<double> weights = {}) {
  Given given;
  given.mixed = std::move(sizes), given.weights = std::move(weights);
  return given;
}

Ids joined(const std::vector<Ids>& batches) {
  Ids ids;
  for (const Ids& batch : batches) ids.insert(ids.end(), batch.begin(), batch.end());
  return ids;
}

std::string fingerprint_of(const Given& given) { return Rig(given).pipeline->fingerprint(4); }

std::string refusal_of(const config::PipelineSpec& spec, const source::Listing& listing) {
  try {
    pipeline::choose(spec, listing, {});
  } catch (const SetupError& e) {
    return e.error().message;
  }
  return "it was not refused";
}

}  // namespace

TEST_CASE("sources without weights: every sample of all of them once an epoch") {
  Given given = mixed({11, 20, 6});
  given.epochs = 3;
  Rig rig(given);
  CHECK(rig.pipeline->samples() == 37);
  const auto batches = batches_of(rig, given, 30);
  for (size_t epoch = 0; epoch < 3; epoch++) {
    const auto first = batches.begin() + static_cast<long>(epoch * 10);
    Ids ids = joined({first, first + 10});
    std::sort(ids.begin(), ids.end());
    Ids all(37);
    std::iota(all.begin(), all.end(), 0);
    CHECK(ids == all);
  }
}

TEST_CASE("weights: sources go on over the ends of epochs") {
  Given given = mixed({5, 100}, {1, 3});
  given.order.mix = config::MixRule::kExact;
  given.order.epoch_samples = 10;
  given.epochs = 8;
  Rig rig(given);
  const Ids ids = joined(batches_of(rig, given, 24));
  std::map<int64_t, int> times;
  for (const int64_t id : ids) times[id]++;
  for (int64_t id = 0; id < 5; id++) CHECK(times[id] == 4);
  for (const auto& [id, count] : times) CHECK((id < 5 || count == 1));
  CHECK(times.size() == 65);
}

TEST_CASE("a place is the same, gone to at once or by all before it") {
  Given given = mixed({13, 50, 7}, {0.5, 0.3, 0.2});
  given.epochs = 40;
  Rig rig(given);
  const auto batches = batches_of(rig, given, 18 * 20);
  Rig other(given);
  other.stream->seek(1, {19, 5});
  other.fill_all();
  for (size_t i = 19 * 18 + 5; i < batches.size(); i++) CHECK(other.take().ids == batches[i]);
}

TEST_CASE("a bad sample is replaced by one of its own source, and counts there") {
  Given given = mixed({4, 30}, {1, 1});
  given.order.mix = config::MixRule::kExact;
  Rig rig(given);
  rig.fetcher.make_bad(2);
  std::vector<uint32_t> sums(2);
  uint64_t substituted = 0;
  rig.fill_all();
  for (int i = 0; i < 9; i++) {
    const Received got = rig.take();
    uint32_t small = 0;
    for (const int64_t id : got.ids) {
      CHECK(id != 2);
      small += id < 4 ? 1 : 0;
    }
    CHECK(got.batch.of_source[0] == small);
    for (size_t s = 0; s < 2; s++) sums[s] += got.batch.of_source[s];
    substituted += got.batch.substituted.size();
  }
  CHECK(sums == std::vector<uint32_t>{17, 17});
  CHECK(substituted >= 4);
}

TEST_CASE("one source: no counts, and epochs of another length go on over its passes") {
  Given given;
  given.samples = 20, given.order.epoch_samples = 12, given.epochs = 5;
  Rig rig(given);
  CHECK(rig.pipeline->samples() == 12);
  rig.fill_all();
  Ids ids;
  for (int i = 0; i < 15; i++) {
    const Received got = rig.take();
    CHECK(got.batch.of_source.empty());
    ids.insert(ids.end(), got.ids.begin(), got.ids.end());
  }
  given.order.epoch_samples = 0, given.epochs = 3;
  Rig whole(given);
  whole.fill_all();
  Ids passes;
  for (int i = 0; i < 15; i++) {
    const Received got = whole.take();
    passes.insert(passes.end(), got.ids.begin(), got.ids.end());
  }
  CHECK(ids == passes);
}

TEST_CASE("each source takes what its own lists say, by its own names and ids") {
  const test::TempDir folder;
  std::ofstream(folder.path() / "some") << "sample-3\n0\n";
  Given given = mixed({5, 4});
  config::PipelineSpec spec = make_spec(given);
  spec.sources[1].include = (folder.path() / "some").string();
  spec.sources[0].first = 2;
  const auto listing = make_listing(given);
  const pipeline::Choice choice = pipeline::choose(spec, *listing, {});
  CHECK(choice.mix.epoch_samples() == 4);
  sampler::MixReader reader(choice.mix);
  Ids ids;
  for (uint64_t i = 0; i < 4; i++) ids.push_back(static_cast<int64_t>(reader.at(0, i).id));
  std::sort(ids.begin(), ids.end());
  CHECK(ids == Ids{0, 1, 5, 8});
  CHECK(choice.fingerprint != listing->fingerprint());
  CHECK(choice.lists.unchanged());

  std::ofstream(folder.path() / "some") << "s1/sample-3\n";
  CHECK_THAT(refusal_of(spec, *listing),
             Catch::Contains("sources[1].include") && Catch::Contains("no sample has the name"));
  spec.sources[1].include = "";
  std::ofstream(folder.path() / "all") << "0\n1\n2\n3\n";
  spec.sources[1].exclude = (folder.path() / "all").string();
  CHECK_THAT(refusal_of(spec, *listing), Catch::Contains("sources[1].exclude") && Catch::Contains("leaves no sample"));
}

TEST_CASE("other weights, rules, lengths and names are other runs") {
  const std::string plain = fingerprint_of(mixed({5, 4}, {1, 1}));
  CHECK(fingerprint_of(mixed({5, 4}, {1, 1})) == plain);
  CHECK(fingerprint_of(mixed({5, 4}, {1, 2})) != plain);
  CHECK(fingerprint_of(mixed({5, 4})) != plain);
  Given exact = mixed({5, 4}, {1, 1});
  exact.order.mix = config::MixRule::kExact;
  CHECK(fingerprint_of(exact) != plain);
  Given longer = mixed({5, 4}, {1, 1});
  longer.order.epoch_samples = 10;
  CHECK(fingerprint_of(longer) != plain);
}

}  // namespace spdld::mix_test
