// The checks of [[output]]: names, fields, operations, and whether these make a chain.
#include <array>
#include <map>
#include <utility>

#include "config/checks/check.h"
#include "config/views.h"

namespace spdld::config {
namespace {

constexpr size_t kOutputsMax = 64;
constexpr size_t kOpsMax = 32;      // of one output
constexpr size_t kAllOpsMax = 256;  // of one output, with the operations that others hold

std::vector<Parameter> own_output_keys() {
  return {{.name = "name", .type = ParameterType::kText, .help = "of the tensor in the batch"},
          {.name = "from", .type = ParameterType::kText, .help = "the sample's field"},
          {.name = "dtype",
           .type = ParameterType::kChoice,
           .help = "of a number: the operation that reads it, parse-int or parse-float, need not be written then",
           .fallback = Value(std::string()),
           .choices = {"int64", "float32", "float64"}},
          {.name = "view",
           .type = ParameterType::kText,
           .help = "of outputs that share one random geometry: a picture leads, and its mask, boxes and points follow",
           .fallback = Value(std::string())},
          {.name = "copies",
           .type = ParameterType::kInteger,
           .help = "so many outputs NAME-1, NAME-2, ... that are made alike, each with random numbers of its own",
           .fallback = Value(int64_t{1}),
           .min = 1,
           .max = 32}};
}

}  // namespace

const std::vector<Parameter>& output_keys() {
  static const std::vector<Parameter> keys = [] {
    std::vector<Parameter> all = own_output_keys();
    all.insert(all.end(), varying_keys().begin(), varying_keys().end());
    return all;
  }();
  return keys;
}

namespace {

// Pictures and sounds are handed on to another executor, and end, as tensors. Adds the operations that make these, and
// returns the place at which each operation was written; an operation that was added has the place of the one behind
// it.
std::vector<size_t> add_ends(OutputSpec& output) {
  std::vector<OperationSpec> all;
  std::vector<size_t> places;
  const auto add = [&](OperationSpec spec, size_t place) {
    all.push_back(std::move(spec));
    places.push_back(place);
  };
  const auto end_of = [&] { return all.empty() ? nullptr : chain_end(find_operation(all.back().op)->gives); };
  for (size_t i = 0; i < output.ops.size(); i++) {
    const OperationType* const end = find_operation(output.ops[i].op)->executor.empty() ? nullptr : end_of();
    if (end != nullptr) add(with_defaults(*end, output.ops[i].where), i);
    add(std::move(output.ops[i]), i);
  }
  if (const OperationType* const end = end_of()) add(with_defaults(*end, output.where), output.ops.size());
  output.ops = std::move(all);
  return places;
}

// The operations of an output, with ends.
struct Ended {
  size_t written = 0;               // so many were there before
  std::vector<size_t> places = {};  // as add_ends() returns it
};

// `start`: what the field gives; none when that is not known.
void check_chain(const OutputSpec& output, const Ended& ended, const std::optional<Signature>& start,
                 const std::string& key, const TableReader& reader) {
  const auto& [written, places] = ended;
  const Followed chain = follow(output.ops, start ? *start : start_of(output.ops), output.varying.form);
  if (chain.error.empty()) return check_bound(reader, output.varying, chain.end());
  if (chain.at < places.size() && places[chain.at] < written) {
    std::string operation = key + ".ops[" + std::to_string(places[chain.at]) + "]";
    const OperationSpec* at = &output.ops[chain.at];
    for (const size_t inside : chain.inside) {
      operation.append(".").append(kHeldOperations).append("[").append(std::to_string(inside)).append("]");
      at = &at->ops[inside];
    }
    // A value that nobody wrote may stand in the place of a wrong one.
    Complaints& complaints = reader.complaints();
    if (!complaints.has_inside(operation)) complaints.add(at->where.line, operation, chain.error);
  } else {
    reader.complain("ops", chain.error);
  }
}

bool is_letter_or_underscore(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// The names of all tensors of the batch so far.
class Names {
 public:
  Names(bool has_mask, Complaints& complaints) : has_mask_(has_mask), complaints_(complaints) {}

  void add(const std::string& name, int line, std::string key) {
    if (!is_word(name, "_.-") || !is_letter_or_underscore(name.front())) {
      complaints_.add(line, std::move(key),
                      "must be 1 to 64 letters, digits, \"_\", \".\" or \"-\" and begin with a letter or \"_\", not " +
                          in_quotes(name));
      return;
    }
    if (name == "sample_id") {
      complaints_.add(line, std::move(key), "must not be " + in_quotes(name) + ": every batch has that one already");
      return;
    }
    if (name == "mask" && has_mask_) {
      complaints_.add(line, std::move(key),
                      "must not be \"mask\": on_bad or on_drop = \"mask\" gives every batch a tensor of this name");
      return;
    }
    const auto [first, fresh] = keys_.emplace(name, key);
    if (!fresh)
      complaints_.add(line, std::move(key), in_quotes(name) + " is the name of " + first->second + " already");
  }

 private:
  const bool has_mask_;  // the pipeline makes a tensor "mask" itself
  Complaints& complaints_;
  std::map<std::string, std::string> keys_;  // name -> the key that gave it
};

// The rest of the pipeline's file, as far as outputs need it.
struct Around {
  Sources sources;
  const RowsSpec& rows;
  const std::filesystem::path& folder;  // of the file
};

// False: an operation is not known.
bool check_ops(const Node* node, const Around& around, OutputSpec& output, const TableReader& reader, Names& names) {
  if (node == nullptr) return true;
  const auto* list = node->list();
  if (list == nullptr || list->size() > kOpsMax) {
    reader.complain("ops", list == nullptr ? "must be a list of operations, not " + std::string(kind_of(*node))
                                           : "may have at most " + std::to_string(kOpsMax) + " operations");
    return false;
  }
  bool known = true;
  size_t count = 0;
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string key = reader.key("ops") + "[" + std::to_string(i) + "]";
    auto spec = check_operation((*list)[i], key, around.folder, reader.complaints());
    if (!spec) {
      known = false;
      continue;
    }
    for (const ExtraTensor& extra : extras_of({&*spec, 1})) {
      const Node* place = (*list)[i].find(extra.parameter);
      names.add(extra.name, place->line, key + "." + std::string(extra.parameter));
    }
    count += count_of(*spec);
    output.ops.push_back(*std::move(spec));
  }
  if (count > kAllOpsMax)
    reader.complain("ops", "may have at most " + std::to_string(kAllOpsMax) +
                               " operations, also counting operations that stand in others");
  if (known && !name_draws(output.ops))
    reader.complain("ops", "have a `draw` that is too long for an operation that holds others: write a shorter one");
  return known;
}

// `dtype` stands for the operation that reads such a number.
void check_dtype(const TableReader& reader, const std::optional<Signature>& start, OutputSpec& output) {
  const std::string dtype = reader.text("dtype");
  if (dtype.empty()) return;
  if (reader.find("ops") != nullptr) {
    reader.complain("dtype",
                    "stands in the place of operations: leave it out beside ops, whose last operation says the "
                    "type");
  } else if (start && start->kind() == SignatureKind::kInteger) {
    if (dtype != "int64")
      reader.complain("dtype", "must be \"int64\" here: " + in_quotes(output.from) + " is an integer");
  } else {
    output.ops.push_back(with_defaults(number_reader(dtype_named(dtype)), output.where));
    Parameters& parameters = output.ops.back().parameters;
    if (const auto own = parameters.find("dtype"); own != parameters.end()) own->second = dtype;
  }
}

// A tile has the size that [rows] says.
void fill_in_tiles(const RowsSpec& rows, OutputSpec& output) {
  for (OperationSpec& op : output.ops) {
    if (rows.kind == RowKind::kTiles && row_piece_of(op) == RowKind::kTiles && op.numbers("size").empty())
      op.parameters["size"] = std::vector<double>{static_cast<double>(rows.height), static_cast<double>(rows.width)};
  }
}

// An output whose chain is still to be followed.
struct Pending {
  TableReader reader;
  std::string key;
  OutputSpec output = {};
  std::optional<Signature> start = {};
  bool is_known = false;  // every operation, and how samples may vary
  Ended ended = {};

