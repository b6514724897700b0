// The counter-based generator behind every random draw: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy
// as 1, 2, 3", SC 2011). A draw is a pure function of (seed, epoch, sample, name, index), so pixels depend neither on
// threads nor on timing, and two outputs that name the same draw share it. Values; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace spdld {

// Ten rounds over a 128-bit counter with a 64-bit key.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// 64-bit FNV-1a of a draw's name: stable over versions, since it is part of what a seed means.
uint64_t draw_key(std::string_view name);

// Mixes 64 bits so that each bit of the result depends on every bit of the input; a bijection (Stafford's variant 13 of
// MurmurHash3's finaliser, as in SplitMix64). It takes a third of a Philox block's time.
constexpr uint64_t mix_bits(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

// One named stream of numbers. Successive calls give successive numbers.
class Draw {
 public:
  Draw(uint64_t seed, uint64_t epoch, uint64_t sample, uint64_t key);

  uint32_t bits();                          // 32 uniform bits
  uint64_t bits64();                        // two words of them, high first
  double uniform(double low, double high);  // [low, high), 53 bits
  uint64_t below(uint64_t bound);           // [0, bound), unbiased; bound > 0
  uint64_t below_but(uint64_t bound,
                     uint64_t excluded);  // the same, but not `excluded`, which is below bound; bound > 1
 private:
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> counter_;
  std::array<uint32_t, 4> block_{};
  unsigned used_ = 4;
};

// The source of random draws for a sample's operations.
struct Draws {
  uint64_t seed = 0, epoch = 0, sample = 0;
  Draw named(uint64_t key) const { return Draw(seed, epoch, sample, key); }
};

}  // namespace spdld
