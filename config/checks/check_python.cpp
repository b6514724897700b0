// The checks of [python]: the processes that run a pipeline's functions in Python.
#include <algorithm>
#include <string>

#include "config/batch_shapes.h"
#include "config/catalogue.h"
#include "config/checks/check.h"
#include "config/segments.h"
#include "config/text/words.h"

namespace spdld::config {
namespace {

using Type = ParameterType;

constexpr double kProcessesMax = 256;
constexpr double kCallLimitMaxS = 3600;

}  // namespace

const std::vector<Parameter>& python_keys() {
  static const PythonSpec defaults;
  static const std::vector<Parameter> keys = {
      {.name = "processes",
       .type = Type::kInteger,
       .help = "that run the functions; 0: the daemon decides",
       .fallback = Value(int64_t{defaults.processes}),
       .min = 0,
       .max = kProcessesMax},
      {.name = "call_limit_s",
       .type = Type::kNumber,
       .help = "the longest time of a call, after which its process is ended",
       .fallback = Value(defaults.call_limit_s),
       .min = 0,
       .max = kCallLimitMaxS,
       .above_min = true},
      {.name = "memory",
       .type = Type::kSize,
       .help = "the most that one process may take; 0: no limit",
       .fallback = Value(static_cast<int64_t>(defaults.memory_bytes_max)),
       .min = 0,
       .max = 0x1p50},
      {.name = "scratch",
       .type = Type::kSize,
       .help = "the memory in which samples lie for the functions, and their results",
       .fallback = Value(static_cast<int64_t>(defaults.scratch_bytes)),
       .min = 0x1p20,
       .max = 0x1p34}};
  return keys;
}

PythonSpec check_python(const Node& node, const PipelineSpec* spec, Complaints& complaints) {
  const TableReader reader(node, "python", python_keys(), complaints);
  reader.refuse_unknown();
  const PythonSpec python{.processes = static_cast<uint32_t>(reader.integer("processes")),
                          .call_limit_s = reader.number("call_limit_s"),
                          .memory_bytes_max = static_cast<uint64_t>(reader.integer("memory")),
                          .scratch_bytes = static_cast<uint64_t>(reader.integer("scratch"))};
  if (spec != nullptr && !uses_executor(*spec, kUserExecutor))
    complaints.add(node.line, "python",
                   "is for code of the user's own, and no output or source has any: write { op = \"python\" } where an "
                   "operation is meant, or take the table out");
  return python;
}

void check_beside_items(const PipelineSpec& spec, const Node& root, Complaints& complaints) {
  const auto made = std::ranges::find_if(spec.sources, is_made);
  if (made == spec.sources.end()) return;
  const std::string beside = "may not stand beside a source of the type " + in_quotes(made->type) + ": ";
  const auto complain = [&](const Node* node, const std::string& key, const std::string& why) {
    complaints.add(node == nullptr ? 0 : node->line, key, beside + why);
  };
  const std::string_view early = "its samples are made when they are wanted, and can't be measured before";
  if (spec.rows.is_on()) complain(root.find("rows"), "rows", std::string(early));
  const Node* const batch = root.find("batch");
  if (batch != nullptr && batch->find("cost_max") != nullptr)
    complain(batch->find("cost_max"), "batch.cost_max", std::string(early));
  for (const OutputSpec& output : spec.outputs)
    for (const OperationSpec& op : output.ops)
      if (op.op == bucketing_operation()) complain(nullptr, "output", op.op + " is there, and " + std::string(early));
  if (spec.cache != CacheForm::kAuto && spec.cache != CacheForm::kOff && spec.cache != CacheForm::kEncoded)
    complain(root.find("cache"), "cache", "write \"off\", or \"encoded\" where each item is to be made once and kept");
}

}  // namespace spdld::config
