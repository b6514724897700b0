// The views as plain text, for logs.
#include "client/cli/query.h"
#include "client/cli/state/verdict_text.h"
#include "client/cli/top/views.h"

namespace spdld::cli::top {
namespace {

std::string verdicts_text(const Sight& sight, const Page& page) {
  Facts facts;
  for (const PipelineSight& pipeline : sight.pipelines) facts.add(pipeline.name, limiter_cell(*pipeline.verdict));
  return facts.empty() ? "" : "\n" + facts.text(page);
}

std::string all_text(const Sight& sight, const Page& page) {
  const Grid grid = pipelines_grid(sight);
  const std::string pipelines =
      grid.empty() ? "no pipeline is open\n" : grid.table().text(page) + verdicts_text(sight, page);
  return head_facts(sight).text(page) + "\n" + pipelines;
}

std::string one_text(const Sight& sight, const PipelineSight& pipeline, const Page& page) {
  std::string text = head_facts(sight).text(page) + "\n" + pipeline_facts(sight, pipeline).text(page);
  if (!text_or_empty(*pipeline.verdict, "limiter").empty()) text += "\n" + verdict_text(*pipeline.verdict, page);
  for (const Section& section : pipeline_sections(sight, pipeline)) text += "\n" + section.grid.table().text(page);
  return text;
}

}  // namespace

std::string batch_text(const config::Json& document, uint32_t window_s, const std::string& pipeline, size_t columns) {
  const Sight sight = sight_of(document, window_s);
  const Page page{false, columns};
  if (pipeline.empty()) return all_text(sight, page);
  for (const PipelineSight& one : sight.pipelines)
    if (one.name == pipeline) return one_text(sight, one, page);
  return head_facts(sight).text(page) + "\nno pipeline '" + pipeline + "' is open\n";
}

}  // namespace spdld::cli::top
