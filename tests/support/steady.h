// Checks that work which is done again and again allocates nothing once its memory has grown.
#pragma once

#include <catch2/catch.hpp>

#include "tests/support/allocations.h"

namespace spdld::test {

// `round` gives how many of its parts failed. Its first run must need memory, so that the count is shown to count.
template <typename Round>
void check_steady(const Round& round) {
  const long at_first = allocations();
  int failed = round();  // memory grows
  failed += round();     // ... and what was in pieces is put together
  const long before = allocations();
  for (int i = 0; i < 3; ++i) failed += round();
  const long counted = allocations() - before;
  CHECK((before > at_first) == counts_allocations());
  CHECK(counted == 0);
  CHECK(failed == 0);
}

}  // namespace spdld::test
