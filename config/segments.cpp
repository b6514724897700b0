#include "config/segments.h"

#include <algorithm>

#include "config/catalogue.h"

namespace spdld::config {

std::vector<Segment> segments_of(std::span<const OperationSpec> ops) {
  std::vector<Segment> segments(1);
  for (size_t i = 0; i < ops.size(); i++) {
    const std::string_view executor = find_operation(ops[i].op)->executor;
    if (executor != segments.back().executor) {
      if (!executor.empty() && !segments.back().executor.empty()) segments.push_back({.first = i});
      segments.push_back({.executor = executor, .first = i});
    }
    segments.back().count++;
  }
  if (!segments.back().executor.empty()) segments.push_back({.first = ops.size()});
  return segments;
}

bool uses_executor(std::span<const OutputSpec> outputs, std::string_view executor) {
  const auto is_theirs = [&](const OperationSpec& op) { return find_operation(op.op)->executor == executor; };
  return std::ranges::any_of(outputs,
                             [&](const OutputSpec& output) { return std::ranges::any_of(output.ops, is_theirs); });
}

bool uses_executor(const PipelineSpec& spec, std::string_view executor) {
  const auto is_theirs = [&](const SourceSpec& source) {
    const SourceType* const type = find_source(source.type);
    return type != nullptr && type->executor == executor;
  };
  return uses_executor(spec.outputs, executor) || std::ranges::any_of(spec.sources, is_theirs);
}

}  // namespace spdld::config
