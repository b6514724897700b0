// Finds the part of a pipeline that holds the others up, from the statistics of `describe`. A pure function; any
// thread.
#pragma once

#include <string>

#include "config/json.h"

namespace spdld::cli {

struct Bottleneck {
  std::string part;  // "fetch", "decode", "trainer"; "none" while there is nothing to judge by
  std::string why;   // one sentence with the figures
};

// How many of each ran side by side, to compare with busy time: decode threads of the node, and local reads.
struct Lanes {
  double decode = 1;
  double fetch = 1;
};

// `describe` as the daemon answers it (throws Failure where fields are missing).
Bottleneck find_bottleneck(const config::Json& describe, const Lanes& lanes);

}  // namespace spdld::cli
