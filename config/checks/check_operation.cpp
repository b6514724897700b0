// The checks of one operation of an output: its parameters, the operations that it holds, and the names of their random
// numbers.
#include <algorithm>
#include <array>

#include "config/checks/check.h"
#include "config/text/local_path.h"

namespace spdld::config {
namespace {

constexpr std::string_view kDraw = "draw";

// Null: it holds none.
const Parameter* held_parameter(const OperationType& type) {
  const auto found = std::find_if(type.parameters.begin(), type.parameters.end(),
                                  [](const auto& one) { return one.type == ParameterType::kOperations; });
  return found == type.parameters.end() ? nullptr : &*found;
}

// Complains where `held`, which stands at `node`, is none that another operation may hold.
void refuse_unfit(const OperationSpec& holder, const OperationSpec& held, const Node& node, const std::string& key,
                  Complaints& complaints) {
  if (!may_be_held(*find_operation(held.op))) {
    complaints.add(node.line, key,
                   "can't be " + held.op + ": " + holder.op +
                       " holds operations that change a picture, such as horizontal-flip or color-jitter");
    return;
  }
  for (const ExtraTensor& extra : extras_of({&held, 1}))
    complaints.add(node.find(extra.parameter)->line, key + "." + std::string(extra.parameter),
                   "can't name a tensor inside " + holder.op + ": leave it out");
}

// Makes the operation's paths absolute ones.
void resolve_paths(const TableReader& reader, const OperationType& type, const std::filesystem::path& folder,
                   OperationSpec& spec) {
  for (const Parameter& parameter : type.parameters) {
    const Node* const given = parameter.type == ParameterType::kPath ? reader.find(parameter.name) : nullptr;
    if (given == nullptr || given->text() == nullptr || !is_plain(*given->text())) continue;
    auto [path, error] = local_path_of(*given->text(), folder);
    if (!error.empty()) reader.complain(parameter.name, std::move(error));
    spec.parameters[std::string(parameter.name)] = std::move(path);
  }
}

// False: there is a complaint about a parameter that says what the operation gives.
bool says_what_it_gives(const TableReader& reader, const OperationType& type) {
  return std::ranges::none_of(type.parameters, [&](const Parameter& parameter) {
    const std::string key = reader.key(parameter.name);
    return parameter.type == ParameterType::kValueType &&
           (reader.complaints().has(key) || reader.complaints().has_inside(key));
  });
}

// False: one of the operations is not known.
bool check_held(const TableReader& reader, const Parameter& parameter, const std::filesystem::path& folder, int depth,
                OperationSpec& spec) {
  const Node* const node = reader.find(parameter.name);
  const auto* const list = node == nullptr ? nullptr : node->list();
  const auto fits = [&](size_t count) {
    return count >= static_cast<size_t>(parameter.count_min) && count <= static_cast<size_t>(parameter.count_max);
  };
  if (list == nullptr || !fits(list->size()) || depth == kHeldDepthMax) {
    reader.complain(parameter.name,
                    node == nullptr       ? "is missing: it must be " + allowed(parameter)
                    : list == nullptr     ? "must be " + allowed(parameter) + ", not " + std::string(kind_of(*node))
                    : !fits(list->size()) ? "must be " + allowed(parameter) + ", not " + std::to_string(list->size())
                                          : "are too deep: operations may stand in one another at most " +
                                                std::to_string(kHeldDepthMax) + " deep");
    return false;
  }
  bool known = true;
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string key = reader.key(parameter.name) + "[" + std::to_string(i) + "]";
    auto held = check_operation((*list)[i], key, folder, reader.complaints(), depth + 1);
    known = known && held;
    if (!held) continue;
    refuse_unfit(spec, *held, (*list)[i], key, reader.complaints());
    known = known && may_be_held(*find_operation(held->op));
    spec.ops.push_back(*std::move(held));
  }
  return known;
}

}  // namespace

std::optional<OperationSpec> check_operation(const Node& node, const std::string& key,
                                             const std::filesystem::path& folder, Complaints& complaints, int depth) {
  static const std::vector<Parameter> op_key = {
      {.name = "op", .type = ParameterType::kText, .help = "the operation's name"}};
  if (node.table() == nullptr) {
    complaints.add(node.line, key,
                   "must be a table such as { op = \"" + std::string(operations().front().name) + "\" }, not " +
                       std::string(kind_of(node)));
    return std::nullopt;
  }
  OperationSpec spec;
  spec.where = {complaints.file(), node.line};
  TableReader head(node, key, op_key, complaints);
  const auto op = head.given_text("op");
  if (!op) return std::nullopt;
  spec.op = *op;
  const auto* operation = find_operation(spec.op);
  if (operation == nullptr) {
    std::vector<std::string_view> names;
    for (const auto& known : operations()) names.push_back(known.name);
    head.complain("op", "is not a known operation: " + in_quotes(spec.op) + did_you_mean(spec.op, names) +
                            "; known are " + joined(names));
    return std::nullopt;
  }
  const std::array<std::string_view, 1> always = {"op"};
  TableReader reader(node, key, operation->parameters, complaints);
  reader.refuse_unknown(always);
  spec.parameters = reader.values();
  resolve_paths(reader, *operation, folder, spec);
  const Parameter* const holds = held_parameter(*operation);
  if (holds != nullptr && !check_held(reader, *holds, folder, depth, spec)) return std::nullopt;
  // In the place of a wrong value stands one that nobody wrote: there is nothing more to say about it.
  const auto complain = [&](std::string_view name, std::string text) {
    if (!complaints.has(reader.key(name))) reader.complain(name, std::move(text));
  };
  if (operation->check != nullptr) operation->check(spec, complain);
  if (!says_what_it_gives(reader, *operation)) return std::nullopt;
  return spec;
}

size_t count_of(const OperationSpec& spec) {
  size_t count = 1;
  for (const OperationSpec& held : spec.ops) count += count_of(held);
  return count;
}

namespace {

std::string* draw_of(OperationSpec& spec) {
  const auto found = spec.parameters.find(kDraw);
  return found == spec.parameters.end() ? nullptr : &std::get<std::string>(found->second);
}

// False: a name gets too long.
bool name_held_draws(OperationSpec& holder) {
  for (size_t i = 0; i < holder.ops.size(); ++i) {
    std::string* const draw = draw_of(holder.ops[i]);
    if (draw == nullptr) continue;
    if (draw->empty()) *draw = *draw_of(holder) + "." + std::to_string(i);
    if (!is_word(*draw, "_.-") || !name_held_draws(holder.ops[i])) return false;
  }
  return true;
}

}  // namespace

bool name_draws(std::span<OperationSpec> ops) {
  std::vector<std::string> holders;
  bool fits = true;
  for (OperationSpec& spec : ops) {
    if (spec.ops.empty()) continue;
    std::string& draw = *draw_of(spec);
    const auto before = std::count(holders.begin(), holders.end(), spec.op);
    if (draw.empty()) draw = before == 0 ? spec.op : spec.op + "_" + std::to_string(before + 1);
    holders.push_back(spec.op);
    fits = name_held_draws(spec) && fits;
  }
  return fits;
}

}  // namespace spdld::config
