// The findings of `spdlctl doctor`, for people and for programs. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <string>

#include "client/cli/doctor/finding.h"
#include "client/cli/format.h"
#include "config/text/json.h"

namespace spdld::cli::doctor {

size_t count_of(const Findings& findings, Level level);

// A line for each finding, what to do below the line, and a sum.
std::string report_text(const Findings& findings, const Page& page);

// {"checks": [{"level", "check", "found", "advice"}], "failed", "warned"}
config::Json report_document(const Findings& findings);

}  // namespace spdld::cli::doctor
