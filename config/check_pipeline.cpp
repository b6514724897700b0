#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "config/check.h"

namespace spdld::config {
namespace {

using Type = ParameterType;

constexpr size_t kOutputsMax = 64;
constexpr size_t kOpsMax = 32;  // of one output

}  // namespace

const std::vector<Parameter>& top_keys() {
  static const std::vector<Parameter> keys = {
      {.name = "name", .type = Type::kText, .help = "of the pipeline"},
      {.name = "seed",
       .type = Type::kInteger,
       .help = "of all random draws",
       .fallback = Value(int64_t{0}),
       .min = 0,
       .max = 9223372036854775807.0},
      {.name = "on_bad",
       .type = Type::kChoice,
       .help = "what happens to content that can't be decoded",
       .fallback = Value(std::string("substitute")),
       .choices = {"substitute", "mask", "fail"}},
      {.name = "bad_max",
       .type = Type::kNumber,
       .help = "how many samples of an epoch may be bad: a part of them below 1, else their number",
       .fallback = Value(std::string("auto")),
       .min = 0,
       .max = 1e15,
       .word = "auto"},
      {.name = "cache",
       .type = Type::kChoice,
       .help = "what the node keeps of the samples that were read",
       .fallback = Value(std::string("auto")),
       .choices = {"auto", "off", "encoded", "decoded"}},
      {.name = "share",
       .type = Type::kChoice,
       .help = "what jobs on it share: the cache, or the batches, which are decoded once",
       .fallback = Value(std::string("cache")),
       .choices = {"cache", "stream"}},
      {.name = "cpu_weight",
       .type = Type::kNumber,
       .help = "its part of the decode threads' time, beside other pipelines that want it too",
       .fallback = Value(1.0),
       .min = kCpuWeightMin,
       .max = kCpuWeightMax},
  };
  return keys;
}

const std::vector<Parameter>& output_keys() {
  static const std::vector<Parameter> keys = {
      {.name = "name", .type = Type::kText, .help = "of the tensor in the batch"},
      {.name = "from", .type = Type::kText, .help = "the sample's field"},
      {.name = "dtype",
       .type = Type::kChoice,
       .help = "of a number: the operation that reads it, parse-int or parse-float, need not be written then",
       .fallback = Value(std::string()),
       .choices = {"int64", "float32", "float64"}}};
  return keys;
}

namespace {

// --- [[output]] ---

// Parameters that are each allowed but make no sense together.
void check_sense(const OperationSpec& spec, const TableReader& reader) {
  for (const std::string_view name : {"scale", "ratio"}) {
    const auto found = spec.parameters.find(name);
    if (found == spec.parameters.end()) continue;
    const auto* pair = std::get_if<std::vector<double>>(&found->second);
    if (pair != nullptr && pair->size() == 2 && (*pair)[0] > (*pair)[1]) {
      reader.complain(name, "must have its least number first: [least, greatest]");
    }
  }
  if (const auto draw = spec.parameters.find("draw"); draw != spec.parameters.end()) {
    const auto& name = std::get<std::string>(draw->second);
    if (!name.empty() && !is_word(name, "_.-")) {
      reader.complain("draw", "must be 1 to 64 letters, digits, \"_\", \".\" or \"-\", not " + in_quotes(name));
    }
  }
  if (spec.op == "convert" && spec.text("dtype") == "uint8" && spec.number("scale") != 1) {
    reader.complain("scale", "must be 1 with dtype \"uint8\": write dtype = \"float32\" for scaled values");
  }
}

// Mean and std come out on the scale where white is 1, whichever they were written on: both spellings are one spec.
void check_normalize(OperationSpec& spec, const TableReader& reader) {
  constexpr int64_t kWhite8Bit = 255;
  const int64_t scale = spec.integer("scale");
  if (scale != 1 && scale != kWhite8Bit) {
    reader.complain("scale", "must be 1 or 255, not " + std::to_string(scale));
    return;
  }
  spec.parameters.erase("scale");
  auto& mean = std::get<std::vector<double>>(spec.parameters.find("mean")->second);
  auto& std = std::get<std::vector<double>>(spec.parameters.find("std")->second);
  if (std::any_of(mean.begin(), mean.end(), [scale](double value) { return value > static_cast<double>(scale); })) {
    reader.complain("mean", scale == 1 ? "must be on the scale where white is 1, such as [0.485, 0.456, 0.406]: divide "
                                         "mean and std by 255, or write scale = 255 where they are of values up to 255"
                                       : "must be at most 255, which is white with scale = 255");
  }
  for (double& value : mean) value /= static_cast<double>(scale);
  for (double& value : std) value /= static_cast<double>(scale);
}

// None: which operation is meant is not known; the rest of the chain can't be checked.
std::optional<OperationSpec> check_operation(const Node& node, const std::string& key, Complaints& complaints) {
  static const std::vector<Parameter> op_key = {{.name = "op", .type = Type::kText, .help = "the operation's name"}};
  if (node.table() == nullptr) {
    complaints.add(node.line, key,
                   "must be a table such as { op = \"decode-image\" }, not " + std::string(kind_of(node)));
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
  const size_t complained = complaints.size();
  spec.parameters = reader.values();
  check_sense(spec, reader);
  if (spec.op == "normalize" && complaints.size() == complained) check_normalize(spec, reader);
  return spec;
}

// Whether a picture's size is the same for all samples after this operation.
bool fixes_size(const OperationSpec& spec, bool fixed_before) {
  if (spec.op == "center-crop" || spec.op == "random-resized-crop") return true;
  if (spec.op == "resize") return fixed_before || spec.numbers("size").size() == 2;
  return fixed_before;
}

std::string flow_error(const Operation& operation, Flow has) {
  const std::string name(operation.name);
  if (has == Flow::kTensor)
    return name + " can't follow: the operation before it writes the tensor and must be the last";
  if (has == Flow::kInteger)
    return name + " can't follow: what comes before it is an integer, which takes no operations";
  if (has == Flow::kBytes) return name + " works on an image: add { op = \"decode-image\" } before it";
  return name + " works on a field's bytes: it must be the first operation";
}

// An operation that was not written, with the parameters that it has by default.
OperationSpec implicit(std::string_view op, const OutputSpec& output) {
  OperationSpec spec{.op = std::string(op), .parameters = {}, .where = output.where};
  for (const auto& parameter : find_operation(op)->parameters) {
    spec.parameters.emplace(parameter.name, *parameter.fallback);
  }
  return spec;
}

constexpr std::string_view kSizeRule =
    "has pictures whose size is not fixed: add center-crop, random-resized-crop, or a resize with two numbers";

// Each operation must take what the one before it gives; the end must be a tensor of one shape. `start`: what the field
// gives; none when that is not known.
void check_chain(OutputSpec& output, std::optional<Flow> start, const std::string& key, int line,
                 Complaints& complaints) {
  if (!start && output.ops.empty()) return;
  Flow flow = start ? *start : find_operation(output.ops.front().op)->in;
  bool fixed = false;
  for (size_t i = 0; i < output.ops.size(); ++i) {
    const auto& spec = output.ops[i];
    const auto& operation = *find_operation(spec.op);
    const std::string op_key = key + ".ops[" + std::to_string(i) + "]";
    if (operation.in != flow) {
      complaints.add(spec.where.line, op_key, flow_error(operation, flow));
      return;
    }
    if (i == 0 && output.from == "path" && spec.op == "decode-image") {
      complaints.add(spec.where.line, op_key, "can't decode \"path\": it is the sample's name, not its content");
      return;
    }
    if (i == 0 && output.from.find(':') != std::string::npos && spec.op == "decode-image") {
      complaints.add(spec.where.line, op_key, "can't decode a JSON value: it is a number or a text, not a picture");
      return;
    }
    fixed = fixes_size(spec, fixed);
    const bool ends = i + 1 == output.ops.size();
    if (operation.in == Flow::kImage && operation.out == Flow::kTensor && !fixed) {
      complaints.add(spec.where.line, op_key, std::string(kSizeRule) + " before it");
    } else if (ends && operation.out == Flow::kImage && !fixed) {
      complaints.add(line, key + ".ops", std::string(kSizeRule));
    }
    flow = operation.out;
  }
  if (flow == Flow::kBytes) {
    complaints.add(line, key + ".ops",
                   "gives bytes of any length, which are no tensor: add decode-image (with a fixed size), parse-int, "
                   "parse-float or "
                   "pad-bytes; for a number, dtype = \"int64\", \"float32\" or \"float64\" does as well");
  }
  if (flow == Flow::kImage) output.ops.push_back(implicit("convert", output));
}

bool is_letter_or_underscore(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// The names of all tensors of the batch so far.
class Names {
 public:
  explicit Names(Complaints& complaints) : complaints_(complaints) {}

  void add(const std::string& name, int line, std::string key) {
    if (!is_word(name, "_.-") || !is_letter_or_underscore(name.front())) {
      complaints_.add(line, std::move(key),
                      "must be 1 to 64 letters, digits, \"_\", \".\" or \"-\" and begin with a letter or \"_\", not " +
                          in_quotes(name));
      return;
    }
    if (name == "sample_id" || name == "mask") {
      complaints_.add(line, std::move(key), "must not be " + in_quotes(name) + ": every batch has that one already");
      return;
    }
    const auto [first, fresh] = keys_.emplace(name, key);
    if (!fresh)
      complaints_.add(line, std::move(key), in_quotes(name) + " is the name of " + first->second + " already");
  }

 private:
  Complaints& complaints_;
  std::map<std::string, std::string> keys_;  // name -> the key that gave it
};

// False: an operation is not known.
bool check_ops(const Node* node, OutputSpec& output, const TableReader& reader, Names& names) {
  if (node == nullptr) return true;
  const auto* list = node->list();
  if (list == nullptr || list->size() > kOpsMax) {
    reader.complain("ops", list == nullptr ? "must be a list of operations, not " + std::string(kind_of(*node))
                                           : "may have at most " + std::to_string(kOpsMax) + " operations");
    return false;
  }
  bool known = true;
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string key = reader.key("ops") + "[" + std::to_string(i) + "]";
    auto spec = check_operation((*list)[i], key, reader.complaints());
    if (!spec) {
      known = false;
      continue;
    }
    if (const auto box = spec->parameters.find("box"); box != spec->parameters.end()) {
      const auto& name = std::get<std::string>(box->second);
      const Node* place = (*list)[i].find("box");
      if (!name.empty()) names.add(name, place->line, key + ".box");
    }
    output.ops.push_back(*std::move(spec));
  }
  return known;
}

// `dtype` stands for the operation that reads such a number.
void check_dtype(const TableReader& reader, std::optional<Flow> start, OutputSpec& output) {
  const std::string dtype = reader.text("dtype");
  if (dtype.empty()) return;
  if (reader.find("ops") != nullptr) {
    reader.complain("dtype",
                    "stands in the place of operations: leave it out beside ops, whose last operation says the "
                    "type");
  } else if (start == Flow::kInteger) {
    if (dtype != "int64")
      reader.complain("dtype", "must be \"int64\" here: " + in_quotes(output.from) + " is an integer");
  } else if (dtype == "int64") {
    output.ops.push_back(implicit("parse-int", output));
  } else {
    output.ops.push_back(implicit("parse-float", output));
    output.ops.back().parameters["dtype"] = dtype;
  }
}

OutputSpec check_output(const Node& node, const std::string& key, const SourceTypes& sources, Names& names,
                        Complaints& complaints) {
  OutputSpec output;
  output.where = {complaints.file(), node.line};
  TableReader reader(node, key, output_keys(), complaints);
  const std::array<std::string_view, 1> others = {"ops"};
  reader.refuse_unknown(others);
  if (const auto name = reader.given_text("name")) {
    output.name = *name;
    names.add(*name, reader.line("name"), key + ".name");
  }
  const auto start = check_from(reader, sources, output);
  const bool known = check_ops(reader.find("ops"), output, reader, names);
  check_dtype(reader, start, output);
  if (known && node.table() != nullptr) check_chain(output, start, key, reader.line("ops"), complaints);
  return output;
}

std::vector<OutputSpec> check_outputs(const Node* node, const SourceTypes& sources, Complaints& complaints) {
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
  Names names(complaints);
  for (size_t i = 0; i < list->size(); ++i) {
    outputs.push_back(check_output((*list)[i], "output[" + std::to_string(i) + "]", sources, names, complaints));
  }
  return outputs;
}

// --- the whole ---

std::optional<double> check_bad_max(const TableReader& reader, OnBad on_bad) {
  const Value read = reader.value("bad_max");
  const auto* number = std::get_if<double>(&read);
  if (number == nullptr) return std::nullopt;
  if (*number >= 1 && *number != std::floor(*number)) {
    reader.complain("bad_max",
                    "must be a part of an epoch's samples below 1, such as 0.01, or a whole number of samples");
  }
  if (on_bad == OnBad::kFail) {
    reader.complain("bad_max", "may not stand beside on_bad = \"fail\", which fails at the first bad sample");
  }
  return *number;
}

std::vector<SourceSpec> check_all_sources(const Node& root, MixRule mix, const std::filesystem::path& folder,
                                          Complaints& complaints) {
  const Node *one = root.find("source"), *several = root.find("sources");
  if (one != nullptr && several != nullptr) {
    complaints.add(several->line, "sources", "must not stand beside [source]: write all of them as [[sources]]");
  }
  if (one != nullptr) return {check_source(*one, folder, complaints)};
  if (several != nullptr) return check_sources(*several, mix, folder, complaints);
  complaints.add(0, "source", "is missing: a [source] with type and uri says where the samples are");
  return {};
}

// Kept planes serve every draw, so they are of whole pictures: what is decoded smaller can't be kept so.
void refuse_fast_beside_decoded(const std::vector<OutputSpec>& outputs, Complaints& complaints) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto& ops = outputs[i].ops;
    if (ops.empty() || ops.front().op != "decode-image" || !ops.front().flag("fast")) continue;
    complaints.add(ops.front().where.line, "output[" + std::to_string(i) + "].ops[0].fast",
                   "can't be true beside cache = \"decoded\", which keeps pictures at their full size: leave fast out, "
                   "or write cache = \"encoded\", \"off\" or \"auto\"");
  }
}

}  // namespace

