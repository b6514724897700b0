#include "client/src/crew/random_state.h"

#include <cstring>

namespace spdld::client {

namespace {

constexpr uint64_t kGamma = 0x9e3779b97f4a7c15;  // of splitmix64

enum Stream : uint32_t { kPython = 1, kNumpy = 2, kGenerator = 3, kTorch = 4 };

uint64_t mixed(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

uint32_t half(uint64_t bits) { return static_cast<uint32_t>(bits >> 32); }

}  // namespace

uint64_t operation_salt(uint32_t place, std::string_view output) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char letter : output) hash = (hash ^ static_cast<uint8_t>(letter)) * 0x100000001b3;
  return mixed(mixed(hash + kGamma) + place * kGamma);
}

uint64_t call_key(uint64_t key, uint64_t salt) { return mixed(mixed(key + kGamma) + salt); }

KeyedBits::KeyedBits(uint64_t key, uint32_t stream) : at_(mixed(key + stream * kGamma)) {}

uint64_t KeyedBits::next() {
  at_ += kGamma;
  return mixed(at_);
}

void RandomState::reset(uint64_t key) const {
  if (python_) {
    KeyedBits bits(key, kPython);
    for (size_t i = 0; i < kTwisterWords; i += 2) {
      const uint64_t both = bits.next();
      python_->words[i] = static_cast<uint32_t>(both);
      python_->words[i + 1] = half(both);
    }
    python_->index = kTwisterWords;  // the next draw makes new words of these
  }
  if (numpy_) {
    KeyedBits bits(key, kNumpy);
    for (size_t i = 0; i < kTwisterWords; i += 2) {
      const uint64_t both = bits.next();
      numpy_->words[i] = static_cast<uint32_t>(both);
      numpy_->words[i + 1] = half(both);
    }
    numpy_->place = kTwisterWords;
    if (has_normal_) *has_normal_ = 0;
  }
  if (generator_) reset(*generator_, key);
  reset_torch(key);
}

void RandomState::reset(NumpyPcg& generator, uint64_t key) {
  KeyedBits bits(key, kGenerator);
  NumpyPcg::Numbers& numbers = *generator.numbers;
  for (uint64_t& word : numbers.state) word = bits.next();
  for (uint64_t& word : numbers.increment) word = bits.next();
  numbers.increment[0] |= 1;  // PCG's are odd
  generator.has_half = 0;
  generator.half = 0;
}

void RandomState::reset_torch(uint64_t key) const {
  if (torch_) {
    KeyedBits bits(key, kTorch);
    torch_->seed = bits.next();
    torch_->left = 1;
    torch_->is_seeded = 1;
    torch_->next = 0;
    for (size_t i = 0; i < kTwisterWords; i += 2) {
      const uint64_t both = bits.next();
      torch_->words[i] = both & 0xffffffff;
      torch_->words[i + 1] = half(both);
    }
    std::memset(torch_->normals, 0, sizeof torch_->normals);
  }
}

}  // namespace spdld::client
