#include "daemon/sampler/mix.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "tests/sampler/judge.h"

namespace spdld::mix_test {

using namespace spdld::sampler;
using namespace spdld::test;
using spdld::config::MixRule;
using spdld::config::Shuffle;

namespace {

using Numbers = std::vector<uint64_t>;
using Sample = MixReader::Sample;

constexpr uint64_t kSeed = 17;

uint64_t seed_of(size_t source) { return source_seed(kSeed, "s" + std::to_string(source)); }

// Sources of so many samples, one behind the other.
struct Wanted {
  Numbers sizes, shares;
  uint64_t epoch_samples = 0;
  Mix::Spread spread = Mix::Spread::kShuffled;
  Shuffle shuffle = Shuffle::kGlobal;
};

Mix mix_of(const Wanted& wanted) {
  std::vector<Mix::Source> sources;
  uint64_t first = 0;
  for (size_t i = 0; i < wanted.sizes.size(); ++i) {
    sources.push_back({Order({wanted.shuffle, seed_of(i), 0}, Subset(wanted.sizes[i])), first});
    first += wanted.sizes[i];
  }
  return Mix(kSeed, std::move(sources), wanted.shares, wanted.spread, wanted.epoch_samples);
}

std::vector<Sample> read(const Mix& mix, uint64_t epochs) {
  MixReader reader(mix);
  std::vector<Sample> samples;
  for (uint64_t epoch = 0; epoch < epochs; ++epoch)
    for (uint64_t i = 0; i < mix.epoch_samples(); ++i) samples.push_back(reader.at(epoch, i));
  return samples;
}

Numbers counts(const std::vector<Sample>& samples, size_t from, size_t to, size_t sources) {
  Numbers of(sources);
  for (size_t i = from; i < to; ++i) ++of[samples[i].source];
  return of;
}

std::string text(const Sample& sample) {
  return std::to_string(sample.id) + "/" + std::to_string(sample.pass) + "/" + std::to_string(sample.source);
}

// What the source alone gives: pass by pass, each in its own order.
void require_own_sequence(const std::vector<Sample>& samples, const Mix& mix, size_t source) {
  uint64_t number = 0;
  const Order& order = mix.sources()[source].order;
  for (const Sample& sample : samples) {
    if (sample.source != source) continue;
    const EpochOrder pass(order, number / order.size());
    REQUIRE(sample.pass == number / order.size());
    REQUIRE(sample.id == mix.sources()[source].first_id + pass(number % order.size()));
    ++number;
  }
}

}  // namespace

TEST_CASE("exact: every cycle has exactly each source's share") {
  for (const Numbers& shares : {Numbers{3, 1}, Numbers{7, 2, 1}, Numbers{1, 1}, Numbers{1, 999, 2000},
                                Numbers{1500, 1, 700, 1, 1, 40}, Numbers{1, 1, 1, 1, 1, 1, 1}}) {
    const Mix mix = mix_of({Numbers(shares.size(), 50), shares, 10'000});
    const auto samples = read(mix, 2);
    REQUIRE(mix.cycle() == std::accumulate(shares.begin(), shares.end(), uint64_t{0}));
    for (size_t at = 0; at + mix.cycle() <= samples.size(); at += mix.cycle())
      REQUIRE(counts(samples, at, at + mix.cycle(), shares.size()) == shares);
    for (size_t i = 0; i < shares.size(); ++i) REQUIRE(mix.share(i) == shares[i]);
  }
}

TEST_CASE("shares of weights") {
  const std::vector<double> whole = {30, 10, 5};
  CHECK(shares_of(MixRule::kExact, whole) == Numbers{6, 2, 1});
  const Numbers samples = {1000, 2000, 500};
  CHECK(shares_of(MixRule::kExact, samples) == Numbers{2, 4, 1});
  CHECK(shares_of(MixRule::kRandom, samples) == samples);
  for (const std::vector<double>& weights : {std::vector<double>{0.7, 0.3},
                                             {1, 1, 1},
                                             {1e-12, 1, 1e9},
                                             std::vector<double>(64, 0.1),
                                             {1e-9, 1e-9, 1e-9, 1},
                                             {1.0 / 3, 1.0 / 7, 1.0 / 11, 1e6}}) {
    const Numbers shares = shares_of(MixRule::kRandom, weights);
    CHECK(std::accumulate(shares.begin(), shares.end(), uint64_t{0}) == uint64_t{1} << 32);
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (size_t i = 0; i < weights.size(); ++i) {
      CHECK(shares[i] >= 1);
      CHECK(std::abs(static_cast<double>(shares[i]) - weights[i] / total * 0x1p32) < 3);
    }
  }
}

TEST_CASE("at every place the even spread is less than its bound away from the shares") {
  for (const Numbers& shares : {Numbers{70, 30}, Numbers{1, 5000, 3, 90'000, 7}, Numbers(64, 3), Numbers{1, 100'000}}) {
    const Mix mix = mix_of({Numbers(shares.size(), 11), shares, 50'000, Mix::Spread::kEven});
    const double bound = 1 + std::log2(static_cast<double>(shares.size())) / 2;
    std::vector<double> had(shares.size());
    double farthest = 0;
    const auto samples = read(mix, 1);
    for (size_t n = 1; n <= samples.size(); ++n) {
      ++had[samples[n - 1].source];
      for (size_t i = 0; i < shares.size(); ++i) {
        const double due = static_cast<double>(n) * static_cast<double>(shares[i]) / static_cast<double>(mix.cycle());
        farthest = std::max(farthest, std::abs(had[i] - due));
      }
    }
    CHECK(farthest < bound);
  }
}

TEST_CASE("a shuffled mix has in each of its blocks what the even spread has there") {
  const Wanted wanted{{100, 700, 9}, shares_of(MixRule::kRandom, std::vector<double>{0.2, 0.7, 0.1}), 30'000};
  Wanted even = wanted;
  even.spread = Mix::Spread::kEven;
  const auto shuffled = read(mix_of(wanted), 1), spread = read(mix_of(even), 1);
  size_t moved = 0;
  for (size_t at = 0; at < shuffled.size(); at += Mix::kBlock) {
    const size_t end = std::min<size_t>(at + Mix::kBlock, shuffled.size());
    if (end - at == Mix::kBlock) REQUIRE(counts(shuffled, at, end, 3) == counts(spread, at, end, 3));
  }
  for (size_t i = 0; i < shuffled.size(); ++i) moved += shuffled[i].source != spread[i].source ? 1 : 0;
  CHECK(moved > shuffled.size() / 4);
}

TEST_CASE("each source's samples are what it alone would give, every one once before any comes again") {
  for (const auto spread : {Mix::Spread::kShuffled, Mix::Spread::kEven, Mix::Spread::kBehind}) {
    for (const Numbers& shares : {Numbers{3, 1, 2}, Numbers{5000, 1, 2500}, Numbers{7, 1000, 13}}) {
      const Mix mix = mix_of({{7, 1000, 13}, shares, 3333, spread});
      const auto samples = read(mix, 3);
      for (size_t i = 0; i < 3; ++i) require_own_sequence(samples, mix, i);
    }
  }
}

TEST_CASE("without weights an epoch has every sample of every source once") {
  const Numbers sizes = {7, 3000, 512, 1};
  for (const auto spread : {Mix::Spread::kShuffled, Mix::Spread::kBehind}) {
    const Mix mix = mix_of({sizes, shares_of(MixRule::kRandom, sizes), 0, spread});
    REQUIRE(mix.epoch_samples() == 3520);
    const auto samples = read(mix, 2);
    for (size_t epoch = 0; epoch < 2; ++epoch) {
      Numbers ids;
      for (size_t i = 0; i < 3520; ++i) {
        ids.push_back(samples[epoch * 3520 + i].id);
        CHECK(samples[epoch * 3520 + i].pass == epoch);
      }
      CHECK(is_bijection(ids));
    }
  }
}

TEST_CASE("unshuffled and without weights the sources come one behind the other") {
  const Numbers sizes = {3, 4};
  const auto samples = read(mix_of({sizes, sizes, 0, Mix::Spread::kBehind, Shuffle::kOff}), 1);
  for (size_t i = 0; i < samples.size(); ++i) CHECK(samples[i].id == i);
}

TEST_CASE("a source alone is as its order: an epoch is a pass, or epochs go on over its passes") {
  const Mix plain = mix_of({{100}, {1}, 0});
  MixReader reader(plain);
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    const EpochOrder order(plain.sources()[0].order, epoch);
    for (uint64_t i = 0; i < 100; ++i) {
      const Sample sample = reader.at(epoch, i);
      REQUIRE(sample.id == order(i));
      REQUIRE(sample.pass == epoch);
      REQUIRE(reader.substitute(epoch, i, 3) == order.substitute(i, 3));
    }
  }
  const Mix other = mix_of({{100}, {1}, 30});
  require_own_sequence(read(other, 12), other, 0);
  CHECK(other.epoch_samples() == 30);
}

TEST_CASE("any position, however it is come to, is the same") {
  const Wanted wanted{{90, 2000, 5}, {300, 5000, 11}, 4000};
  const Mix mix = mix_of(wanted);
  const auto samples = read(mix, 4);
  MixReader reader(mix);
  spdld::Draw draw(1, 2, 3, 4);
  for (int i = 0; i < 3000; ++i) {
    const uint64_t at = draw.below(samples.size());
    const Sample sample = i % 2 == 0 ? reader.at(at / 4000, at % 4000) : MixReader(mix).at(at / 4000, at % 4000);
    REQUIRE(text(sample) == text(samples[at]));
  }
}

// The position is beyond 64 bits there, as is the cycle's number; passes go round where they would be.
TEST_CASE("an epoch as far as there are any") {
  for (const uint64_t epoch : {uint64_t{1} << 40, UINT64_MAX - 1, UINT64_MAX}) {
    for (const Numbers& shares : {Numbers{3, 1}, shares_of(MixRule::kRandom, std::vector<double>{0.75, 0.25})}) {
      const Mix mix = mix_of({{1'000'000'007, 900'000'011}, shares, uint64_t{1} << 50});
      MixReader reader(mix);
      std::set<std::string> seen;
      Numbers of(2);
      for (uint64_t i = 0; i < 40'000; ++i) {
        const Sample sample = reader.at(epoch, (uint64_t{1} << 49) + i);
        REQUIRE(sample.id < 1'900'000'018);
        REQUIRE((sample.id >= 1'000'000'007) == (sample.source == 1));
        REQUIRE(seen.insert(text(sample)).second);
        ++of[sample.source];
      }
      CHECK(std::abs(static_cast<double>(of[0]) - 30'000) < static_cast<double>(Mix::kBlock));
      CHECK(text(MixReader(mix).at(epoch, 5)) == text(reader.at(epoch, 5)));
    }
  }
}

TEST_CASE("up-sampling is several passes an epoch, down-sampling a part of one") {
  const Mix mix = mix_of({{10, 1000}, {1, 1}, 1000});
  const auto samples = read(mix, 1);
  Numbers times(1010);
  for (const Sample& sample : samples) ++times[sample.id];
  for (size_t id = 0; id < 10; ++id) CHECK(times[id] == 50);
  CHECK(*std::max_element(times.begin() + 10, times.end()) == 1);
  CHECK(std::accumulate(times.begin() + 10, times.end(), uint64_t{0}) == 500);
  CHECK(mix.passes(1) == 50);
  CHECK(mix.passes(2) == 100);
  CHECK(mix.passes(0) == 0);
  CHECK(mix_of({{10, 1000}, {10, 1000}, 0}).passes(1) == 1);
  CHECK(mix_of({{10}, {1}, 11}).passes(1) == 2);
}

TEST_CASE("neighbours tell little of one another, and blocks nothing") {
  const std::vector<double> weights = {0.5, 0.3, 0.2};
  constexpr uint64_t kPositions = 200'000;
  const Mix mix = mix_of({{1000, 1000, 1000}, shares_of(MixRule::kRandom, weights), kPositions});
  const auto samples = read(mix, 1);
  for (const size_t apart : {1u, 2u, 7u, 1024u}) {
    std::vector<int> pairs(9);
    for (size_t i = 0; i + apart < samples.size(); i += 2 * apart + 1)  // each position in one pair
      ++pairs[samples[i].source * 3 + samples[i + apart].source];
    const double count = std::accumulate(pairs.begin(), pairs.end(), 0.0);
    double sum = 0;
    for (size_t a = 0; a < 3; ++a)
      for (size_t b = 0; b < 3; ++b) {
        const double due = count * weights[a] * weights[b];
        sum += (pairs[a * 3 + b] - due) * (pairs[a * 3 + b] - due) / due;
      }
    CHECK(sum < chi_square_limit(8));
  }
}

TEST_CASE("sources of one size have orders of their own, which no other source changes") {
  const Mix two = mix_of({{100, 100}, {1, 1}, 200}), three = mix_of({{100, 100, 5}, {1, 3, 9}, 200});
  const EpochOrder first(two.sources()[0].order, 0), second(two.sources()[1].order, 0);
  size_t same = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    same += first(i) == second(i) ? 1 : 0;
    CHECK(EpochOrder(three.sources()[1].order, 0)(i) == second(i));
  }
  CHECK(same < 15);
}

TEST_CASE("the substitute is another sample of the same source") {
  const Mix mix = mix_of({{50, 40}, {1, 3}, 1000});
  MixReader reader(mix);
  for (uint64_t i = 0; i < 1000; ++i) {
    const Sample sample = reader.at(3, i);
    const uint64_t other = reader.substitute(3, i, 1);
    REQUIRE(other != sample.id);
    REQUIRE((other >= 50) == (sample.source == 1));
    REQUIRE(MixReader(mix).substitute(3, i, 1) == other);
  }
}

// If this fails, runs resumed from a position token would see other samples: bump kOrderVersion, or put the mix back.
TEST_CASE("golden mixes of version 1") {
  std::string text;
  for (const Sample& sample : read(mix_of({{5, 4}, {2, 1}, 12}), 1)) text += std::to_string(sample.id) + " ";
  CHECK(text == "2 0 7 5 4 3 1 8 1 3 6 4 ");
  text.clear();
  const Mix mix = mix_of({{500, 4}, shares_of(MixRule::kRandom, std::vector<double>{0.9, 0.1}), 5000});
  MixReader reader(mix);
  for (uint64_t i = 0; i < 8; ++i) text += std::to_string(reader.at(1'000'000, 4321 + i).id) + " ";
  CHECK(text == "493 301 408 182 289 102 79 32 ");
}

}  // namespace spdld::mix_test
