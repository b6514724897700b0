// The results of the checks of a node. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spdld::cli::doctor {

enum class Level : uint8_t {
  kOk,
  kNote,  // worth knowing; nothing is wrong
  kWarn,  // it works, and slowly, or not for long
  kFail   // something does not work
};
std::string_view name_of(Level level);  // "OK", "NOTE", "WARN", "FAIL"

struct Finding {
  Level level = Level::kOk;
  std::string check;   // what was looked at: "open files"
  std::string found;   // what was found
  std::string advice;  // what to do; empty: nothing
};
using Findings = std::vector<Finding>;

}  // namespace spdld::cli::doctor
