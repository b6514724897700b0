#include "daemon/base/random.h"

#include <cmath>

#include "daemon/base/wide.h"

namespace spdld {
namespace {

constexpr uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;  // the paper's table 2
constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;              // golden ratio, sqrt(3) - 1

constexpr uint32_t low_half(uint64_t value) { return static_cast<uint32_t>(value); }
constexpr uint32_t high_half(uint64_t value) { return static_cast<uint32_t>(value >> 32); }

}  // namespace

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{kMultiplier0} * counter[0];
    const uint64_t p1 = uint64_t{kMultiplier1} * counter[2];
    counter = {high_half(p1) ^ counter[1] ^ key[0], low_half(p1), high_half(p0) ^ counter[3] ^ key[1], low_half(p0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

uint64_t draw_key(std::string_view name) {
  uint64_t hash = 0xCBF29CE484222325;  // FNV-1a's offset basis and prime for 64 bits
  for (const char c : name) {
    hash ^= static_cast<uint8_t>(c);
    hash *= 0x100000001B3;
  }
  return hash;
}

// What a seed means (to change this is to change every pipeline's pixels):
//
//   place   = philox(counter = {sample low, sample high, epoch low, epoch high}, key = {seed low, seed high})
//   block b = philox(counter = {b, place[2], key low, key high}, key = {place[0], place[1]}),  b = 0, 1, ...
//
// and a stream is its blocks' words in turn. For one seed, `place` is a bijection of (sample, epoch), and 96 of its
// bits are used: two of a run's 2^30 or so (sample, epoch) meet with a chance of 2^-37. Names of one sample never meet
// unless their 64-bit keys are equal: they are different counters under the same key.
Draw::Draw(uint64_t seed, uint64_t epoch, uint64_t sample, uint64_t key) {
  const auto place = philox4x32({low_half(sample), high_half(sample), low_half(epoch), high_half(epoch)},
                                {low_half(seed), high_half(seed)});
  key_ = {place[0], place[1]};
  counter_ = {0, place[2], low_half(key), high_half(key)};
}

uint32_t Draw::bits() {
  if (used_ == block_.size()) {
    block_ = philox4x32(counter_, key_);
    ++counter_[0];
    used_ = 0;
  }
  return block_[used_++];
}

uint64_t Draw::bits64() {
  const uint64_t high = bits();
  return high << 32 | bits();
}

double Draw::uniform(double low, double high) {
  const double value = low + static_cast<double>(bits64() >> 11) * 0x1p-53 * (high - low);
  // The sum may round up to `high`, which must not come out.
  return value < high || low >= high ? value : std::nextafter(high, low);
}

// Lemire, "Fast random integer generation in an interval", 2019: the high half of bits * bound, rejecting the few low
// halves that would favour some results.
uint64_t Draw::below(uint64_t bound) {
  const uint64_t threshold = (0 - bound) % bound;  // 2^64 mod bound
  Wide product = 0;
  do {
    product = Wide{bits64()} * bound;
  } while (static_cast<uint64_t>(product) < threshold);
  return static_cast<uint64_t>(product >> 64);
}

uint64_t Draw::below_but(uint64_t bound, uint64_t excluded) {
  const uint64_t other = below(bound - 1);
  return other < excluded ? other : other + 1;
}

}  // namespace spdld
