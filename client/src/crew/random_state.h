// Random generators that stand at a known state before each call of user code: the state is a pure function of the
// sample's key, the operation's place and its output's name, so that a sample's draws are the same in every process.
// The generators are kept, and their memory is written: a new generator, or a seed, costs more than the call of a small
// function. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace spdld::client {

inline constexpr size_t kTwisterWords = 624;
inline constexpr size_t kTorchStateBytes = 5056;

// Of one operation; calls of other operations draw other numbers.
uint64_t operation_salt(uint32_t place, std::string_view output);
// `key`: of the sample in this pass (proto::crew::Task).
uint64_t call_key(uint64_t key, uint64_t salt);

// Numbers without end that follow from a key: splitmix64 from a place that the key and the number of a stream decide.
class KeyedBits {
 public:
  KeyedBits(uint64_t key, uint32_t stream);
  uint64_t next();

 private:
  uint64_t at_;
};

// The memory of generators, as the libraries lay it out. The caller who tells an address has made sure of it.
struct PythonRandom {  // of the module random
  int32_t index;
  uint32_t words[kTwisterWords];
};
struct NumpyTwister {  // numpy.random.MT19937
  uint32_t words[kTwisterWords];
  int32_t place;
};
struct NumpyPcg {  // numpy.random.PCG64
  struct Numbers {
    uint64_t state[2], increment[2];
  };
  Numbers* numbers;
  int32_t has_half;
  uint32_t half;
};
// The bytes of torch's Generator.get_state() on the CPU.
struct TorchState {
  uint64_t seed;
  int32_t left;
  int32_t is_seeded;
  uint64_t next;
  uint64_t words[kTwisterWords];
  uint8_t normals[kTorchStateBytes - 24 - 8 * kTwisterWords];  // draws that are kept for later: none
};
static_assert(sizeof(TorchState) == kTorchStateBytes);

class RandomState {
 public:
  // Each state is borrowed. A generator whose state is never told stays as it is.
  void of_python(PythonRandom* memory) { python_ = memory; }
  // `has_normal`: whether the legacy state keeps a normal draw for later.
  void of_numpy(NumpyTwister* memory, int32_t* has_normal) {
    numpy_ = memory;
    has_normal_ = has_normal;
  }
  void of_generator(NumpyPcg* memory) { generator_ = memory; }
  // Bytes to give to set_state() after each reset.
  void of_torch(TorchState* memory) { torch_ = memory; }

  // `key`: from call_key().
  void reset(uint64_t key) const;
  // Of a generator that it was not told of, as of_generator()'s.
  static void reset(NumpyPcg& generator, uint64_t key);
  // Torch's alone, where it came after the reset with this key.
  void reset_torch(uint64_t key) const;

 private:
  PythonRandom* python_ = nullptr;
  NumpyTwister* numpy_ = nullptr;
  int32_t* has_normal_ = nullptr;
  NumpyPcg* generator_ = nullptr;
  TorchState* torch_ = nullptr;
};

}  // namespace spdld::client
