// The work of another executor on each sample, in place of the decode threads: one segment of an output's chain
// (config/segments.h). Plain values, which a plan keeps.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "config/operation.h"

namespace spdld::pipeline {

struct Errand {
  std::string_view executor;  // OperationType::executor
  size_t turn = 1;            // how many segments of others are before it in its output, and itself
  std::string output;         // its name
  size_t first = 0;           // the place of its first operation in the output's chain
  std::vector<config::OperationSpec> ops;
  config::Signature takes, gives;  // of kBytes or kTensor
  // Places in Passage::carried: of what it takes, and of what it gives.
  size_t from = 0, to = 0;
};

}  // namespace spdld::pipeline
