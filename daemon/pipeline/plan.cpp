#include "daemon/pipeline/plan.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "daemon/pipeline/number_text.h"
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

template <typename T>
void store(uint8_t* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

}  // namespace

Plan::Plan(const config::PipelineSpec& spec, const source::Listing& listing) {
  for (const auto& output : spec.outputs) outputs_.push_back(compile(output, listing));
  note_pictures();
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
  fetched_.push_back({field, false, true});
  return fetched_.size() - 1;
}

size_t Plan::json_index(size_t fetched) {
  const auto at = std::find(json_.begin(), json_.end(), fetched);
  const auto index = static_cast<size_t>(at - json_.begin());
  if (at == json_.end()) json_.push_back(fetched);
  return index;
}

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
  using Kind = source::FieldKind;
  if (path.is_json() && field->kind != Kind::kFetched) refuse(spec, "field '" + wanted + "' holds no JSON");
  const std::string_view first = spec.ops.empty() ? std::string_view() : std::string_view(spec.ops.front().op);

  if (first == "decode-image") {
    if (field->kind != Kind::kFetched || path.is_json()) refuse(spec, "field '" + spec.from + "' is no picture");
    transform::ImageProgram program(spec);
    const auto& tensor = program.tensor();
    const size_t place = add_tensor(spec.name, tensor.dtype, tensor.shape);
    std::optional<size_t> box;
    if (!program.box_name().empty()) box = add_tensor(program.box_name(), config::DType::kInt32, {4});
    const size_t fetched = fetch_index(id);
    return {spec.name, place, id, fetched, {}, ImageOutput{std::move(program), fetched, box}};
  }
  std::optional<size_t> fetched;
  std::optional<JsonValue> json;
  if (field->kind == Kind::kFetched) fetched = fetch_index(id);
  if (path.is_json()) json = {json_index(*fetched), path.steps};
  if (first == "pad-bytes") {
    if (field->kind == Kind::kInteger) refuse(spec, "field '" + spec.from + "' is a number, not bytes");
    const int64_t length = spec.ops.front().integer("length");
    const size_t place = add_tensor(spec.name, config::DType::kUint8, {length});
    return {spec.name, place, id, fetched, std::move(json), BytesOutput{static_cast<size_t>(length)}};
  }
  if (first == "parse-int" || first == "parse-float" || (first.empty() && field->kind == Kind::kInteger)) {
    if (first.empty() == (field->kind != Kind::kInteger))
      refuse(spec, std::string(first) + " reads the text of a fetched field; '" + spec.from + "' is none");
    if (field->kind == Kind::kText) refuse(spec, "field '" + spec.from + "' is a name, not a number");
    if (first != "parse-float")
      return {spec.name,      add_tensor(spec.name, config::DType::kInt64, {}), id, fetched, std::move(json),
              IntegerOutput{}};
    const config::DType dtype = config::dtype_named(spec.ops.front().text("dtype"));
    const size_t place = add_tensor(spec.name, dtype, {});
    return {spec.name, place, id, fetched, std::move(json), FloatOutput{dtype == config::DType::kFloat32}};
  }
  refuse(spec, "field '" + spec.from +
                   "' needs an operation that makes a tensor of it: decode-image, parse-int, parse-float or pad-bytes");
}

// Planes stand for a field where every output decodes it in the same way, and whole.
void Plan::note_pictures() {
  for (size_t i = 0; i < fetched_.size(); i++) {
    std::vector<std::pair<bool, bool>> ways;  // exif, strict
    bool only_pictures = true;
    for (const auto& output : outputs_) {
      const auto* image = std::get_if<ImageOutput>(&output.kind);
      if (image && image->fetched == i) {
        ways.emplace_back(image->program.exif(), image->program.strict());
        fetched_[i].is_fast |= image->program.fast();
      }
      only_pictures &= image != nullptr || output.fetched != i;
    }
    const bool agree = !ways.empty() && std::equal(ways.begin() + 1, ways.end(), ways.begin());
    fetched_[i].is_picture = only_pictures && agree && !fetched_[i].is_fast;
    if (!ways.empty()) std::tie(fetched_[i].exif, fetched_[i].strict) = ways.front();
  }
}

Status Plan::run(const Sample& sample, const Draws& draws, DecodeContext& context, const Target& target) const {
  if (const Status read = read_json(sample, context); !read) return read;
  for (const auto& output : outputs_) {
    const Status status = std::visit(
        [&](const auto& kind) { return run_output(kind, output, sample, draws, context, target); }, output.kind);
    if (!status) return status;
  }
  store(target.layout.sample_at(target.slot, sample_id_, target.index), static_cast<int64_t>(sample.id));
  if (mask_) *target.layout.sample_at(target.slot, *mask_, target.index) = 1;
  return Done{};
}

namespace {

uint8_t* aligned(ByteBuffer& memory, size_t bytes) {
  const auto address = reinterpret_cast<uintptr_t>(memory.resize(bytes + PlanesLayout::kAlignment));
  return reinterpret_cast<uint8_t*>((address + PlanesLayout::kAlignment - 1) / PlanesLayout::kAlignment *
                                    PlanesLayout::kAlignment);
}

// Decodes the opened picture to planes: whole, where its shelf keeps them, which then stand for the field; else what
// `geometry` needs, reduced as it says (a field that has such outputs has no shelf for planes).
Result<std::span<const uint8_t>> make_planes(const PlanesShape& shape, const transform::Geometry& geometry,
                                             uint64_t sample, FieldBytes& field, decode::ImageDecoder& decoder,
                                             ByteBuffer& own) {
  const size_t bytes = PlanesLayout(shape).bytes;
  cache::Shelf* const shelf = field.planes_shelf;
  cache::Shelf::Room room = shelf ? shelf->reserve(sample, bytes) : cache::Shelf::Room();
  uint8_t* const memory = room ? room.memory() : aligned(own, bytes);
  const bool whole = room || (shelf && shelf->has_disk_room(bytes));
  const Status decoded =
      whole ? decoder.decode_planes(memory) : decoder.decode_planes(geometry.decoded, geometry.reduction, memory);
  if (!decoded) return decoded.error();
  if (room) room.keep(field.identity);
  if (whole) {
    shelf->put_on_disk(sample, field.identity, memory, bytes);
    field.bytes = {memory, bytes};
    field.form = cache::Form::kPlanes;
  }
  return std::span<const uint8_t>(memory, bytes);
}

}  // namespace

