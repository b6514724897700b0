// Ragged and padded batches of the fake daemon: "boxes" are ragged, "text" is padded, with lengths and a mask beside
// it.
#pragma once

#include <cstring>
#include <utility>

#include "tests/support/fake_daemon.h"

namespace spdld::test {

inline constexpr uint64_t kRaggedOffsets = 512, kRaggedValues = 1024, kTokens = 2048, kLengths = 3072, kMask = 3200;

// Of batch `number`, sample i has (number + i) % 4 boxes, and number + i + 1 tokens.
inline int64_t boxes_of(uint64_t number, uint64_t i) { return static_cast<int64_t>((number + i) % 4); }
inline int32_t tokens_of(uint64_t number, uint64_t i) { return static_cast<int32_t>(number + i + 1); }

inline int64_t boxes_in(uint64_t number, uint64_t samples) {
  int64_t sum = 0;
  for (uint64_t i = 0; i < samples; ++i) sum += boxes_of(number, i);
  return sum;
}

inline void write_ragged(unsigned char* slot, uint64_t number) {
  int64_t offsets[5] = {};
  for (uint64_t i = 0; i < 4; ++i) offsets[i + 1] = offsets[i] + boxes_of(number, i);
  std::memcpy(slot + kRaggedOffsets, offsets, sizeof offsets);
  for (int64_t value = 0; value < 2 * offsets[4]; ++value) {
    const auto written = static_cast<float>(100 * number) + static_cast<float>(value);
    std::memcpy(slot + kRaggedValues + 4 * value, &written, sizeof written);
  }
  for (uint64_t i = 0; i < 4; ++i) {
    const int32_t length = tokens_of(number, i);
    std::memcpy(slot + kLengths + 4 * i, &length, sizeof length);
    for (uint64_t k = 0; k < number + 4; ++k) {
      const auto is_there = static_cast<unsigned char>(static_cast<int32_t>(k) < length);
      slot[kTokens + i * (number + 4) + k] = static_cast<unsigned char>(is_there * (10 * i + k));
      slot[kMask + i * (number + 4) + k] = is_there;
    }
  }
}

inline void describe_ragged(FakeReady& ready) {
  const uint64_t number = ready.epoch * 5 + ready.step, longest = number + 4;
  const auto values = static_cast<uint64_t>(boxes_in(number, ready.valid));
  ready.tensors.push_back({"boxes", proto::DType::float32, {values, 2}, {}, kRaggedValues, proto::Role::values});
  ready.tensors.push_back(
      {"boxes.offsets", proto::DType::int64, {5}, {}, kRaggedOffsets, proto::Role::offsets, "boxes"});
  ready.tensors.push_back({"text", proto::DType::uint8, {4, longest}, {}, kTokens});
  ready.tensors.push_back({"text.lengths", proto::DType::int32, {4}, {}, kLengths, proto::Role::lengths, "text"});
  ready.tensors.push_back({"text.mask", proto::DType::bool_, {4, longest}, {}, kMask, proto::Role::mask, "text"});
}

inline FakeScript ragged_script(std::function<void(FakeReady&)> tamper = nullptr) {
  FakeScript script;
  script.write = &write_ragged;
  script.tamper = [tamper = std::move(tamper)](FakeReady& ready) {
    describe_ragged(ready);
    if (tamper) tamper(ready);
  };
  return script;
}

}  // namespace spdld::test
