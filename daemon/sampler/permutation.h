// A keyed permutation of 0 .. N-1 that needs no memory and answers for any position in O(1): a Feistel network over the
// bits of N - 1, with cycle walking (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002). permutation.cpp
// has the details. A value; any thread.
#pragma once

#include <array>
#include <cstdint>

#include "daemon/base/random.h"

namespace spdld::sampler {

class Permutation {
 public:
  Permutation(uint64_t size, Draw keys);         // size > 0; takes 16 words of `keys`
  uint64_t operator()(uint64_t position) const;  // position < size; a bijection on 0 .. size-1

 private:
  static constexpr unsigned kRounds = 8;

  uint64_t encrypt(uint64_t value) const;

  uint64_t size_;
  unsigned high_bits_, low_bits_;
  std::array<uint64_t, kRounds> keys_;
};

}  // namespace spdld::sampler
