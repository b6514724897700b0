#include "daemon/pipeline/plan.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "daemon/pipeline/shelf_keeper.h"
#include "daemon/source/joined.h"

namespace spdld::pipeline {
namespace {

[[noreturn]] void refuse(const config::OutputSpec& output, const std::string& what) {
  throw SetupError(Trouble::kUsage, "output '" + output.name + "': " + what);
}

std::string field_names(const source::Listing& listing) {
  std::string names;
  for (const auto& field : listing.fields()) names += (names.empty() ? "" : ", ") + field.name;
  return names;
}

std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

template <typename T>
void store(uint8_t* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

}  // namespace

Plan::Plan(const config::PipelineSpec& spec, const source::Listing& listing) {
  for (const auto& output : spec.outputs) outputs_.push_back(compile(output, listing));
  note_representations();
  sample_id_ = add_tensor("sample_id", config::DType::kInt64, {});
  if (spec.on_bad == config::OnBad::kMask) mask_ = add_tensor("mask", config::DType::kUint8, {});
}

size_t Plan::add_tensor(const std::string& name, config::DType dtype, std::vector<int64_t> shape) {
  for (const auto& tensor : tensors_)
    if (tensor.name == name)
      throw SetupError(Trouble::kUsage, "two tensors of the batch would be named '" + name + "': rename one of them");
  uint64_t bytes = config::dtype_bytes(dtype);
  for (int64_t n : shape) bytes *= static_cast<uint64_t>(n);
  tensors_.push_back({name, dtype, std::move(shape), bytes, 0});
  return tensors_.size() - 1;
}

size_t Plan::fetch_index(source::FieldId field) {
  const auto at =
      std::find_if(fetched_.begin(), fetched_.end(), [&](const FieldUse& use) { return use.field == field; });
  if (at != fetched_.end()) return static_cast<size_t>(at - fetched_.begin());
  fetched_.push_back({.field = field});
  return fetched_.size() - 1;
}

size_t Plan::json_index(size_t fetched) {
  const auto at = std::find(json_.begin(), json_.end(), fetched);
  const auto index = static_cast<size_t>(at - json_.begin());
  if (at == json_.end()) json_.push_back(fetched);
  return index;
}

namespace {

config::Signature signature_of(source::FieldKind kind, bool is_json) {
  switch (kind) {
    case source::FieldKind::kInteger:
      return config::integer();
    case source::FieldKind::kText:
      return config::bytes_of(config::Origin::kName);
    case source::FieldKind::kFetched:
      break;
  }
  return config::bytes_of(is_json ? config::Origin::kJson : config::Origin::kContent);
}

}  // namespace

Plan::Output Plan::compile(const config::OutputSpec& spec, const source::Listing& listing) {
  source::FieldId id = 0;
  const config::FieldPath path = config::parse_field_path(spec.from);
  const std::string wanted = path.field();
  const source::Field* field = listing.find_field(wanted, &id);
  if (!field) {
    const std::string why = source::why_no_field(listing, wanted);
    refuse(spec, "the samples have no field '" + wanted + "'" + (why.empty() ? "" : ", since " + why) + "; they have " +
                     field_names(listing));
  }
  const bool is_fetched = field->kind == source::FieldKind::kFetched;
  if (path.is_json() && !is_fetched) refuse(spec, "field '" + wanted + "' holds no JSON");
  const config::Followed followed = config::follow(spec.ops, signature_of(field->kind, path.is_json()));
  if (!followed.error.empty()) {
    const bool is_whole = followed.at == spec.ops.size();
    refuse(spec, (is_whole ? "field '" + spec.from + "'" : "ops[" + std::to_string(followed.at) + "]") + " " +
                     followed.error);
  }
  std::vector<size_t> tensors = {add_tensor(spec.name, followed.end().dtype, followed.end().shape())};
  for (const auto& extra : config::extras_of(spec.ops))
    tensors.push_back(add_tensor(extra.name, extra.dtype, extra.shape));
  std::optional<size_t> fetched;
  std::optional<JsonValue> json;
  if (is_fetched) fetched = fetch_index(id);
  if (path.is_json()) json = {json_index(*fetched), path.steps};
  return {spec.name,
          std::move(tensors),
          id,
          field->kind,
          fetched,
          std::move(json),
          media::Chain(spec.ops, followed, spec.name)};
}

// A prepared form stands for a field where every output of the field starts from the same one.
void Plan::note_representations() {
  std::vector<bool> is_seen(fetched_.size());
  for (const Output& output : outputs_) {
    if (!output.fetched) continue;
    FieldUse& use = fetched_[*output.fetched];
    const media::Representation* form = output.json ? nullptr : output.chain.representation();
    if (!is_seen[*output.fetched]) use.representation = form;
    if (!form || !use.representation || use.representation->id() != form->id()) use.representation = nullptr;
    if (use.why_unprepared.empty()) use.why_unprepared = output.chain.why_unprepared();
    is_seen[*output.fetched] = true;
  }
}

std::string Plan::code() const {
  std::set<std::string> all;
  for (const Output& output : outputs_) all.insert(output.chain.code().begin(), output.chain.code().end());
  std::string text;
  for (const std::string& code : all) text += (text.empty() ? "" : ", ") + code;
  return text;
}

Status Plan::run(const Sample& sample, const Draws& draws, DecodeContext& context, const Target& target) const {
  if (const Status read = read_json(sample, context); !read) return read;
  for (const auto& output : outputs_) {
    const Status status = run_output(output, sample, draws, context, target);
    if (!status) return status;
  }
  store(target.layout.sample_at(target.slot, sample_id_, target.index), static_cast<int64_t>(sample.id));
  if (mask_) *target.layout.sample_at(target.slot, *mask_, target.index) = 1;
  return Done{};
}

Status Plan::read_json(const Sample& sample, DecodeContext& context) const {
  context.json.resize(json_.size());
  for (size_t i = 0; i < json_.size(); i++) {
    const Status read = context.json[i].read(sample.fields[json_[i]].bytes);
    if (read) continue;
    const auto& name = sample.listing.fields()[fetched_[json_[i]].field].name;
    return Error{read.error().trouble, "field '" + name + "': " + read.error().message};
  }
  return Done{};
}

Status Plan::run_output(const Output& output, const Sample& sample, const Draws& draws, DecodeContext& context,
                        const Target& target) const {
  media::Value value;
  FieldBytes* field = nullptr;
  std::optional<ShelfKeeper> keeper;
  if (output.json) {
    const auto text = context.json[output.json->field].at(output.json->steps);
    if (!text) return media::of_output(output.name, text.error());
    value.bytes = bytes_of(*text);
  } else if (output.fetched) {
    field = &sample.fields[*output.fetched];
    if (field->keeps_on && !field->is_prepared) keeper.emplace(*field->keeps_on, sample.id, field->identity);
    field->keeper = keeper ? &*keeper : nullptr;
    field->number = *output.fetched;
    value.bytes = field->bytes;
  } else if (output.kind == source::FieldKind::kText) {
    context.name = sample.listing.name(sample.id);
    value.bytes = bytes_of(context.name);
  } else {
    value.integer = sample.listing.integer(sample.id, output.field);
  }
  context.tensors.clear();
  for (const size_t tensor : output.tensors)
    context.tensors.push_back(target.layout.sample_at(target.slot, tensor, target.index));
  return output.chain.run(value, {sample.id, draws, context.workspace, field, context.tensors});
}

void Plan::write_masked(uint64_t sample, const Target& target) const {
  const auto& tensors = target.layout.tensors();
  for (size_t i = 0; i < tensors.size(); i++)
    std::memset(target.layout.sample_at(target.slot, i, target.index), 0, tensors[i].sample_bytes);
  store(target.layout.sample_at(target.slot, sample_id_, target.index), static_cast<int64_t>(sample));
}

}  // namespace spdld::pipeline
