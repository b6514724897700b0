// The instruction sets of this machine.
#pragma once

#include <hwy/targets.h>

#include <catch2/catch.hpp>

namespace spdld::test {

// Calls check() with each instruction set of this machine, that of plain code among them.
template <typename Check>
void on_every_target(Check check) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    CAPTURE(hwy::TargetName(target));
    check(target);
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace spdld::test
