#include "daemon/sampler/weighted.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "daemon/base/wide.h"

namespace spdld::sampler {
namespace {

// The weights as integers of which the sum is about 2^62, and 2^63 at the most. Powers of two scale them exactly, so
// that a weight only loses what lies below one unit.
std::vector<uint64_t> whole_weights(std::span<const double> weights) {
  int exponent = 0;
  std::frexp(*std::max_element(weights.begin(), weights.end()), &exponent);
  double sum = 0;  // of weights below 1
  for (const double weight : weights) sum += std::ldexp(weight, -exponent);
  int sum_exponent = 0;
  std::frexp(sum, &sum_exponent);
  std::vector<uint64_t> whole;
  whole.reserve(weights.size());
  for (const double weight : weights)
    whole.push_back(std::max<uint64_t>(static_cast<uint64_t>(std::ldexp(weight, 62 - exponent - sum_exponent)), 1));
  return whole;
}

constexpr unsigned kTableBits = 7;

// log2(1 + k / 128) in units of 2^-57, digit by digit: a square above 2 is a digit 1.
constexpr std::array<uint64_t, 1 << kTableBits> make_log_table() {
  std::array<uint64_t, 1 << kTableBits> table{};
  for (uint64_t k = 0; k < table.size(); ++k) {
    uint64_t value = (uint64_t{1} << 63) + (k << (63 - kTableBits));  // [1, 2) in units of 2^-63
    for (int digit = 0; digit < 57; ++digit) {
      const Wide square = Wide{value} * value;  // in units of 2^-126
      const bool is_one = (square >> 127) != 0;
      value = static_cast<uint64_t>(square >> (is_one ? 64 : 63));
      table[k] = table[k] << 1 | (is_one ? 1 : 0);
    }
  }
  return table;
}

constexpr auto kLogTable = make_log_table();
constexpr uint64_t kOverLog2 = 0x171547652B82FE17;  // 1 / ln 2 = 1.442695..., in units of 2^-60

uint64_t high_product(uint64_t a, uint64_t b) { return static_cast<uint64_t>((Wide{a} * b) >> 64); }

// log2(1 + z) in units of 2^-57, z < 2^-7 in units of 2^-64: z - z^2 / 2 + z^3 / 3 - ... up to z^8, by Horner.
uint64_t log2_near_one(uint64_t z) {
  constexpr uint64_t kOne = UINT64_MAX;  // 1, but for a unit of 2^-64
  uint64_t sum = kOne / 8;
  for (uint64_t i = 7; i > 0; --i) sum = kOne / i - high_product(sum, z);
  const uint64_t natural = high_product(sum, z);  // in units of 2^-64
  return static_cast<uint64_t>((Wide{natural} * kOverLog2) >> (64 + 60 - 57));
}

}  // namespace

// With M and k so that 2^-64 (bits | 1) = 2^(-1-n) M and M = (1 + k / 128) (1 + z) in [1, 2):
// -log2(u) = 1 + n - log2(1 + k / 128) - log2(1 + z).
uint64_t negative_log2(uint64_t bits) {
  const uint64_t odd = bits | 1;
  const auto n = static_cast<unsigned>(std::countl_zero(odd));
  const uint64_t m = odd << n;  // in units of 2^-63
  const uint64_t k = (m >> (63 - kTableBits)) & ((1u << kTableBits) - 1);
  const uint64_t edge = (uint64_t{1} << 63) + (k << (63 - kTableBits));
  const auto z = static_cast<uint64_t>((Wide{m - edge} << 64) / edge);
  const uint64_t whole = (uint64_t{1} + n) << 57, taken = kLogTable[k] + log2_near_one(z);
  return whole > taken ? whole - taken : 1;
}

// Each column has room for the mean of the weights. A column that is too small is filled up from a column that
// is too large, which then has that much less. Columns are gone through in their order, and sums are exact, so that the
// columns that are left at the end are full.
AliasTable::AliasTable(std::span<const double> weights) : keep_(weights.size()), alias_(weights.size()) {
  const std::vector<uint64_t> whole = whole_weights(weights);
  const uint64_t sum = std::accumulate(whole.begin(), whole.end(), uint64_t{0}), size = weights.size();
  std::iota(alias_.begin(), alias_.end(), 0u);
  std::vector<Wide> left(size);  // of each weight, times the number of columns: the room is `sum`
  for (uint64_t i = 0; i < size; ++i) left[i] = Wide{whole[i]} * size;
  const auto next = [&](uint64_t from, bool small) {
    while (from < size && (left[from] < sum) != small) ++from;
    return from;
  };
  uint64_t small = next(0, true), large = next(0, false);
  for (uint64_t column = small; column < size && large < size;) {
    keep_[column] = static_cast<uint64_t>((left[column] << 64) / sum);
    alias_[column] = static_cast<uint32_t>(large);
    left[large] -= sum - left[column];
    column = large;
    if (left[large] < sum) large = next(large + 1, false);  // one that was passed already is its own next column
    if (left[column] >= sum || column > small) column = small = next(small + 1, true);
  }
}

uint64_t AliasTable::operator()(Draw& draw) const {
  const uint64_t column = draw.below(size());
  return draw.bits64() < keep_[column] ? column : alias_[column];
}

std::vector<uint32_t> weighted_order(std::span<const double> weights, uint64_t count, uint64_t seed, uint64_t epoch) {
  using Keyed = std::pair<double, uint32_t>;  // equal keys are told apart by the number
  const uint64_t key = draw_key("weighted order");
  std::vector<Keyed> keyed(weights.size());
  for (uint32_t number = 0; number < keyed.size(); ++number) {
    Draw draw(seed, epoch, number, key);
    keyed[number] = {static_cast<double>(negative_log2(draw.bits64())) / weights[number], number};
  }
  const auto end = keyed.begin() + static_cast<std::ptrdiff_t>(count);
  if (end != keyed.end()) std::nth_element(keyed.begin(), end, keyed.end());
  std::sort(keyed.begin(), end);
  std::vector<uint32_t> numbers;
  numbers.reserve(count);
  for (auto at = keyed.begin(); at != end; ++at) numbers.push_back(at->second);
  return numbers;
}

}  // namespace spdld::sampler
