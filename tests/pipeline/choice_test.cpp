// The fingerprint of the samples that are taken: one for each set of samples, whichever lists say it.
#include "daemon/pipeline/order/choice.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "daemon/source/joined.h"
#include "tests/pipeline/fake_source.h"
#include "tests/support/temp_dir.h"

namespace spdld::choice_test {

using namespace spdld;

namespace {

using Ids = std::vector<uint64_t>;

constexpr uint64_t kSamples = 10;

std::string text_of(const Ids& ids) {
  std::string text;
  for (const uint64_t id : ids) text += std::to_string(id) + "\n";
  return text;
}

// The ids in order, and the fingerprint of the choice.
struct Taken {
  Ids ids;
  std::string fingerprint;
};

Taken take(const config::PipelineSpec& spec, const source::Listing& listing) {
  const pipeline::Choice choice = pipeline::choose(spec, listing, {});
  Taken taken{{}, choice.fingerprint};
  for (const auto& source : choice.mix.sources())
    for (uint64_t number = 0; number < source.order.size(); ++number)
      taken.ids.push_back(source.first_id + source.order.subset()[number]);
  return taken;
}

Taken take_listed(const test::TempDir& lists, const Ids& ids) {
  config::PipelineSpec spec;
  spec.order.include = lists.write("list", text_of(ids));
  return take(spec, test::FakeListing(kSamples));
}

// Of all that were chosen: each set of samples has a fingerprint of its own.
class Fingerprints {
 public:
  void add(const Taken& taken) {
    INFO("the samples " << text_of(taken.ids));
    const auto [same_ids, is_new] = by_ids_.emplace(taken.ids, taken.fingerprint);
    CHECK(same_ids->second == taken.fingerprint);
    if (is_new) CHECK(seen_.insert(taken.fingerprint).second);
  }
  size_t count() const { return seen_.size(); }

 private:
  std::map<Ids, std::string> by_ids_;
  std::set<std::string> seen_;
};

// A listing with some samples that a condition does not take.
class Conditioned final : public test::FakeListing {
 public:
  explicit Conditioned(Ids untaken) : test::FakeListing(kSamples), untaken_(std::move(untaken)) {}
  bool is_untaken(uint64_t sample) const override {
    return std::find(untaken_.begin(), untaken_.end(), sample) != untaken_.end();
  }
  uint64_t untaken_count() const override { return untaken_.size(); }

 private:
  const Ids untaken_;
};

}  // namespace

TEST_CASE("rows that a condition does not take are left out of the order, and the others keep their ids") {
  const test::TempDir lists;
  const Conditioned listing({0, 3, 4, 9});
  config::PipelineSpec spec;
  const Taken all = take(spec, listing);
  CHECK(all.ids == Ids{1, 2, 5, 6, 7, 8});
  CHECK(all.fingerprint == take_listed(lists, all.ids).fingerprint);  // as if a list had named them
  spec.order.first = 3;
  CHECK(take(spec, listing).ids == Ids{1, 2, 5});
  spec.order.exclude = "\n2\n3\n";
  CHECK(take(spec, listing).ids == Ids{1, 5, 6});
  spec.order = {};
  spec.order.include = "\n9\n8\n3\n1";
  CHECK(take(spec, listing).ids == Ids{1, 8});
  spec.order.include = "\n0\n9";
  CHECK_THROWS_WITH(take(spec, listing), Catch::Contains("the source's where takes none of the samples"));
  CHECK_THROWS_WITH(take(spec, test::FakeListing(5)), Catch::StartsWith("order.include"));
}

TEST_CASE("selections of the same size that begin with the same sample have fingerprints of their own") {
  const test::TempDir lists;
  Fingerprints fingerprints;
  for (const Ids& ids : {Ids{1, 3, 5}, Ids{1, 3, 6}, Ids{1, 4, 5}, Ids{1, 4, 6}})
    fingerprints.add(take_listed(lists, ids));
  // Two runs that begin with the same samples, and are of other lengths.
  for (const Ids& ids : {Ids{1, 2, 5}, Ids{1, 5, 6}}) fingerprints.add(take_listed(lists, ids));
  // The last run alone is longer.
  for (const Ids& ids : {Ids{1, 3}, Ids{1, 3, 4}, Ids{1, 3, 4, 5}}) fingerprints.add(take_listed(lists, ids));
  CHECK(fingerprints.count() == 9);
}

TEST_CASE("any two selections differ in their fingerprints exactly if they differ in their samples") {
  const test::TempDir lists;
  std::mt19937_64 random(14);
  Fingerprints fingerprints;
  for (int round = 0; round < 400; ++round) {
    Ids ids;
    for (uint64_t id = 0; id < kSamples; ++id)
      if (random() % 2) ids.push_back(id);
    if (!ids.empty()) fingerprints.add(take_listed(lists, ids));
  }
  CHECK(fingerprints.count() > 200);
}

TEST_CASE("selections of several sources differ in their fingerprints exactly if they differ in their samples") {
  const test::TempDir lists;
  std::vector<source::NamedListing> parts;
  parts.push_back({"a", std::make_unique<test::FakeListing>(5)});
  parts.push_back({"b", std::make_unique<test::FakeListing>(5)});
  const auto listing = source::join_listings(std::move(parts));
  std::mt19937_64 random(15);
  Fingerprints fingerprints;
  for (int round = 0; round < 400; ++round) {
    config::PipelineSpec spec;
    spec.sources.resize(2);
    for (size_t i = 0; i < 2; ++i) {
      Ids ids;
      for (uint64_t id = 0; id < 5; ++id)
        if (random() % 2) ids.push_back(id);
      if (ids.empty()) ids = {random() % 5};
      spec.sources[i].name = i ? "b" : "a";
      spec.sources[i].include = lists.write(spec.sources[i].name, text_of(ids));
    }
    fingerprints.add(take(spec, *listing));
  }
  CHECK(fingerprints.count() > 200);
}

TEST_CASE("archives that only go forward are read in an order that does") {
  test::FakeListing listing(kSamples);
  listing.streams = source::Listing::Streaming{1000, 1 << 20, true};
  const auto fault = [&](config::Shuffle shuffle, auto change) {
    config::PipelineSpec spec;
    spec.order.shuffle = shuffle;
    spec.order.window = 3;
    change(spec);
    try {
      pipeline::choose(spec, listing, {});
    } catch (const SetupError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto as_it_is = [](auto&) {};
  using config::Shuffle;
  for (const Shuffle shuffle : {Shuffle::kWindow, Shuffle::kOff}) CHECK(fault(shuffle, as_it_is).empty());
  for (const Shuffle shuffle : {Shuffle::kGlobal, Shuffle::kClient})
    CHECK_THAT(fault(shuffle, as_it_is),
               Catch::Contains("are compressed") && Catch::Contains("write order.shuffle = \"window\""));
  CHECK_THAT(fault(Shuffle::kOff, [](auto& spec) { spec.order.weights = "x"; }), Catch::Contains("order.weights"));
  CHECK_THAT(fault(Shuffle::kOff, [](auto& spec) { spec.batch.cost.emplace(); }), Catch::Contains("batch.cost"));
  listing.streams->goes_forward = false;
  CHECK(fault(Shuffle::kGlobal, as_it_is).empty());
}

}  // namespace spdld::choice_test
