// Cells that several tables have. Pure; any thread.
#pragma once

#include <string>

#include "client/cli/top/grid.h"
#include "config/text/json.h"

namespace spdld::cli::top {

GridCell rate_cell(double per_s);
GridCell share_cell(double share);    // 0 to 1, in percent
GridCell waiting_cell(double share);  // yellow where trainers wait
GridCell count_cell(uint64_t count, Style style = Style::kPlain);
GridCell bytes_cell(double bytes, const char* behind = "");
GridCell bar_cell(std::string text, double part, Style style);
// Of a time in microseconds; "-": nothing.
GridCell time_cell(const config::Json& part, const char* key);
// The entry of this name in `part`, counted.
GridCell count_cell(const config::Json& part, const char* key);

}  // namespace spdld::cli::top
