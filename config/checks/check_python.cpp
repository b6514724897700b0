// The checks of [python]: the processes that run a pipeline's functions in Python.
#include "config/checks/check.h"
#include "config/segments.h"

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

PythonSpec check_python(const Node& node, const std::vector<OutputSpec>* outputs, Complaints& complaints) {
  const TableReader reader(node, "python", python_keys(), complaints);
  reader.refuse_unknown();
  const PythonSpec python{.processes = static_cast<uint32_t>(reader.integer("processes")),
                          .call_limit_s = reader.number("call_limit_s"),
                          .memory_bytes_max = static_cast<uint64_t>(reader.integer("memory")),
                          .scratch_bytes = static_cast<uint64_t>(reader.integer("scratch"))};
  if (outputs != nullptr && !uses_executor(*outputs, kUserExecutor))
    complaints.add(node.line, "python",
                   "is for operations of the user's own, and no output has one: write { op = \"python\" } where it is "
                   "meant, or take the table out");
  return python;
}

}  // namespace spdld::config