  bool has_chain() const { return is_known && (start || ended.written > 0); }
};

Pending check_output(const Node& node, const std::string& key, const Around& around, Names& names,
                     Complaints& complaints) {
  Pending pending{TableReader(node, key, output_keys(), complaints), key};
  OutputSpec& output = pending.output;
  output.where = {complaints.file(), node.line};
  const std::array<std::string_view, 1> others = {"ops"};
  pending.reader.refuse_unknown(others);
  if (const auto name = pending.reader.given_text("name")) {
    output.name = *name;
    names.add(*name, pending.reader.line("name"), key + ".name");
  }
  output.view = check_view_name(pending.reader);
  const auto varying = check_varying(pending.reader);
  if (varying) output.varying = *varying;
  for (const NamedTensor& further : further_tensors(pending.reader, output))
    names.add(further.name, pending.reader.line(further.key), pending.reader.key(further.key));
  pending.start = check_from(pending.reader, around.sources, output, around.rows);
  const bool knows_ops = check_ops(pending.reader.find("ops"), around, output, pending.reader, names);
  pending.is_known = knows_ops && varying && node.table() != nullptr;
  check_dtype(pending.reader, pending.start, output);
  fill_in_tiles(around.rows, output);
  return pending;
}

// A follower's chain depends on its leader's. Where the leader has a fault, that is said about the leader alone.
void check_chains(std::vector<Pending>& all, std::vector<OutputSpec>& outputs) {
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].ended.written = outputs[i].ops.size();
    if (all[i].has_chain()) all[i].ended.places = add_ends(outputs[i]);
  }
  for (size_t i = 0; i < all.size(); ++i) {
    Pending& pending = all[i];
    if (!pending.has_chain()) continue;
    if (follows_view(outputs[i])) {
      const auto frame = frame_of(outputs, outputs[i]);
      if (!frame || !frame->height.is_fixed() || !frame->width.is_fixed()) continue;
      if (!pending.start) pending.start = start_of(outputs[i].ops);
      set_frame(*pending.start, frame);
    }
    check_chain(outputs[i], pending.ended, pending.start, pending.key, pending.reader);
  }
}

}  // namespace

