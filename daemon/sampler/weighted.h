// Weighted draws, as pure functions of a seed. All arithmetic is on integers, except single IEEE divisions and scalings
// by powers of two, which round the same everywhere: a libm's log may differ in its last bit between two machines, even
// with the CPU that it runs on, and an order must not. Values; constant after construction, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "daemon/base/random.h"

namespace spdld::sampler {

// The weights of a weighted order, and how it draws.
struct Weighting {
  std::vector<double> weights;  // of each sample, by its number: above 0 and finite
  bool replacement = true;
  uint64_t epoch_samples = 0;  // above 0, and without replacement no more than there are weights
};

// The most samples that can be weighted: they are held as 32 bits.
inline constexpr uint64_t kWeightedMax = UINT32_MAX;

// Draws with replacement, each in O(1), by the alias method (Walker, "An efficient method for generating discrete
// random variables with general distributions", 1977; built in O(n) as by Vose, "A linear algorithm for generating
// random numbers with a given distribution", 1991). Takes 12 bytes a sample, and 24 more while it is made. A weight's
// chance is exact to 2^-61 of the sum of all, and never 0.
class AliasTable {
 public:
  explicit AliasTable(std::span<const double> weights);  // 1 to kWeightedMax of them, as in Weighting

  uint64_t size() const { return alias_.size(); }
  uint64_t operator()(Draw& draw) const;  // takes four words, and now and then two more

 private:
  std::vector<uint64_t> keep_;   // of 2^64: the chance that column i gives i, and not alias_[i]
  std::vector<uint32_t> alias_;  // i where it always gives i
};

// `count` different numbers below weights.size(), drawn one after another without replacement, each with a chance that
// is its weight's part of the weights that are left: the order of -log(u) / weight with u uniform (Efraimidis and
// Spirakis, "Weighted random sampling with a reservoir", 2006), u keyed by (seed, epoch, number). O(n + count log
// count), 16 bytes a sample while it is made; the result has 4 bytes a sample.
std::vector<uint32_t> weighted_order(std::span<const double> weights, uint64_t count, uint64_t seed, uint64_t epoch);

// -log2(u) in units of 2^-57, at least 1, where u = (bits | 1) / 2^64. Off by fewer than 32 units.
uint64_t negative_log2(uint64_t bits);

}  // namespace spdld::sampler
