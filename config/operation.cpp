#include "config/operation.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "config/operation_types.h"

namespace spdld::config {
namespace {

// The place of a type never changes: operations are known by their address as well.
std::vector<OperationType>& table() {
  static std::vector<OperationType> table = [] {
    std::vector<OperationType> all = {
#define OPERATION(name, medium) ops::name(),
#include "config/operations.inc"
#undef OPERATION
    };
    all.reserve(all.size() + kAddedMax);
    return all;
  }();
  return table;
}

// "decode-image (with a fixed size), parse-int or pad-bytes": the operations that take such a value.
std::string takers_of(SignatureKind kind) {
  std::vector<const OperationType*> takers;
  for (const auto& operation : table())
    if (operation.takes.has(kind) && operation.picture().view_part != ViewPart::kFollows) takers.push_back(&operation);
  std::string text;
  for (const OperationType* taker : takers) {
    if (taker != takers.front()) text += taker == takers.back() ? " or " : ", ";
    text += taker->name;
    if (taker->gives == SignatureKind::kImage) text += " (with a fixed size)";
  }
  return text;
}

// The first operation that makes such a value of what there is, or else of another one.
std::string_view maker_of(Kinds kinds, SignatureKind has) {
  const auto makes = [kinds](const auto& operation) { return operation.gives == kinds && operation.takes != kinds; };
  const auto fits = [&](const auto& operation) { return makes(operation) && operation.takes == has; };
  const auto fitting = std::find_if(table().begin(), table().end(), fits);
  return fitting != table().end() ? fitting->name : std::find_if(table().begin(), table().end(), makes)->name;
}

std::string with_article(Kinds kinds) {
  const std::string name = kinds_name(kinds);
  const bool is_uncounted = kinds.has(SignatureKind::kBytes) || kinds.has(SignatureKind::kAudio);
  return (is_uncounted ? "" : kinds == SignatureKind::kTensor ? "a " : "an ") + name;
}

// `operation` stands behind a value that it does not take.
std::string cant_follow(const OperationType& operation, SignatureKind has) {
  const std::string name(operation.name);
  if (has == SignatureKind::kTensor)
    return name + " can't follow: the operation before it writes the tensor, which " +
           takers_of(SignatureKind::kTensor) + " alone can change";
  if (operation.takes == SignatureKind::kTensor)
    return name + " changes a tensor: add { op = \"" + std::string(maker_of(SignatureKind::kTensor, has)) +
           "\" } or another that writes one before it";
  if (operation.takes == SignatureKind::kBytes && (has == SignatureKind::kImage || has == SignatureKind::kAudio))
    return name + " works on a field's bytes: it must be the first operation";
  if (has == SignatureKind::kBytes)
    return name + " works on " + with_article(operation.takes) + ": add { op = \"" +
           std::string(maker_of(operation.takes, has)) + "\" } before it";
  return name + " can't follow: it takes " + with_article(operation.takes) + ", and what comes before it is " +
         with_article(has);
}

std::string cant_follow_pieces(const OperationType& operation) {
  return std::string(operation.name) +
         " can't follow: the operation before it makes several pieces of a picture, which go into the tensor as they "
         "are";
}

std::string cant_cut_frames(const OperationType& operation) {
  return std::string(operation.name) + " can't follow several frames: it cuts several pieces out of one picture";
}

const OperationType& type_of(const OperationSpec& spec) {
  const OperationType* type = find_operation(spec.op);
  if (type == nullptr) throw std::logic_error("no such operation: " + spec.op);
  return *type;
}

// The same pictures, whether or not they were resampled.
bool are_alike(Signature one, const Signature& other) {
  if (PictureFacts* const picture = std::get_if<PictureFacts>(&one.facts))
    picture->is_resampled = other.picture().is_resampled;
  return one == other;
}

// Why the last of the operations that `spec` holds does not fit, which give so; empty: no draw decides what `spec`
// gives.
std::string why_not_alike(const OperationSpec& spec, Holds holds, const Signature& takes,
                          std::span<const Signature> given) {
  if (holds == Holds::kOneOf && !are_alike(given.back(), given.front()))
    return "must give the size and channels that the first operation gives, since " + spec.op + " does one of them";
  if (holds == Holds::kAnyOrder && !are_alike(given.back(), takes))
    return "must leave size and channels as they are, since the operations of " + spec.op + " come in any order";
  const bool is_last = given.size() == spec.ops.size();
  if (holds == Holds::kInTurn && is_last && !are_alike(given.back(), takes))
    return "must leave size and channels as they were before " + spec.op + ", which does its operations or not";
  return "";
}

// Follows the operations that `spec` holds.
Followed follow_held(const OperationSpec& spec, Holds holds, Signature takes) {
  Followed followed{{std::move(takes)}, {}, 0};
  const Signature& before = followed.along.front();
  std::vector<Signature> given;
  for (size_t i = 0; i < spec.ops.size() && followed.error.empty(); ++i) {
    Followed held = follow_one(spec.ops[i], holds == Holds::kInTurn && i > 0 ? given.back() : before);
    followed.error = std::move(held.error);
    followed.inside = std::move(held.inside);
    if (followed.error.empty()) {
      given.push_back(std::move(held.along.back()));
      followed.error = why_not_alike(spec, holds, before, given);
    }
    followed.inside.insert(followed.inside.begin(), i);
  }
  if (!followed.error.empty()) return followed;
  followed.inside.clear();
  Signature gives = holds == Holds::kOneOf ? given.front() : before;
  for (const Signature& one : given) gives.picture().is_resampled |= one.picture().is_resampled;
  followed.along.push_back(std::move(gives));
  return followed;
}

// Whether pictures that have one of several sizes have other ones behind the operation.
bool changes_sizes(const Signature& before, const Signature& behind) {
  const PictureFacts *const from = before.find_picture(), *const to = behind.find_picture();
  return from != nullptr && to != nullptr && !from->sizes.empty() && to->sizes != from->sizes;
}

// A tensor's samples must have the shapes that its output's form is for.
std::string error_of_form(const Signature& end, Form form) {
  const auto& sizes = end.dimensions;
  const bool varies = !sizes.empty() && !sizes.front().is_fixed();
  if (!shapes_of(end).empty() && form != Form::kFixed)
    return "gives samples that all have one shape in a batch: leave pad and ragged out of the output";
  if (!shapes_of(end).empty()) return "";
  const auto is_fixed = [](const Dimension& size) { return size.is_fixed(); };
  if (!sizes.empty() && !std::all_of(sizes.begin() + 1, sizes.end(), is_fixed))
    return "gives samples that differ in another dimension than their first, which no batch can hold";
  if (varies && form == Form::kFixed)
    return "gives samples that differ in length: add pad = \"longest\" or ragged = true to the output";
  if (!varies && form != Form::kFixed)
    return "gives samples that all have one shape: leave pad and ragged out of the output";
  return "";
}

std::string error_at_end(const Signature& end, Form form) {
  switch (end.kind()) {
    case SignatureKind::kBytes:
      return "gives bytes of any length, which are no tensor: add " + takers_of(SignatureKind::kBytes) +
             "; for a number, dtype = \"int64\", \"float32\" or \"float64\" does as well";
    case SignatureKind::kImage:
      return "gives an image, which is no tensor: add " + takers_of(SignatureKind::kImage);
    case SignatureKind::kAudio:
      return "gives audio, which is no tensor: add " + takers_of(SignatureKind::kAudio);
    case SignatureKind::kInteger:
    case SignatureKind::kTensor:
      return error_of_form(end, form);
  }
  return "";
}

}  // namespace

std::span<const OperationType> operations() { return table(); }

void add_operation(OperationType operation) {
  if (operation.executor.empty() || find_operation(operation.name) != nullptr || table().size() == table().capacity())
    throw std::logic_error("the operation " + std::string(operation.name) + " can't be added");
  table().push_back(std::move(operation));
}

const OperationType* find_operation(std::string_view name) {
  const auto found =
      std::find_if(table().begin(), table().end(), [&](const auto& entry) { return entry.name == name; });
  return found == table().end() ? nullptr : &*found;
}

const OperationType& first_operation(bool (*can)(const OperationType& operation)) {
  const auto found = std::find_if(table().begin(), table().end(), can);
  if (found == table().end()) throw std::logic_error("no operation can do it");
  return *found;
}

const OperationType& number_reader(DType dtype) {
  return dtype == DType::kInt64 ? first_operation([](const OperationType& type) {
    return type.reads_numbers && type.gives == SignatureKind::kInteger;
  })
                                : first_operation([](const OperationType& type) {
                                    return type.reads_numbers && type.gives == SignatureKind::kTensor;
                                  });
}

RowKind row_piece_of(const OperationSpec& spec) {
  const RowPiece& piece = type_of(spec).row_piece;
  const bool takes_it = piece.parameter.empty() || spec.text(piece.parameter) == piece.value;
  return takes_it ? piece.kind : RowKind::kRecords;
}

const PictureTraits& OperationType::picture() const {
  static const PictureTraits none;
  const auto* const traits = std::get_if<PictureTraits>(&medium);
  return traits == nullptr ? none : *traits;
}

OperationSpec with_defaults(const OperationType& operation, const Where& where) {
  OperationSpec spec{.op = std::string(operation.name), .parameters = {}, .where = where};
  for (const auto& parameter : operation.parameters) spec.parameters.emplace(parameter.name, *parameter.fallback);
  return spec;
}

std::vector<ExtraTensor> extras_of(std::span<const OperationSpec> ops) {
  std::vector<ExtraTensor> extras;
  for (const OperationSpec& spec : ops) {
    const OperationType& type = type_of(spec);
    if (type.extras == nullptr) continue;
    for (ExtraTensor& extra : type.extras(spec)) extras.push_back(std::move(extra));
  }
  return extras;
}

bool may_be_held(const OperationType& operation) {
  return operation.takes == SignatureKind::kImage && operation.gives == SignatureKind::kImage &&
         operation.row_piece.kind == RowKind::kRecords && operation.picture().view_part != ViewPart::kPieces &&
         operation.picture().view_part != ViewPart::kBuckets;
}

Followed follow_one(const OperationSpec& spec, Signature takes) {
  const OperationType& type = type_of(spec);
  const PictureFacts* const picture = takes.find_picture();
  if (picture != nullptr && picture->pieces && type.gives == SignatureKind::kImage)
    return {{std::move(takes)}, cant_follow_pieces(type), 0};
  if (picture != nullptr && picture->frames && type.picture().view_part == ViewPart::kPieces)
    return {{std::move(takes)}, cant_cut_frames(type), 0};
  if (type.takes.has(takes.kind()) && type.holds != Holds::kNone)
    return follow_held(spec, type.holds, std::move(takes));
  Followed followed{{takes}, {}, 0};
  followed.error = type.takes.has(takes.kind()) ? type.bind(spec, takes) : cant_follow(type, takes.kind());
  if (followed.error.empty() && changes_sizes(followed.along.front(), takes))
    followed.error = spec.op + " can't follow: it changes the size of pictures that have their batch's or epoch's size";
  if (followed.error.empty()) followed.along.push_back(std::move(takes));
  return followed;
}

namespace {

// Whether another executor takes what the operation gives, so that it may have any size.
bool is_handed_on(std::span<const OperationSpec> ops, size_t at) {
  return at + 1 < ops.size() && !type_of(ops[at + 1]).executor.empty();
}

void set_handed_on(Signature& takes) {
  if (PictureFacts* const picture = std::get_if<PictureFacts>(&takes.facts)) picture->is_handed_on = true;
}

}  // namespace

Followed follow(std::span<const OperationSpec> ops, Signature start, Form form) {
  Followed followed{{std::move(start)}, {}, 0};
  for (; followed.at < ops.size(); ++followed.at) {
    if (is_handed_on(ops, followed.at)) set_handed_on(followed.along.back());
    Followed one = follow_one(ops[followed.at], followed.end());
    followed.error = std::move(one.error);
    followed.inside = std::move(one.inside);
    if (!followed.error.empty()) return followed;
    followed.along.push_back(std::move(one.along.back()));
  }
  followed.error = error_at_end(followed.end(), form);
  return followed;
}

Signature start_of(std::span<const OperationSpec> ops) {
  const Kinds takes = ops.empty() ? SignatureKind::kInteger : type_of(ops.front()).takes;
  return takes == SignatureKind::kInteger ? integer() : bytes_of(Origin::kContent);
}

const OperationType* chain_end(Kinds kinds) {
  const auto ends = [kinds](const auto& operation) { return operation.ends_chains && operation.takes == kinds; };
  const auto found = std::find_if(table().begin(), table().end(), ends);
  return found == table().end() ? nullptr : &*found;
}

}  // namespace spdld::config
