// The copies of an output: outputs that are made alike, with draws of their own. A pipeline with copies is the same
// spec as one in which each of them is written by itself.
#include <set>
#include <utility>

#include "config/checks/check.h"
#include "config/varying.h"

namespace spdld::config {
namespace {

void add_to_draws(std::vector<OperationSpec>& ops, const std::string& suffix) {
  for (OperationSpec& op : ops) {
    add_to_draws(op.ops, suffix);
    const auto draw = op.parameters.find("draw");
    if (draw == op.parameters.end()) continue;
    auto& name = std::get<std::string>(draw->second);
    name = (name.empty() ? op.op : name) + suffix;
  }
}

// Copy `number` (from 1) of the output: its name and the names of its draws have the number behind them.
OutputSpec copy_of(const OutputSpec& output, int64_t number) {
  const std::string suffix = "-" + std::to_string(number);
  OutputSpec copy = output;
  copy.name += suffix;
  add_to_draws(copy.ops, suffix);
  return copy;
}

bool may_have_copies(const TableReader& reader, const OutputSpec& output) {
  if (!output.view.empty()) {
    reader.complain("copies", "may not stand beside view: a view has one picture, so write its outputs one by one");
  } else if (tensor_names(output).size() > 1) {
    reader.complain("copies",
                    "may not stand beside further tensors (a box, offsets, lengths, a mask), whose names all "
                    "copies would share: leave them out, or write the outputs one by one");
  } else {
    return true;
  }
  return false;
}

}  // namespace

std::vector<OutputSpec> with_copies(const Node& list, std::vector<OutputSpec> outputs, Complaints& complaints) {
  std::vector<OutputSpec> all;
  std::set<std::string> names;
  for (const OutputSpec& output : outputs)
    for (const std::string& name : tensor_names(output)) names.insert(name);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TableReader reader((*list.list())[i], "output[" + std::to_string(i) + "]", output_keys(), complaints);
    const int64_t copies = reader.integer("copies");
    if (copies == 1 || !may_have_copies(reader, outputs[i])) {
      all.push_back(std::move(outputs[i]));
      continue;
    }
    for (int64_t number = 1; number <= copies; ++number) {
      all.push_back(copy_of(outputs[i], number));
      const std::string& name = all.back().name;
      if (!is_word(name, "_.-")) {
        reader.complain("name", "is too long for copies: the name " + in_quotes(name) + " has more than 64 characters");
        break;
      }
      if (names.insert(name).second) continue;
      reader.complain("copies", "would name a tensor " + in_quotes(name) + ", which another output makes already");
    }
  }
  return all;
}

}  // namespace spdld::config
