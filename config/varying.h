// Outputs whose samples differ in length: the bound of a sample, and the tensors that stand beside such an output. Pure
// functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/signature.h"
#include "config/spec.h"

namespace spdld::config {

// The most places of a sample along its first dimension, and the most bytes of its part of one tensor.
inline constexpr uint64_t kLengthMax = 1u << 30, kSampleBytesMax = 1u << 30;
inline constexpr size_t kBatchTensorsMax = 64;  // of a batch, with all that stand beside outputs: the protocol's bound

// The bound of a sample's length.
struct LengthBound {
  uint64_t length_max = 0;
  // Not empty: the output can't be made. `key` is the output's key that is wrong, and `error` the end of a sentence
  // about it.
  std::string_view key = {};
  std::string error = {};
};
// `end`: what the output's chain gives, followed without error. Precondition: the form is not kFixed.
LengthBound length_bound(const VaryingSpec& varying, const Signature& end);

// The name of the offsets of a ragged output.
std::string offsets_name(const std::string& output);
// The names of the tensors of a batch that the output makes, with the further tensors of its operations.
std::vector<std::string> tensor_names(const OutputSpec& output);

}  // namespace spdld::config
