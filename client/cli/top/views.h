// The contents of each view: tables, and lines of figures. The screen puts them together (screen_of in top_screen.h),
// and
// `--batch` writes them whole. Pure; any thread.
#pragma once

#include <string>

#include "client/cli/top/grid.h"
#include "client/cli/top/lines.h"
#include "client/cli/top/sight.h"

namespace spdld::cli::top {

// The node: its version, cores by role, memory, and bars where there is room for them.
Lines head_lines(const Sight& sight, size_t columns, size_t rows_most);
Facts head_facts(const Sight& sight);

Grid pipelines_grid(const Sight& sight);
// The trainers of all pipelines.
Grid sessions_grid(const Sight& sight);

// "fetch [|||   ] 3.1/16  decode [|||||] 1.9/2  ring [||  ] 1/4 -> 2 trainers".
Line way_line(const PipelineSight& pipeline, size_t columns);
// The verdict: the limiting part, the reason, and the changes that help. The most important lines come first.
Lines verdict_lines(const PipelineSight& pipeline, size_t columns);

// Tables with a head line each, of one pipeline.
struct Section {
  std::string title;
  Grid grid;
};
std::vector<Section> pipeline_sections(const Sight& sight, const PipelineSight& pipeline);
Facts pipeline_facts(const Sight& sight, const PipelineSight& pipeline);
// All of the view of one pipeline.
Lines pipeline_lines(const Sight& sight, const PipelineSight& pipeline, size_t columns);
Lines help_lines(size_t columns);

// For logs: plain text without control characters, and nothing left out. `pipeline` is the name of a
// pipeline that is shown with its parts; empty: all, without their parts.
std::string batch_text(const config::Json& document, uint32_t window_s, const std::string& pipeline, size_t columns);

}  // namespace spdld::cli::top