Status Plan::run_output(const ImageOutput& output, const Output& of, const Sample& sample, const Draws& draws,
                        DecodeContext& context, const Target& target) const {
  FieldBytes& field = sample.fields[output.fetched];
  uint8_t* const out = target.layout.sample_at(target.slot, of.tensor, target.index);
  std::span<const uint8_t> bytes = field.bytes;
  const bool was_kept = field.form == cache::Form::kPlanes;
  if (!was_kept) {
    const Result<Size> size = context.decoder->open(field.bytes, output.program.exif(), output.program.strict());
    if (!size) return size.error();
    output.program.resolve(*size, draws, context.geometry);
    int& reduction = context.geometry.reduction;
    while (reduction > 1 && !context.decoder->planes(reduction)) reduction /= 2;
    const auto shape = context.decoder->planes(reduction);
    context.planes.resize(fetched_.size());
    bytes = {};
    if (shape) {
      const auto made =
          make_planes(*shape, context.geometry, sample.id, field, *context.decoder, context.planes[output.fetched]);
      if (!made) return made.error();
      bytes = *made;
    } else {
      const Status decoded = context.decoder->decode(context.geometry.decoded, context.rows);
      if (!decoded) return decoded;
      output.program.render(context.rows, context.geometry, context.scratch, out);
    }
  }
  if (!bytes.empty()) {
    PlanesView planes;
    if (!view_planes(bytes.data(), bytes.size(), planes))
      return Error{Trouble::kInternal,
                   "what the cache keeps of sample " + std::to_string(sample.id) + " is no picture"};
    if (was_kept) {
      output.program.resolve(planes.shape.picture, draws, context.geometry);
      context.geometry.reduction = 1;
    }
    output.program.render(planes, context.geometry, context.scratch, out);
  }
  if (output.box_tensor) {
    const Box& drawn = context.geometry.drawn;
    const std::array<int32_t, 4> box = {drawn.x, drawn.y, drawn.width, drawn.height};
    store(target.layout.sample_at(target.slot, *output.box_tensor, target.index), box);
  }
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

namespace {

Error of_output(const std::string& name, const Error& error) {
  return {error.trouble, "output '" + name + "': " + error.message};
}

}  // namespace

// The bytes of the output, valid until the next output.
Result<std::string_view> Plan::text_of(const Output& output, const Sample& sample, DecodeContext& context) {
  if (output.json) {
    auto text = context.json[output.json->field].at(output.json->steps);
    if (text) return text;
    return of_output(output.name, text.error());
  }
  if (!output.fetched) {
    context.name = sample.listing.name(sample.id);
    return std::string_view(context.name);
  }
  const auto held = sample.fields[*output.fetched].bytes;
  return std::string_view(reinterpret_cast<const char*>(held.data()), held.size());
}

Status Plan::run_output(const IntegerOutput&, const Output& of, const Sample& sample, const Draws&,
                        DecodeContext& context, const Target& target) const {
  Result<int64_t> value = int64_t{0};
  if (of.fetched) {
    const auto text = text_of(of, sample, context);
    if (!text) return text.error();
    value = integer_in(*text);
    if (!value) return of_output(of.name, value.error());
  } else {
    value = sample.listing.integer(sample.id, of.field);
  }
  store(target.layout.sample_at(target.slot, of.tensor, target.index), *value);
  return Done{};
}

Status Plan::run_output(const FloatOutput& output, const Output& of, const Sample& sample, const Draws&,
                        DecodeContext& context, const Target& target) const {
  const auto text = text_of(of, sample, context);
  if (!text) return text.error();
  const Result<double> value = number_in(*text, output.is_float32);
  if (!value) return of_output(of.name, value.error());
  uint8_t* const at = target.layout.sample_at(target.slot, of.tensor, target.index);
  if (output.is_float32) {
    store(at, static_cast<float>(*value));
  } else {
    store(at, *value);
  }
  return Done{};
}

Status Plan::run_output(const BytesOutput& output, const Output& of, const Sample& sample, const Draws&,
                        DecodeContext& context, const Target& target) const {
  const auto held = text_of(of, sample, context);
  if (!held) return held.error();
  if (held->size() > output.length)
    return Error{Trouble::kContent, "output '" + of.name + "': " + std::to_string(held->size()) +
                                        " bytes do not fit pad-bytes' length of " + std::to_string(output.length)};
  uint8_t* at = target.layout.sample_at(target.slot, of.tensor, target.index);
  if (!held->empty()) std::memcpy(at, held->data(), held->size());
  std::memset(at + held->size(), 0, output.length - held->size());
  return Done{};
}

void Plan::write_masked(uint64_t sample, const Target& target) const {
  const auto& tensors = target.layout.tensors();
  for (size_t i = 0; i < tensors.size(); i++)
    std::memset(target.layout.sample_at(target.slot, i, target.index), 0, tensors[i].sample_bytes);
  store(target.layout.sample_at(target.slot, sample_id_, target.index), static_cast<int64_t>(sample));
}

}  // namespace spdld::pipeline
