#include "daemon/sampler/permutation.h"

#include <algorithm>
#include <bit>

namespace spdld::sampler {
namespace {

// Halves of fewer bits have so few round functions that some orders of a handful of samples would come up far too
// often.
constexpr unsigned kBitsMin = 8;

uint64_t low_mask(unsigned bits) { return (uint64_t{1} << bits) - 1; }  // bits <= 32

}  // namespace

// With b the bits of size - 1, but at least 8, the value is split into H (its upper b/2 bits, rounded down) and L (the
// others); in rounds i = 0, 2, 4, 6   H ^= F(L, k[i]),   in rounds 1, 3, 5, 7   L ^= F(H, k[i]),   where
// F(x, k) = mix_bits(x ^ k), cut to its lowest bits. An odd b keeps the domain below twice the size, so that fewer than
// one walk in two has a second step. The round keys are words of the draw, two a key, high first.
Permutation::Permutation(uint64_t size, Draw keys) : size_(size) {
  const unsigned bits = std::max(kBitsMin, static_cast<unsigned>(std::bit_width(size - 1)));
  high_bits_ = bits / 2;
  low_bits_ = bits - high_bits_;
  for (uint64_t& key : keys_) key = keys.bits64();
}

uint64_t Permutation::operator()(uint64_t position) const {
  // Ends: `encrypt` is a permutation of the domain, so the walk comes back to `position`, which is below size, at the
  // latest.
  do {
    position = encrypt(position);
  } while (position >= size_);
  return position;
}

uint64_t Permutation::encrypt(uint64_t value) const {
  const uint64_t high_mask = low_mask(high_bits_), low_bits_mask = low_mask(low_bits_);
  uint64_t high = value >> low_bits_, low = value & low_bits_mask;
  for (unsigned i = 0; i < kRounds; i += 2) {
    high ^= mix_bits(low ^ keys_[i]) & high_mask;
    low ^= mix_bits(high ^ keys_[i + 1]) & low_bits_mask;
  }
  return high << low_bits_ | low;
}

}  // namespace spdld::sampler
