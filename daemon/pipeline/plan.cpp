#include "daemon/pipeline/plan.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "config/batch_operation.h"
#include "config/text/element.h"
#include "config/varying.h"
#include "config/views.h"
#include "daemon/media/sample_notes.h"
#include "daemon/pipeline/forms/shelf_keeper.h"
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

uint64_t bytes_of_shape(config::DType dtype, std::span<const int64_t> shape) {
  uint64_t bytes = config::dtype_bytes(dtype);
  for (const int64_t n : shape) bytes *= static_cast<uint64_t>(n);
  return bytes;
}

template <typename T>
void store(uint8_t* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

}  // namespace

Plan::Plan(const config::PipelineSpec& spec, const source::Listing& listing, const std::stop_token& stop)
    : side_files_(listing.shared_bounds(), stop), has_rows_(listing.has_rows()), makings_(makings_of(spec)) {
  config::Views views = config::views_of(spec.outputs);
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    outputs_.push_back(compile(spec.outputs[i], spec.outputs, listing));
    outputs_.back().view = views.number[i];
  }
  order_ = std::move(views.order);
  asked_ = std::move(views.asked);
  note_representations();
  note_shared();
  note_placed(spec.outputs, listing);
  if (!spec.batch.lam.empty()) add_rows(spec.batch.lam, config::DType::kFloat32, {});
  if (!spec.batch.partner.empty()) add_rows(spec.batch.partner, config::DType::kInt64, {});
  for (const auto& op : spec.batch.ops)
    batch_code_.push_back(op.op + " " + std::to_string(config::find_batch_operation(op.op)->version));
  sample_id_ = add_rows("sample_id", config::DType::kInt64, {});
  if (spec.has_mask()) mask_ = add_rows("mask", config::DType::kUint8, {});
}

size_t Plan::add_tensor(batch::TensorPlace tensor) {
  for (const auto& other : tensors_)
    if (other.name == tensor.name)
      throw SetupError(Trouble::kUsage,
                       "two tensors of the batch would be named '" + tensor.name + "': rename one of them");
  tensors_.push_back(std::move(tensor));
  return tensors_.size() - 1;
}

size_t Plan::add_rows(const std::string& name, config::DType dtype, std::vector<int64_t> shape) {
  const uint64_t bytes = bytes_of_shape(dtype, shape);
  return add_tensor({.name = name, .dtype = dtype, .sample_shape = std::move(shape), .sample_bytes = bytes});
}

// A tensor whose samples have the shape of their batch.
size_t Plan::add_shaped(const std::string& name, const config::Signature& end) {
  batch::TensorPlace tensor{.name = name, .dtype = end.dtype(), .sample_shape = {}, .shapes = end.tensor().shapes};
  for (const config::Dimension& dimension : end.dimensions) tensor.sample_shape.push_back(dimension.most().value());
  for (const std::vector<int64_t>& shape : end.tensor().shapes)
    tensor.sample_bytes = std::max(tensor.sample_bytes, bytes_of_shape(end.dtype(), shape));
  return add_tensor(std::move(tensor));
}

