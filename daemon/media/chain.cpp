#include "daemon/media/chain.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "config/steps.h"
#include "daemon/media/operations.h"

namespace spdld::media {
namespace {

using AddOperation = void (*)(const PlacedOperation& placed, Nodes& nodes);

// In the order of the table, as config::operations(); null for operations of other executors.
constexpr AddOperation kAdd[] = {
#define OPERATION(name, medium) ops::name,
#define ERRAND_OPERATION(name, folder) nullptr,
#include "config/operations.inc"
#undef OPERATION
};

const config::OperationType& type_of(const config::OperationSpec& spec) {
  const config::OperationType* type = config::find_operation(spec.op);
  if (type == nullptr) throw std::logic_error("no such operation: " + spec.op);
  return *type;
}

// The end of a chain, or of a segment, that gives an integer.
class StoreInteger final : public Node {
  Status run(Value& value, const Call& call) const override {
    std::memcpy(call.tensors.front().memory, &value.integer, sizeof value.integer);
    return Done{};
  }
};

// The end of a segment that gives bytes.
class CarryBytes final : public Node {
  Status run(Value& value, const Call& call) const override {
    const Result<uint8_t*> room = call.tensors.front().carried->open_bytes(value.bytes.size());
    if (!room) return room.error();
    if (!value.bytes.empty()) std::memcpy(*room, value.bytes.data(), value.bytes.size());
    return Done{};
  }
};

// The start of a segment that takes a tensor: operations on tensors change it where it is to lie.
class TakeTensor final : public Node {
 public:
  TakeTensor(const config::Signature& takes, std::string output)
      : varies_(!takes.dimensions.empty() && !takes.dimensions.front().is_fixed()),
        shapes_(takes.tensor().shapes),
        output_(std::move(output)) {}

 private:
  Status run(Value& value, const Call& call) const override {
    const TensorOut& out = call.tensors.front();
    uint64_t bytes = value.tensor->bytes();
    if (!shapes_.empty() && !std::ranges::equal(value.tensor->shape(), shapes_.at(call.shape)))
      return of_output(output_, {Trouble::kContent, "its shape differs from the shape of its batch"});
    if (varies_ && shapes_.empty()) {
      const uint64_t rows = *value.tensor->length();
      const Result<uint64_t> taken = out.take(rows);
      if (!taken) return of_output(output_, taken.error());
      bytes = rows == 0 ? 0 : bytes / rows * *taken;
    }
    if (bytes > 0) std::memcpy(out.at(), value.tensor->memory(), bytes);
    return Done{};
  }

  const bool varies_;
  const std::vector<std::vector<int64_t>> shapes_;  // of batches; empty: all have one
  const std::string output_;
};

}  // namespace

struct Chain::Place {
  const std::string& output;
  size_t extra;
  SideFiles* files;
};

// Adds the operation behind the operations that it holds, and returns what it gives.
config::Signature Chain::add(const config::OperationSpec& spec, const config::Signature& takes, const Place& place) {
  const config::OperationType& type = type_of(spec);
  config::Signature held_takes = takes;
  for (const config::OperationSpec& held : spec.ops) {
    const config::Signature gives = add(held, held_takes, place);
    if (type.holds == config::Holds::kInTurn) held_takes = gives;
  }
  const config::Signature gives = config::follow_one(spec, takes).end();
  code_.insert(std::string(type.name) + " " + std::to_string(type.version));
  kAdd[&type - config::operations().data()]({spec, takes, gives, place.output, place.extra, place.files}, nodes_);
  names_.resize(nodes_.size(), type.name);
  return gives;
}

Chain::Chain(const Stretch& stretch, SideFiles* files) {
  using config::SignatureKind;
  if (!stretch.is_first && stretch.along.front().kind() == SignatureKind::kTensor)
    nodes_.push_back(std::make_unique<TakeTensor>(stretch.along.front(), stretch.output));
  names_.resize(nodes_.size(), config::kStoreStep.name);
  size_t extra = stretch.extra;
  for (size_t i = 0; i < stretch.ops.size(); ++i) {
    add(stretch.ops[i], stretch.along[i], {stretch.output, extra, files});
    extra += config::extras_of(stretch.ops.subspan(i, 1)).size();
  }
  const SignatureKind gives = stretch.along.back().kind();
  if (gives == SignatureKind::kInteger) nodes_.push_back(std::make_unique<StoreInteger>());
  if (gives == SignatureKind::kBytes && !stretch.is_last) nodes_.push_back(std::make_unique<CarryBytes>());
  names_.resize(nodes_.size(), config::kStoreStep.name);
  for (const auto& node : nodes_)
    for (std::string& code : node->code()) code_.insert(std::move(code));
}

}  // namespace spdld::media
