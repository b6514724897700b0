// Numbers that outputs tell the other outputs of a sample before any of them runs, such as where a recording's part
// begins. In the workspace of a decode thread; one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/media/decode_limits.h"

namespace spdld::media {

class ToldNumbers {
 public:
  explicit ToldNumbers(const DecodeLimits&) {}
  void shrink(size_t) {}

  // Numbers of another sample are forgotten.
  void tell(uint64_t sample, const std::string& output, double number) {
    if (sample_ != sample) told_.clear();
    sample_ = sample;
    const auto known = place_of(output);
    if (known != told_.end())
      known->number = number;
    else
      told_.push_back({output, number});
  }
  // None: no such output has told one.
  std::optional<double> find(const std::string& output) {
    const auto known = place_of(output);
    return known == told_.end() ? std::nullopt : std::optional(known->number);
  }

 private:
  struct Told {
    std::string output;
    double number;
  };
  std::vector<Told>::iterator place_of(const std::string& output) {
    return std::find_if(told_.begin(), told_.end(), [&](const Told& told) { return told.output == output; });
  }

  std::optional<uint64_t> sample_;
  std::vector<Told> told_;
};

}  // namespace spdld::media
