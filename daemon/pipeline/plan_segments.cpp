// Segments of outputs behind the first one.
#include <algorithm>
#include <cstring>
#include <utility>
#include <variant>

#include "config/catalogue.h"
#include "daemon/pipeline/plan.h"

namespace spdld::pipeline {
namespace {

// A value as it lies on its way to another executor: an integer is a tensor of one number there.
config::Signature lying(const config::Signature& passed) {
  return passed.kind() == config::SignatureKind::kInteger ? config::tensor(passed.dtype(), {}) : passed;
}

// Whether the errand's result is the sample's part of the batch as it is.
bool may_write_slot(const config::Signature& gives, const config::Segment& rest) {
  return rest.count == 0 && gives.kind() == config::SignatureKind::kTensor && gives.is_fixed();
}

}  // namespace

std::vector<Plan::Further> Plan::compile_further(const config::OutputSpec& spec,
                                                 std::span<const config::Segment> segments,
                                                 const config::Followed& followed) {
  std::vector<Further> all;
  const std::span<const config::OperationSpec> ops = spec.ops;
  const std::span<const config::Signature> along = followed.along;
  for (size_t i = 1; i + 1 < segments.size(); i += 2) {
    const config::Segment &theirs = segments[i], &rest = segments[i + 1];
    const auto theirs_ops = ops.subspan(theirs.first, theirs.count);
    const size_t from = 2 * errands_.size();
    errands_.push_back({.executor = theirs.executor,
                        .turn = all.size() + 1,
                        .output = spec.name,
                        .first = theirs.first,
                        .ops = {theirs_ops.begin(), theirs_ops.end()},
                        .takes = lying(along[theirs.first]),
                        .gives = along[rest.first],
                        .from = from,
                        .to = from + 1});
    Further further{errands_.size() - 1, std::nullopt};
    const bool is_last = i + 2 == segments.size();
    if (!is_last || !may_write_slot(along[rest.first], rest))
      further.chain.emplace(
          media::Chain::Stretch{ops.subspan(rest.first, rest.count), along.subspan(rest.first, rest.count + 1),
                                spec.name, 1 + config::extras_of(ops.first(rest.first)).size(), false, is_last},
          &side_files_);
    all.push_back(std::move(further));
  }
  return all;
}

std::vector<Making> Plan::makings_of(const config::PipelineSpec& spec) {
  std::vector<Making> all;
  for (const config::SourceSpec& source : spec.sources) {
    if (!config::is_made(source)) continue;
    Making making;
    making.executor = config::find_source(source.type)->executor;
    making.output = source.name;
    config::OperationSpec& op = making.ops.emplace_back();
    op.op = source.type;
    op.parameters = source.parameters;
    making.items = static_cast<uint64_t>(std::get<int64_t>(source.parameters.at("samples")));
    making.values = config::item_values(source);
    all.push_back(std::move(making));
  }
  return all;
}

// Nothing else may read the value, since it is in the batch alone then. The daemon looks at each bool.
std::optional<size_t> Plan::tensor_of(const config::NamedValueType& value, std::span<const config::OutputSpec> specs,
                                      const source::Listing& listing) const {
  std::optional<size_t> found;
  for (size_t i = 0; i < outputs_.size(); i++) {
    const Output& output = outputs_[i];
    if (!output.fetched || listing.fields()[output.field].name != value.name) continue;
    const bool copies = !found && !output.json && specs[i].ops.size() == 1 && output.tensors.size() == 1 &&
                        config::find_operation(specs[i].ops.front().op)->copies_values;
    if (!copies) return std::nullopt;
    found = output.tensors.front();
  }
  if (!found || !value.type.dtype || *value.type.dtype == config::DType::kBool) return std::nullopt;
  const batch::TensorPlace& tensor = tensors_[*found];
  const bool is_same = tensor.role == batch::Role::kRows && !tensor.padding && tensor.shapes.empty() &&
                       tensor.dtype == *value.type.dtype && tensor.sample_shape == value.type.shape;
  return is_same ? found : std::nullopt;
}

void Plan::note_placed(std::span<const config::OutputSpec> specs, const source::Listing& listing) {
  if (has_rows_) return;  // its samples are parts of items
  for (Making& making : makings_)
    for (size_t i = 0; i < std::min(making.values.size(), Making::kPlacedMax); i++)
      making.tensors.push_back(tensor_of(making.values[i], specs, listing));
}

size_t Plan::turns() const {
  size_t last = 0;
  for (const Errand& errand : errands_) last = std::max(last, errand.turn);
  return last;
}

bool Plan::goes_on(size_t turn) const {
  return std::any_of(outputs_.begin(), outputs_.end(), [turn](const Output& output) {
    return turn <= output.further.size() && output.further[turn - 1].chain;
  });
}

Status Plan::open_tensors(const Output& output, size_t segment, DecodeContext& context, const Target& target) const {
  context.tensors.clear();
  for (const size_t tensor : output.tensors)
    context.tensors.push_back({.memory = target.layout.sample_at(target.slot, tensor, target.index, target.shape())});
  media::TensorOut& out = context.tensors.front();
  if (segment == output.further.size()) {
    if (output.varying) open_length(output, target, out);
    return Done{};
  }
  media::Carried& carried = target.carried[errands_[output.further[segment].errand].from];
  const config::Signature& signature = carried.signature();
  const bool is_bytes = signature.kind() == config::SignatureKind::kBytes;
  const auto shapes = config::shapes_of(signature);
  out = {};
  if (is_bytes || (!signature.is_fixed() && shapes.empty())) {
    out.carried = &carried;
    if (!config::layout_of(signature)) out.length = carried.length();  // pictures say their size as a whole
    return Done{};
  }
  const Result<uint8_t*> opened = carried.open(shapes.empty() ? signature.shape() : shapes[target.shape()]);
  if (!opened) return opened.error();
  out.memory = *opened;
  return Done{};
}

void Plan::hand_on(const Output& output, size_t segment, const Target& target) const {
  if (segment == output.further.size() || output.further[segment].chain) return;
  const Errand& errand = errands_[output.further[segment].errand];
  target.carried[errand.to].lie_at(
      target.layout.sample_at(target.slot, output.tensors.front(), target.index, target.shape()));
}

Status Plan::run_turn(size_t turn, const Sample& sample, const Draws& draws, DecodeContext& context,
                      const Target& target) const {
  context.workspace.guard().begin();
  const bool is_timed = context.untimed++ % media::kTimedEvery == 0;
  Status made = Done{};
  for (size_t i = 0; made && i < order_.size(); ++i) {
    const Output& output = outputs_[order_[i]];
    if (output.further.size() < turn || !output.further[turn - 1].chain) continue;
    context.workspace.timer().set(is_timed ? output.times.get() : nullptr);
    made = run_further(output, turn, sample, draws, context, target);
    if (made) hand_on(output, turn, target);
  }
  context.workspace.timer().set(nullptr);
  if (!made) clear_lengths(target);
  return made;
}

// Others may write into what they have given for as long as they like, so that bytes are read from a copy. A tensor's
// values may be anything.
Status Plan::run_further(const Output& output, size_t turn, const Sample& sample, const Draws& draws,
                         DecodeContext& context, const Target& target) const {
  const Further& further = output.further[turn - 1];
  const Errand& errand = errands_[further.errand];
  media::Carried& given = target.carried[errand.to];
  media::Value value;
  media::Field field;
  media::MemoryPart memory(&context.workspace.memory());
  if (errand.gives.kind() == config::SignatureKind::kTensor) {
    value.tensor = &given;
  } else {
    if (!memory.add(ByteBuffer::room_for(given.bytes()))) return media::no_room();
    context.given.resize(given.bytes());
    if (given.bytes() > 0) std::memcpy(context.given.data(), given.memory(), given.bytes());
    field.bytes = value.bytes = {context.given.data(), given.bytes()};
    field.number = fetched_.size() + further.errand;
  }
  if (const Status opened = open_tensors(output, turn, context, target); !opened) return opened;
  return further.chain->run(value, {.sample = sample.id,
                                    .draws = draws,
                                    .workspace = context.workspace,
                                    .field = &field,
                                    .tensors = context.tensors,
                                    .part = part_of(sample),
                                    .shape = target.shape()});
}

}  // namespace spdld::pipeline
