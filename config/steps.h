// Work that reports name beside the operations, since several operations share it. No pipeline can write it, or do
// without it, so that no report advises on it. No operation has such a name (a test). Constant data; any thread.
#pragma once

#include <array>
#include <string_view>

namespace spdld::config {

struct SharedStep {
  std::string_view name;
  std::string_view help;
};

inline constexpr SharedStep kResampleStep = {
    "resample", "all that is done with decoded pixels but adjustments: crops, resizes, flips, and the tensor's values"};
inline constexpr SharedStep kStoreStep = {
    "store", "an integer, or a tensor that another executor gives, is written into its place"};

inline constexpr std::array kSharedSteps = {kResampleStep, kStoreStep};

}  // namespace spdld::config
