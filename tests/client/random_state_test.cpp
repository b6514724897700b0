#include "client/src/crew/random_state.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <set>
#include <string>

namespace spdld::random_state_test {

using namespace spdld;
using namespace spdld::client;

namespace {

// The memory of one of each generator.
struct Generators {
  Generators() {
    std::memset(this, 0xee, sizeof *this);
    pcg.numbers = &numbers;
  }
  void reset(uint64_t key) {
    RandomState state;
    state.of_python(&python);
    state.of_numpy(&numpy, &has_normal);
    state.of_generator(&pcg);
    state.of_torch(&torch);
    state.reset(key);
  }
  bool is_like(const Generators& other) const {
    return std::memcmp(&python, &other.python, sizeof python) == 0 &&
           std::memcmp(&numpy, &other.numpy, sizeof numpy) == 0 && has_normal == other.has_normal &&
           std::memcmp(&numbers, &other.numbers, sizeof numbers) == 0 && pcg.has_half == other.pcg.has_half &&
           pcg.half == other.pcg.half && std::memcmp(&torch, &other.torch, sizeof torch) == 0;
  }
  PythonRandom python;
  NumpyTwister numpy;
  int32_t has_normal;
  NumpyPcg::Numbers numbers;
  NumpyPcg pcg;
  TorchState torch;
};

}  // namespace

TEST_CASE("a generator of several is reset as the one of its kind") {
  Generators first, second;
  first.reset(call_key(3, 4));
  RandomState::reset(second.pcg, call_key(3, 4));
  CHECK(std::memcmp(&first.numbers, &second.numbers, sizeof first.numbers) == 0);
  CHECK(first.pcg.has_half == second.pcg.has_half);
  CHECK(first.pcg.half == second.pcg.half);
}

TEST_CASE("a reset leaves nothing of what was before") {
  Generators first, second;
  first.reset(call_key(3, operation_salt(0, "image")));
  second.reset(call_key(4, operation_salt(0, "image")));
  CHECK_FALSE(first.is_like(second));
  second.reset(call_key(3, operation_salt(0, "image")));
  CHECK(first.is_like(second));
  CHECK(first.python.index == 624);
  CHECK(first.numpy.place == 624);
  CHECK(first.has_normal == 0);
  CHECK(first.numbers.increment[0] % 2 == 1);
  CHECK(first.pcg.has_half == 0);
  CHECK(first.torch.left == 1);
}

TEST_CASE("keys, places, outputs and generators have numbers of their own") {
  std::set<uint64_t> seen;
  size_t count = 0;
  for (const std::string output : {"", "a", "b", "ab"}) {
    for (uint32_t place = 0; place < 8; place++) {
      const uint64_t salt = operation_salt(place, output);
      for (uint64_t key = 0; key < 64; key++) {
        for (uint32_t stream = 0; stream < 4; stream++) {
          KeyedBits bits(call_key(key, salt), stream);
          for (int draw = 0; draw < 8; draw++, count++) seen.insert(bits.next());
        }
      }
    }
  }
  CHECK(seen.size() == count);
}

TEST_CASE("the streams of keys that follow one another have nothing to do with each other") {
  // The first words of a thousand streams as one sequence: each bit is set in half of them, and two streams agree in
  // half of their bits.
  constexpr int kStreams = 4096;
  int set[64] = {}, agreeing = 0;
  uint64_t last = 0;
  for (int key = 0; key < kStreams; key++) {
    const uint64_t word = KeyedBits(call_key(static_cast<uint64_t>(key), operation_salt(0, "x")), 1).next();
    for (int bit = 0; bit < 64; bit++) set[bit] += static_cast<int>(word >> bit & 1);
    agreeing += __builtin_popcountll(~(word ^ last));
    last = word;
  }
  for (const int count : set) CHECK(std::abs(count - kStreams / 2) < 5 * 32);  // five deviations of a fair coin
  CHECK(std::abs(agreeing - kStreams * 32) < 5 * 256);
}

TEST_CASE("numbers are the same on every machine and in every release") {
  KeyedBits bits(call_key(1, operation_salt(2, "image")), 3);
  CHECK(bits.next() == 0xec5dc95fdb84c335);
}

}  // namespace spdld::random_state_test