// Adds the output's own tensor, and behind it the tensors that describe it.
size_t Plan::add_varying(const config::OutputSpec& spec, const config::Signature& end, uint64_t length_max) {
  const config::VaryingSpec& varying = spec.varying;
  std::vector<int64_t> shape;
  for (size_t i = 1; i < end.dimensions.size(); i++) shape.push_back(end.dimensions[i].value());
  batch::TensorPlace own{.name = spec.name, .dtype = end.dtype(), .sample_shape = shape};
  own.sample_bytes = length_max * bytes_of_shape(end.dtype(), shape);
  if (varying.form == config::Form::kRagged) {
    own.role = batch::Role::kValues;
    const size_t values = add_tensor(std::move(own));
    const batch::TensorPlace offsets{.name = config::offsets_name(spec.name),
                                     .dtype = config::DType::kInt64,
                                     .sample_shape = {},
                                     .sample_bytes = sizeof(int64_t),
                                     .role = batch::Role::kOffsets,
                                     .of = values};
    add_tensor(offsets);
    return values;
  }
  const auto length = static_cast<int64_t>(length_max);
  own.sample_shape.insert(own.sample_shape.begin(), length);
  own.padding = {varying.pad_multiple, {}};
  if (varying.pad_value != 0) own.padding->element = config::element_of(end.dtype(), varying.pad_value).value();
  const size_t rows = add_tensor(std::move(own));
  const auto add_part = [&](const std::string& name, config::DType dtype, batch::Role role,
                            const std::vector<int64_t>& of_sample) {
    if (name.empty()) return;
    add_tensor({.name = name,
                .dtype = dtype,
                .sample_shape = of_sample,
                .sample_bytes = bytes_of_shape(dtype, of_sample),
                .role = role,
                .of = rows});
  };
  add_part(varying.lengths, config::DType::kInt64, batch::Role::kLengths, {});
  add_part(varying.pad_mask, config::DType::kBool, batch::Role::kMask, {length});
  return rows;
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

Plan::Output Plan::compile(const config::OutputSpec& spec, std::span<const config::OutputSpec> all,
                           const source::Listing& listing) {
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
  config::Signature start = signature_of(field->kind, path.is_json());
  config::set_frame(start, config::frame_of(all, spec));
  if (!path.is_json() && start.kind() == config::SignatureKind::kBytes) start.bytes().raw = field->raw;
  const config::Followed followed = config::follow(spec.ops, start, spec.varying.form);
  if (!followed.error.empty()) {
    const bool is_whole = followed.at == spec.ops.size();
    refuse(spec, (is_whole ? "field '" + spec.from + "'" : "ops[" + std::to_string(followed.at) + "]") + " " +
                     followed.error);
  }
  const bool varies = spec.varying.form != config::Form::kFixed;
  config::LengthBound bound;
  if (varies) bound = config::length_bound(spec.varying, followed.end());
  if (!bound.error.empty()) refuse(spec, std::string(bound.key) + " " + bound.error);
  std::vector<size_t> tensors = {!shapes_of(followed.end()).empty() ? add_shaped(spec.name, followed.end())
                                 : varies ? add_varying(spec, followed.end(), bound.length_max)
                                          : add_rows(spec.name, followed.end().dtype(), followed.end().shape())};
  for (const auto& extra : config::extras_of(spec.ops))
    tensors.push_back(add_rows(extra.name, extra.dtype, extra.shape));
  std::optional<size_t> fetched;
  std::optional<JsonValue> json;
  if (is_fetched) fetched = fetch_index(id);
  if (path.is_json()) json = {json_index(*fetched), path.steps};
  const std::vector<config::Segment> segments = config::segments_of(spec.ops);
  const size_t first = segments.front().count;
  std::vector<Further> further = compile_further(spec, segments, followed);
  return {spec.name,
          std::move(tensors),
          varies ? std::optional(varying_++) : std::nullopt,
          bound.length_max,
          spec.varying.too_long,
          id,
          field->kind,
          fetched,
          std::move(json),
          media::Chain({std::span(spec.ops).first(first), std::span(followed.along).first(first + 1), spec.name, 1,
                        true, further.empty()},
                       &side_files_),
          std::move(further),
          std::nullopt};
}

// A prepared form stands for a field where every output of the field starts from the same one.
void Plan::note_representations() {
  std::vector<bool> is_seen(fetched_.size());
  for (const Output& output : outputs_) {
    if (!output.fetched) continue;
    FieldUse& use = fetched_[*output.fetched];
    for (size_t i = 0; i < kPreparedForms.size(); ++i) {
      const media::Representation*& shared = use.representations[i];
      const auto* form = output.json ? nullptr : output.chain.representation(kPreparedForms[i]);
      if (!is_seen[*output.fetched]) shared = form;
      if (!form || !shared || shared->id() != form->id()) shared = nullptr;
    }
    if (use.why_unprepared.empty()) use.why_unprepared = output.chain.why_unprepared();
    const std::string_view index = output.json ? std::string_view() : output.chain.index_id();
    use.takes_parts = !index.empty() && (use.takes_parts || !is_seen[*output.fetched]);
    if (!index.empty() && std::find(use.indexes.begin(), use.indexes.end(), index) == use.indexes.end())
      use.indexes.push_back(index);
    is_seen[*output.fetched] = true;
  }
}

void Plan::note_shared() {
  std::vector<size_t> starts(fetched_.size());
  const auto starts_there = [](const Output& output) { return output.fetched && !output.json; };
  for (const Output& output : outputs_)
    if (starts_there(output)) ++starts[*output.fetched];
  for (const size_t number : order_)
    if (starts_there(outputs_[number]) &&
        (starts[*outputs_[number].fetched] > 1 || !outputs_[number].chain.index_id().empty()))
      shared_.push_back(number);
}

std::string Plan::code() const {
  std::set<std::string> all(batch_code_.begin(), batch_code_.end());
  for (const Output& output : outputs_) {
    all.insert(output.chain.code().begin(), output.chain.code().end());
    for (const Further& further : output.further)
      if (further.chain) all.insert(further.chain->code().begin(), further.chain->code().end());
  }
  for (const Errand& errand : errands_)
    for (const config::OperationSpec& op : errand.ops)
      all.insert(op.op + " " + std::to_string(config::find_operation(op.op)->version));
  std::string text;
  for (const std::string& code : all) text += (text.empty() ? "" : ", ") + code;
  return text;
}

struct Plan::Start {
  media::Value value;
  FieldBytes* field = nullptr;
  std::optional<text::JsonPlace> place = {};
};

Status Plan::run(const Sample& sample, const Draws& draws, DecodeContext& context, const Target& target) const {
  for (size_t i = 0; i < sample.fields.size(); ++i) {
    sample.fields[i].number = i;
    sample.fields[i].is_begun = false;
    sample.fields[i].wanted.clear();
  }
  context.workspace.guard().begin();
  auto& notes = context.workspace.of<media::SampleNotes>();
  notes = media::SampleNotes(context.workspace.limits());
  const bool is_timed = context.untimed++ % media::kTimedEvery == 0;
  if (const Status read = read_json(sample, context); !read) return read;
  Status made = advise(sample, draws, context);
  if (made) made = announce(sample, draws, context, target);
  for (size_t i = 0; made && i < order_.size(); ++i) {
    const Output& output = outputs_[order_[i]];
    context.workspace.timer().set(is_timed ? output.times.get() : nullptr);
    made = run_output(output, sample, draws, context, target);
    if (is_timed) output.times->add_sample();
    if (made) hand_on(output, 0, target);
  }
  context.workspace.timer().set(nullptr);
  if (!made) {
    clear_lengths(target);
    return made;
  }
  if (notes.is_trimmed) {
    trimmed_.samples.add();
    trimmed_.last.store(sample.id, std::memory_order_relaxed);
  }
  store(target.layout.sample_at(target.slot, sample_id_, target.index), static_cast<int64_t>(sample.id));
  if (mask_) *target.layout.sample_at(target.slot, *mask_, target.index) = 1;
  return Done{};
}

Status Plan::advise(const Sample& sample, const Draws& draws, DecodeContext& context) const {
  Status all = Done{};
  for (const size_t number : asked_) {
    const Output& output = outputs_[number];
    Start start;
    if (const Status begun = begin(output, sample, context, start); !begun) return begun;
    const Status advised = output.chain.advise(start.value, {.sample = sample.id,
                                                             .draws = draws,
                                                             .workspace = context.workspace,
                                                             .field = start.field,
                                                             .tensors = {},
                                                             .part = part_of(sample),
                                                             .view = output.view});
    if (!advised && advised.error().trouble != Trouble::kUnread) return advised;
    if (!advised) all = advised;  // the others say what they need too
  }
  return all;
}

Status Plan::announce(const Sample& sample, const Draws& draws, DecodeContext& context, const Target& target) const {
  Status all = Done{};
  for (const size_t number : shared_) {
    const Output& output = outputs_[number];
    const Status announced = output.chain.announce({.sample = sample.id,
                                                    .draws = draws,
                                                    .workspace = context.workspace,
                                                    .field = &sample.fields[*output.fetched],
                                                    .tensors = {},
                                                    .part = part_of(sample),
                                                    .view = output.view,
                                                    .shape = target.shape()});
    if (!announced && announced.error().trouble != Trouble::kUnread) return announced;
    if (!announced) all = announced;  // the others say what they need too
  }
  return all;
}

Status Plan::read_json(const Sample& sample, DecodeContext& context) const {
  context.json.resize(json_.size());
  for (size_t i = 0; i < json_.size(); i++) {
    const std::span<const uint8_t> text = sample.fields[json_[i]].bytes;
    if (!context.json_memory->add(text.size() * text::kJsonBytesPerByte)) return media::no_room();
    const Status read = context.json[i].read(text);
    if (read) continue;
    const auto& name = sample.listing.fields()[fetched_[json_[i]].field].name;
    return Error{read.error().trouble, "field '" + name + "': " + read.error().message};
  }
  return Done{};
}

void Plan::open_length(const Output& output, const Target& target, media::TensorOut& out) {
  out.length = &target.contents->lengths_of(target.layout, *output.varying)[target.index];
  out.length_max = output.length_max;
  out.too_long = output.too_long;
}

Status Plan::begin(const Output& output, const Sample& sample, DecodeContext& context, Start& start) {
  media::Value& value = start.value;
  if (output.json && output.chain.reads_json()) {
    value.json = &start.place.emplace(text::JsonPlace{context.json[output.json->field], output.json->steps});
  } else if (output.json) {
    const auto text = context.json[output.json->field].at(output.json->steps);
    if (!text) return media::of_output(output.name, text.error());
    value.bytes = bytes_of(*text);
  } else if (output.fetched) {
    start.field = &sample.fields[*output.fetched];
    value.bytes = start.field->bytes;
  } else if (output.kind == source::FieldKind::kText) {
    context.name = sample.listing.name(sample.id);
    value.bytes = bytes_of(context.name);
  } else {
    value.integer = sample.listing.integer(sample.id, output.field);
  }
  return Done{};
}

Status Plan::run_output(const Output& output, const Sample& sample, const Draws& draws, DecodeContext& context,
                        const Target& target) const {
  if (output.fetched && sample.fields[*output.fetched].is_placed) return Done{};
  Start start;
  if (const Status begun = begin(output, sample, context, start); !begun) return begun;
  std::optional<ShelfKeeper> keeper;
  if (FieldBytes* const field = start.field) {
    const uint64_t record = has_rows_ ? sample.listing.record_of(sample.id) : sample.id;  // what a shelf keeps
    if (field->keeps_on && !field->is_prepared) keeper.emplace(*field->keeps_on, record, field->identity);
    field->keeper = keeper ? &*keeper : nullptr;
  }
  if (const Status opened = open_tensors(output, 0, context, target); !opened) return opened;
  return output.chain.run(start.value, {.sample = sample.id,
                                        .draws = draws,
                                        .workspace = context.workspace,
                                        .field = start.field,
                                        .tensors = context.tensors,
                                        .part = part_of(sample),
                                        .view = output.view,
                                        .shape = target.shape()});
}

void Plan::clear_lengths(const Target& target) const {
  for (size_t k = 0; k < varying_; k++) target.contents->lengths_of(target.layout, k)[target.index] = 0;
}

// Padding, offsets, lengths and masks are written when the batch is packed.
void Plan::write_masked(uint64_t sample, const Target& target) const {
  const auto& tensors = target.layout.tensors();
  for (size_t i = 0; i < tensors.size(); i++) {
    if (tensors[i].role != batch::Role::kRows || tensors[i].padding) continue;
    std::memset(target.layout.sample_at(target.slot, i, target.index, target.shape()), 0,
                target.layout.bytes_of(i, target.shape()));
  }
  clear_lengths(target);
  store(target.layout.sample_at(target.slot, sample_id_, target.index), static_cast<int64_t>(sample));
}

}  // namespace spdld::pipeline
