// The checks of the keys of [[output]] for samples that differ in length.
#include <array>

#include "config/checks/check.h"
#include "config/varying.h"

namespace spdld::config {
namespace {

constexpr std::array<std::string_view, 4> kPadKeys = {"pad_multiple", "pad_value", "lengths", "pad_mask"};
constexpr std::array<std::string_view, 2> kBoundKeys = {"length_max", "too_long"};

void refuse_keys(const TableReader& reader, std::span<const std::string_view> keys, const std::string& why) {
  for (const std::string_view key : keys)
    if (reader.find(key) != nullptr) reader.complain(key, why);
}

TooLong too_long_named(std::string_view name) {
  return name == "cut" ? TooLong::kCut : name == "leave-out" ? TooLong::kLeaveOut : TooLong::kBad;
}

// Whether the file gives the key a value of its type. A stand-in after a complaint has nothing more to say.
bool is_given(const TableReader& reader, std::string_view key) {
  return reader.find(key) != nullptr && !reader.complaints().has(reader.key(key));
}

}  // namespace

const std::vector<Parameter>& varying_keys() {
  static const std::vector<Parameter> keys = {
      {.name = "pad",
       .type = ParameterType::kChoice,
       .help = "fill samples up to the length of the batch's longest one",
       .fallback = Value(std::string()),
       .choices = {"longest"}},
      {.name = "pad_multiple",
       .type = ParameterType::kInteger,
       .help = "rows are as long as a multiple of this",
       .fallback = Value(int64_t{1}),
       .min = 1,
       .max = 1u << 20},
      {.name = "pad_value", .type = ParameterType::kNumber, .help = "what fills rows up", .fallback = Value(0.0)},
      {.name = "lengths",
       .type = ParameterType::kText,
       .help = "name of a further tensor, int64 [B]: the samples' lengths",
       .fallback = Value(std::string())},
      {.name = "pad_mask",
       .type = ParameterType::kText,
       .help = "name of a further tensor, bool [B, L]: true where a row holds a value",
       .fallback = Value(std::string())},
      {.name = "ragged",
       .type = ParameterType::kFlag,
       .help = "one sample's values behind the other's, with a tensor of offsets",
       .fallback = Value(false)},
      {.name = "length_max",
       .type = ParameterType::kInteger,
       .help = "the most values of a sample, along its first dimension",
       .fallback = Value(int64_t{0}),
       .min = 1,
       .max = static_cast<double>(kLengthMax)},
      {.name = "too_long",
       .type = ParameterType::kChoice,
       .help = "what becomes of a sample that is longer than length_max",
       .fallback = Value(std::string("bad")),
       .choices = {"bad", "cut", "leave-out"}}};
  return keys;
}

std::optional<VaryingSpec> check_varying(const TableReader& reader) {
  VaryingSpec varying;
  const bool is_padded = !reader.text("pad").empty(), is_ragged = reader.flag("ragged");
  varying.pad_multiple = static_cast<uint64_t>(reader.integer("pad_multiple"));
  varying.pad_value = reader.number("pad_value");
  varying.lengths = reader.text("lengths");
  varying.pad_mask = reader.text("pad_mask");
  varying.length_max = static_cast<uint64_t>(reader.integer("length_max"));
  varying.too_long = too_long_named(reader.text("too_long"));
  varying.form = is_padded ? Form::kPadded : is_ragged ? Form::kRagged : Form::kFixed;
  if (reader.complaints().has(reader.key("pad")) || reader.complaints().has(reader.key("ragged"))) return std::nullopt;
  if (is_padded && is_ragged)
    reader.complain("ragged", "may not stand beside pad: samples are filled up, or follow one another without padding");
  if (!is_padded) refuse_keys(reader, kPadKeys, "is for an output with pad = \"longest\" alone");
  if (!is_padded && !is_ragged)
    refuse_keys(reader, kBoundKeys, "is for an output with pad = \"longest\" or ragged = true alone");
  return is_padded || is_ragged ? varying : VaryingSpec();
}

std::vector<NamedTensor> further_tensors(const TableReader& reader, const OutputSpec& output) {
  std::vector<NamedTensor> tensors;
  if (output.varying.form == Form::kRagged && !output.name.empty())
    tensors.push_back({"ragged", offsets_name(output.name)});
  if (output.varying.form != Form::kPadded) return tensors;
  if (is_given(reader, "lengths")) tensors.push_back({"lengths", output.varying.lengths});
  if (is_given(reader, "pad_mask")) tensors.push_back({"pad_mask", output.varying.pad_mask});
  return tensors;
}

void check_bound(const TableReader& reader, const VaryingSpec& varying, const Signature& end) {
  if (varying.form == Form::kFixed) return;
  const LengthBound bound = length_bound(varying, end);
  if (!bound.error.empty() && !reader.complaints().has(reader.key(bound.key))) reader.complain(bound.key, bound.error);
}

void refuse_too_many_tensors(const PipelineSpec& spec, int line, Complaints& complaints) {
  size_t count = 1 + (spec.has_mask() ? 1 : 0);  // sample_id and mask
  count += (spec.batch.lam.empty() ? 0 : 1) + (spec.batch.partner.empty() ? 0 : 1);
  for (const OutputSpec& output : spec.outputs) count += tensor_names(output).size();
  if (count > kBatchTensorsMax)
    complaints.add(line, "output",
                   "would make batches of " + std::to_string(count) +
                       " tensors, with sample_id, mask, offsets, lengths and boxes counted: at most " +
                       std::to_string(kBatchTensorsMax) + " are allowed, so leave outputs out");
}

}  // namespace spdld::config