std::vector<OutputSpec> check_outputs(const Node* node, Sources sources, const RowsSpec& rows, bool has_mask,
                                      const std::filesystem::path& folder, Complaints& complaints) {
  std::vector<OutputSpec> outputs;
  const auto* list = node == nullptr ? nullptr : node->list();
  if (list == nullptr || list->empty()) {
    complaints.add(node == nullptr ? 0 : node->line, "output",
                   node == nullptr ? "is missing: a pipeline has at least one [[output]]"
                                   : "must be a list of one or more tables, each written [[output]]");
    return outputs;
  }
  if (list->size() > kOutputsMax) {
    complaints.add(node->line, "output", "may be written at most " + std::to_string(kOutputsMax) + " times");
    return outputs;
  }
  Names names(has_mask, complaints);
  std::vector<Pending> all;
  bool known = true;
  for (size_t i = 0; i < list->size(); ++i) {
    all.push_back(
        check_output((*list)[i], "output[" + std::to_string(i) + "]", {sources, rows, folder}, names, complaints));
    outputs.push_back(std::move(all.back().output));
    known = known && all.back().is_known;
  }
  if (known) check_views(outputs, *node, complaints);
  check_chains(all, outputs);
  return outputs;
}

void refuse_hindrances(const std::vector<OutputSpec>& outputs, Complaints& complaints) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto& ops = outputs[i].ops;
    for (size_t j = 0; j < ops.size(); ++j) {
      const auto* type = find_operation(ops[j].op);
      const auto hindrance = type->hindrance == nullptr ? std::nullopt : type->hindrance(ops[j]);
      if (!hindrance) continue;
      const std::string key = "output[" + std::to_string(i) + "].ops[" + std::to_string(j) + "].";
      complaints.add(ops[j].where.line, key + std::string(hindrance->parameter), std::string(hindrance->why));
    }
  }
}

}  // namespace spdld::config
