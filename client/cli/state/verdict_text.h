// The daemon's verdict on a pipeline, as people read it. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "client/cli/table.h"
#include "config/text/json.h"

namespace spdld::cli {

// One line: what limits, and the sentence on it. `verdict`: of describe or metrics; empty: there is none yet.
Cell limiter_cell(const config::Json& verdict);
Style limiter_style(std::string_view limiter);
std::string surety_text(double confidence);             // "sure", "likely", "a guess"
std::string forecast_text(const config::Json& remedy);  // "1.45 x"; empty: there is no forecast
// All of a verdict: what limits, how sure that is, and what to do, with what each change would bring. Throws Failure
// where fields are missing.
std::string verdict_text(const config::Json& verdict, const Page& page);

}  // namespace spdld::cli
