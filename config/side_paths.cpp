#include "config/side_paths.h"

#include <bit>
#include <utility>

#include "config/operation.h"
#include "config/segments.h"

namespace spdld::config {
namespace {

// Calls see(value) for each value of this type.
template <typename Operations, typename See>
void for_each_value(Operations& ops, ParameterType type, const See& see) {
  for (auto& op : ops) {
    for (const Parameter& parameter : find_operation(op.op)->parameters) {
      const auto found = op.parameters.find(parameter.name);
      if (parameter.type == type && found != op.parameters.end()) see(found->second);
    }
    for_each_value(op.ops, type, see);
  }
}

void add_lists(const Selection& selection, const std::string& table, std::vector<ListPath>& lists) {
  if (is_list_path(selection.include)) lists.push_back({table + ": include", selection.include});
  if (is_list_path(selection.exclude)) lists.push_back({table + ": exclude", selection.exclude});
  if (selection.part.has_groups_file()) lists.push_back({table + ": part.groups", selection.part.groups});
}

}  // namespace

std::vector<ListPath> list_paths_of(const PipelineSpec& spec) {
  std::vector<ListPath> lists;
  add_lists(spec.order, "order", lists);
  if (spec.order.has_weights_file()) lists.push_back({"order: weights", spec.order.weights});
  for (const SourceSpec& source : spec.sources) {
    const std::string table = source.name.empty() ? "source" : "source " + source.name;
    add_lists(source, table, lists);
    if (is_list_path(source.classes)) lists.push_back({table + ": classes", source.classes});
  }
  return lists;
}

void for_each_side_path(std::span<OutputSpec> outputs, const std::function<void(std::string&)>& see) {
  for (OutputSpec& output : outputs)
    for_each_value(output.ops, ParameterType::kPath, [&](Value& value) { see(std::get<std::string>(value)); });
}

std::vector<std::string> side_paths_of(const PipelineSpec& spec) {
  std::vector<std::string> paths;
  for (const OutputSpec& output : spec.outputs)
    for_each_value(output.ops, ParameterType::kPath,
                   [&](const Value& value) { paths.push_back(std::get<std::string>(value)); });
  return paths;
}

uint64_t side_bytes_max_of(const PipelineSpec& spec) {
  uint64_t bytes = 0;
  for (const OutputSpec& output : spec.outputs)
    for_each_value(output.ops, ParameterType::kSize,
                   [&](const Value& value) { bytes += static_cast<uint64_t>(std::get<int64_t>(value)); });
  return bytes + (uses_executor(spec, kUserExecutor) ? std::bit_ceil(spec.python.scratch_bytes) : 0);
}

}  // namespace spdld::config
