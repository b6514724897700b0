// Samples that are dropped: what stands in their places, and batches that are shorter for them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/pipeline/rig.h"

namespace spdld::drops_test {

using namespace spdld;
using config::OnBad;
using config::OnDrop;
using test::Given;
using test::Received;
using test::Rig;
using test::tenfold;

namespace {

enum class What : uint8_t { kKept, kDropped, kBad };
using Say = std::function<What(uint64_t sample)>;

// Looks at samples behind the decoding, as a function of the user's may.
struct Sieve final : pipeline::Stage {
  explicit Sieve(Say say) : Stage({.name = "sieve"}), say_(std::move(say)) {}
  pipeline::StageOutcome start(pipeline::Passage& passage, pipeline::Caller&) override {
    const What what = say_(passage.sample);
    if (what == What::kKept) return pipeline::StageOutcome::kDone;
    if (what == What::kDropped) passage.error = {Trouble::kDropped, "a sieve dropped it"};
    if (what == What::kBad) passage.error = {Trouble::kContent, "it is rotten"};
    return pipeline::StageOutcome::kFailed;
  }
  uint64_t busy_ns() const override { return 0; }
  unsigned concurrency() const override { return 1; }

 private:
  const Say say_;
};

Given sifted(const Say& say, OnDrop on_drop, Given given = {}) {
  given.on_drop = on_drop;
  given.more_stages = {[say](const pipeline::Pipeline&) { return std::make_unique<Sieve>(say); }};
  return given;
}

// At random: so many of a hundred samples are dropped, and so many are bad.
Say at_random(unsigned seed, unsigned dropped, unsigned bad) {
  return [=](uint64_t sample) {
    std::mt19937 random(seed * 1000 + static_cast<unsigned>(sample));
    const auto at = random() % 100;
    return at < dropped ? What::kDropped : at < dropped + bad ? What::kBad : What::kKept;
  };
}

std::vector<Received> take_all(Rig& rig, uint64_t batches) {
  std::vector<Received> all;
  rig.fill_all();
  for (uint64_t i = 0; i < batches; i++) all.push_back(rig.take());
  return all;
}

// The samples of an epoch in its order, batch by batch.
std::vector<std::vector<int64_t>> order_of(const Given& given, uint64_t batches) {
  Rig rig(given);
  std::vector<std::vector<int64_t>> all;
  for (const Received& one : take_all(rig, batches)) all.push_back(one.ids);
  return all;
}

config::OutputSpec ragged_text() {
  config::OutputSpec output{"text", "text", {{"bytes", {{"text", false}}, {}}}, {}};
  output.varying = {.form = config::Form::kRagged, .length_max = 16};
  return output;
}

}  // namespace

TEST_CASE("a batch is shorter by its dropped samples, and the others keep their order") {
  const unsigned seed = GENERATE(1u, 2u, 3u, 4u), dropped = GENERATE(0u, 20u, 60u, 97u);
  const unsigned threads = GENERATE(1u, 4u);
  Given given;
  given.samples = 103, given.batch_size = 8, given.threads = threads;
  if (seed % 2 == 0) given.outputs = {{"value", "text", {{"parse-int", {}, {}}}, {}}, ragged_text()};
  const Say say = at_random(seed, dropped, 0);
  const auto order = order_of(given, 13);
  Rig rig(sifted(say, OnDrop::kShorter, given));
  const auto taken = take_all(rig, 13);
  uint64_t absent = 0, valid = 0;
  for (size_t step = 0; step < 13; step++) {
    const Received& got = taken[step];
    std::vector<int64_t> kept;
    std::vector<uint32_t> gone;
    for (size_t i = 0; i < order[step].size(); i++)
      if (say(static_cast<uint64_t>(order[step][i])) == What::kKept)
        kept.push_back(order[step][i]);
      else
        gone.push_back(static_cast<uint32_t>(i));
    CHECK(got.ids == kept);
    CHECK(got.values == tenfold(kept));
    CHECK(got.batch.absent == gone);
    CHECK(got.batch.slice.count == order[step].size());
    CHECK(got.batch.substituted.empty());
    CHECK(got.batch.flaws.size() == gone.size());
    for (const batch::Flaw& flaw : got.batch.flaws) {
      CHECK(flaw.kind == batch::FlawKind::kDropped);
      CHECK(flaw.reason == "a sieve dropped it");
      CHECK(flaw.sample == static_cast<uint64_t>(order[step][flaw.index]));
    }
    absent += gone.size(), valid += kept.size();
  }
  const auto& statistics = rig.pipeline->statistics();
  CHECK(statistics.absent.value() == absent);
  CHECK(statistics.dropped.value() == absent);
  CHECK(statistics.samples.value() == valid);
  CHECK(statistics.substituted.value() + statistics.masked.value() + statistics.damaged.value() == 0);
  CHECK(rig.pipeline->errors().total() == 0);
  CHECK(rig.pipeline->errors().entries().size() == absent);
}

TEST_CASE("batches whose samples are all dropped are empty, and come in their places") {
  Rig rig(sifted([](uint64_t) { return What::kDropped; }, OnDrop::kShorter));
  for (const Received& got : take_all(rig, 5)) {
    CHECK(got.ids.empty());
    CHECK(got.batch.valid() == 0);
    CHECK(got.batch.absent == std::vector<uint32_t>{0, 1, 2, 3});
  }
}

TEST_CASE("bad samples and dropped ones side by side: each has the fate that is said of it") {
  const unsigned seed = GENERATE(range(1u, 9u));
  const auto on_bad = GENERATE(OnBad::kSubstitute, OnBad::kMask);
  const auto on_drop = GENERATE(OnDrop::kSubstitute, OnDrop::kShorter, OnDrop::kMask);
  Given given;
  given.samples = 200, given.batch_size = 16, given.on_bad = on_bad;
  const Say say = at_random(seed, 30, 10);
  const auto order = order_of({.samples = 200, .batch_size = 16}, 13);
  std::vector<std::vector<int64_t>> before;
  for (const unsigned threads : {1u, 4u}) {
    given.threads = threads;
    Rig rig(sifted(say, on_drop, given));
    const auto taken = take_all(rig, 13);
    uint64_t substituted = 0, masked = 0, absent = 0;
    for (size_t step = 0; step < 13; step++) {
      const Received& got = taken[step];
      for (size_t i = 0; i < order[step].size(); i++) {
        const auto index = static_cast<uint32_t>(i);
        const int64_t sample = order[step][i];
        const What what = say(static_cast<uint64_t>(sample));
        const auto is_in = [&](const std::vector<uint32_t>& marked) {
          return std::count(marked.begin(), marked.end(), index) == 1;
        };
        const bool is_out = what == What::kDropped && on_drop == OnDrop::kShorter;
        const bool is_masked =
            what == What::kDropped ? on_drop == OnDrop::kMask : what == What::kBad && on_bad == OnBad::kMask;
        CHECK(is_in(got.batch.absent) == is_out);
        CHECK(is_in(got.batch.masked) == is_masked);
        CHECK(is_in(got.batch.substituted) == (what != What::kKept && !is_out && !is_masked));
        if (is_out) continue;
        const auto row = static_cast<size_t>(got.batch.row_of(index));
        CHECK((got.ids[row] == sample) == (what == What::kKept || is_masked));
        CHECK(got.values[row] == (is_masked ? 0 : 10 * got.ids[row]));
        if (!got.mask.empty()) CHECK(got.mask[row] == (is_masked ? 0 : 1));
        if (!is_masked) CHECK(say(static_cast<uint64_t>(got.ids[row])) == What::kKept);
      }
      substituted += got.batch.substituted.size(), masked += got.batch.masked.size();
      absent += got.batch.absent.size();
      if (threads == 1)
        before.push_back(got.ids);
      else
        CHECK(before[step] == got.ids);
    }
    const auto& statistics = rig.pipeline->statistics();
    CHECK(statistics.substituted.value() == substituted);
    CHECK(statistics.masked.value() == masked);
    CHECK(statistics.absent.value() == absent);
    CHECK(statistics.dropped.value() > 0);
    CHECK(statistics.damaged.value() == rig.pipeline->errors().total());
  }
}

TEST_CASE("a mask is there where one of both choices asks for it") {
  CHECK_FALSE(test::make_spec({.on_bad = OnBad::kSubstitute}).has_mask());
  CHECK(test::make_spec({.on_bad = OnBad::kMask}).drops_by() == OnDrop::kMask);
  CHECK(test::make_spec({.on_bad = OnBad::kFail}).drops_by() == OnDrop::kSubstitute);
  CHECK(test::make_spec({.on_bad = OnBad::kFail, .on_drop = OnDrop::kMask}).has_mask());
  CHECK(test::make_spec({.on_bad = OnBad::kMask, .on_drop = OnDrop::kShorter}).has_mask());
}

TEST_CASE("bad content fails the stream where on_bad says so, also as a substitute for a dropped sample") {
  Given given;
  given.on_bad = OnBad::kFail;
  const auto say = [](uint64_t sample) { return sample == 3 ? What::kDropped : sample > 3 ? What::kBad : What::kKept; };
  Rig rig(sifted(say, OnDrop::kSubstitute, given));
  rig.fill_all();
  rig.wait([&] { return !rig.failure.empty(); });
  CHECK_THAT(rig.failure, Catch::Contains("on_bad is \"fail\": it is rotten"));
}

TEST_CASE("a function that keeps few finds substitutes among many, and one that keeps none ends with a sentence") {
  Given given;
  given.samples = 1000, given.batch_size = 10;
  const auto one_in_fifty = [](uint64_t sample) { return sample % 50 == 0 ? What::kKept : What::kDropped; };
  Rig rig(sifted(one_in_fifty, OnDrop::kSubstitute, given));
  for (const Received& got : take_all(rig, 10))
    CHECK(std::all_of(got.ids.begin(), got.ids.end(), [](int64_t id) { return id % 50 == 0; }));

  Rig none(sifted([](uint64_t) { return What::kDropped; }, OnDrop::kSubstitute));
  none.fill_all();
  none.wait([&] { return !none.failure.empty(); });
  CHECK_THAT(none.failure, Catch::Contains("and all 1024 substitutes were dropped: a sieve dropped it. Write on_drop = "
                                           "\"shorter\" for a function that keeps so few"));
}

TEST_CASE("two ranks get the samples that one gets, in as many batches") {
  const Say say = at_random(5, 50, 0);
  Given given;
  given.samples = 103, given.batch_size = 8;
  Rig one(sifted(say, OnDrop::kShorter, given));
  std::vector<std::vector<int64_t>> wanted, got(13);
  for (const Received& batch : take_all(one, 13)) wanted.push_back(batch.ids);
  given.batch_size = 4, given.world_size = 2;
  for (given.rank = 0; given.rank < 2; given.rank++) {
    Rig rig(sifted(say, OnDrop::kShorter, given));
    const auto taken = take_all(rig, 13);
    for (size_t step = 0; step < 13; step++)
      got[step].insert(got[step].end(), taken[step].ids.begin(), taken[step].ids.end());
  }
  CHECK(got == wanted);
}

TEST_CASE("from each batch on, the same shorter batches come again") {
  const Say say = at_random(6, 60, 5);
  Given given;
  given.samples = 40, given.epochs = 2;
  Rig whole(sifted(say, OnDrop::kShorter, given));
  const auto wanted = take_all(whole, 13);
  Rig rig(sifted(say, OnDrop::kShorter, given));
  rig.fill_all();
  for (uint32_t from = 0; from < 10; from++) {
    rig.seek(from + 1, {0, from});
    rig.fill_all();
    for (uint64_t step = from; step < from + rig.slots.size(); step++) {
      const Received got = rig.take(false);
      CHECK(got.ids == wanted[step].ids);
      CHECK(got.values == wanted[step].values);
      CHECK(got.batch.absent == wanted[step].batch.absent);
    }
    rig.fill_all();
  }
}

TEST_CASE("of several sources, the samples that are there are counted") {
  Given given;
  given.mixed = {30, 20}, given.batch_size = 7;
  Rig rig(sifted(at_random(7, 40, 10), OnDrop::kShorter, given));
  for (const Received& got : take_all(rig, 8)) {
    std::vector<uint32_t> counted(2);
    for (const int64_t id : got.ids) counted[id < 30 ? 0 : 1]++;
    uint64_t sum = 0;
    for (const uint32_t samples : got.batch.of_source) sum += samples;
    CHECK(sum == got.batch.valid());
    if (got.batch.substituted.empty()) CHECK(got.batch.of_source == counted);
  }
}

TEST_CASE("absent samples are nobody's partner, and the others mix as if they had never been there") {
  Given given;
  given.samples = 60, given.batch_size = 6, given.mixes = true;
  const Say say = at_random(8, 40, 0);
  Rig rig(sifted(say, OnDrop::kShorter, given));
  uint64_t mixed = 0;
  for (const Received& got : take_all(rig, 10)) {
    for (size_t row = 0; row < got.ids.size(); row++) {
      const int64_t partner = got.partners[row];
      CHECK(say(static_cast<uint64_t>(partner)) == What::kKept);
      CHECK(std::count(got.ids.begin(), got.ids.end(), partner) == 1);
      mixed += partner != got.ids[row] ? 1 : 0;
    }
  }
  CHECK(mixed > 0);
}

}  // namespace spdld::drops_test
