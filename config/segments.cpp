#include "config/segments.h"

#include <algorithm>
#include <string>

#include "config/catalogue.h"

namespace spdld::config {

namespace {

// 0: it has no such parameter.
size_t count_in(const OperationSpec& op, const std::string& parameter) {
  const auto at = op.parameters.find(parameter);
  const auto* const count = at == op.parameters.end() ? nullptr : std::get_if<int64_t>(&at->second);
  return count == nullptr || *count < 0 ? 0 : static_cast<size_t>(*count);
}

}  // namespace

size_t bunch_of(const OperationSpec& op) { return count_in(op, "batch"); }

size_t in_flight_of(const OperationSpec& op) { return count_in(op, "in_flight"); }

std::vector<Segment> segments_of(std::span<const OperationSpec> ops) {
  std::vector<Segment> segments(1);
  for (size_t i = 0; i < ops.size(); i++) {
    const std::string_view executor = find_operation(ops[i].op)->executor;
    const bool is_apart = !executor.empty() && i > 0 && (bunch_of(ops[i]) > 0 || bunch_of(ops[i - 1]) > 0);
    if (executor != segments.back().executor || is_apart) {
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
