// Looks whether the local files and folders that a pipeline names are there, for this user. One thread.
#pragma once

#include <string>
#include <vector>

#include "config/spec.h"

namespace spdld::cli {

// A sentence on each file or folder that is not there, or can't be read; at most kDataRemarksMax. Remote data is not
// asked for.
inline constexpr size_t kDataRemarksMax = 20;
std::vector<std::string> data_remarks(const config::PipelineSpec& spec);

}  // namespace spdld::cli