Loaded<PipelineSpec> check_pipeline(const Node& root, const std::string& origin, const std::filesystem::path& folder) {
  Complaints complaints(origin, pipeline_places());
  TableReader reader(root, "", top_keys(), complaints);
  const std::array<std::string_view, 5> tables = {"source", "sources", "order", "output", "batch"};
  reader.refuse_unknown(tables);
  PipelineSpec spec;
  spec.where = {origin, 0};
  if (const auto name = reader.given_text("name")) {
    spec.name = *name;
    if (!is_word(spec.name, "_.-") || spec.name.find_first_of("_.-") == 0) {
      reader.complain("name",
                      "must be 1 to 64 letters, digits, \"_\", \".\" or \"-\" and begin with a letter or digit");
    }
  }
  spec.seed = static_cast<uint64_t>(reader.integer("seed"));
  const std::string on_bad = reader.text("on_bad");
  spec.on_bad = on_bad == "mask" ? OnBad::kMask : on_bad == "fail" ? OnBad::kFail : OnBad::kSubstitute;
  spec.bad_max = check_bad_max(reader, spec.on_bad);
  spec.cache = cache_form_named(reader.text("cache"));
  spec.share = reader.text("share") == "stream" ? Share::kStream : Share::kCache;
  spec.cpu_weight = reader.number("cpu_weight");

  if (const Node* order = root.find("order")) {
    spec.order = check_order(*order, folder, complaints);
    check_order_of(root.find("sources") != nullptr, *order, complaints);
  }
  if (spec.share == Share::kStream && spec.order.shuffle == Shuffle::kClient)
    reader.complain("share", "can't be \"stream\" beside shuffle = \"client\": each job says its own order");
  spec.sources = check_all_sources(root, spec.order.mix, folder, complaints);
  SourceTypes types;
  for (const auto& source : spec.sources) types.push_back(find_source(source.type));
  if (types.empty()) types.push_back(nullptr);
  spec.outputs = check_outputs(root.find("output"), types, complaints);
  if (spec.cache == CacheForm::kDecoded) refuse_fast_beside_decoded(spec.outputs, complaints);
  if (const Node* batch = root.find("batch")) {
    spec.batch = check_batch(*batch, complaints);
    if (spec.order.shuffle == Shuffle::kClient && spec.batch.last != LastBatch::kShort) {
      complaints.add(
          batch->find("last")->line, "batch.last",
          "may not stand beside order.shuffle = \"client\": a step has the samples that the trainer gives it");
    }
  } else {
    complaints.add(0, "batch", "is missing: a [batch] with size or global_size says how many samples a step has");
  }
  if (complaints.empty()) return {std::move(spec), {}};
  return {std::nullopt, complaints.take()};
}

}  // namespace spdld::config
