// The order of an epoch, as a pure function of (seed, epoch, position): a keyed permutation of 0 .. N-1 that needs no
// memory and seeks in O(1). It is a Feistel network over the bits of N - 1, with cycle walking (Black and Rogaway,
// "Ciphers with arbitrary finite domains", 2002). order.cpp says it exactly. Values; any thread.
#pragma once

#include <array>
#include <cstdint>

namespace spdld::sampler {

// Part of the position token: bumped whenever the same (seed, epoch, position) would give another sample.
inline constexpr uint32_t kOrderVersion = 1;

class Permutation {
 public:
  Permutation(uint64_t size, uint64_t seed, uint64_t epoch);  // size > 0
  uint64_t operator()(uint64_t position) const;               // position < size; a bijection on 0 .. size-1

 private:
  static constexpr unsigned kRounds = 8;

  uint64_t encrypt(uint64_t value) const;

  uint64_t size_;
  unsigned high_bits_, low_bits_;
  std::array<uint64_t, kRounds> keys_;
};

struct Order {
  uint64_t size = 0;  // samples of the data set
  uint64_t seed = 0;
  bool shuffle = true;
};

// The sample at a position of an epoch. Where many positions of one epoch are asked for, keep a Permutation instead.
uint64_t sample_at(const Order& order, uint64_t epoch, uint64_t position);

// The substitute for bad content: a keyed function of (seed, epoch, position, attempt), attempt from 1. It is any
// sample but the one of this position (unless there is only one), so it may well be another bad one: the caller bounds
// the attempts.
uint64_t substitute_at(const Order& order, uint64_t epoch, uint64_t position, uint32_t attempt);

}  // namespace spdld::sampler
