// Kernels that must give the same values on every instruction set.
#pragma once

#include <hwy/targets.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <functional>
#include <vector>

#include "daemon/base/random.h"

namespace spdld::test {

using Values = std::vector<uint8_t>;

inline Values noise_values(size_t count, uint64_t seed) {
  Values values(count);
  for (uint8_t& value : values) value = static_cast<uint8_t>(mix_bits(seed += 0x9E3779B97F4A7C15));
  return values;
}

// What `make` gives on the instruction set with most lanes; all others must give the same.
inline Values on_all_sets(const std::function<Values()>& make) {
  const Values wanted = make();
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    INFO(hwy::TargetName(target));
    CHECK((make() == wanted));  // without the values, which may be many
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return wanted;
}

}  // namespace spdld::test
