#include "daemon/media/chain.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "config/steps.h"
#include "daemon/media/operations.h"

namespace spdld::media {
namespace {

using AddOperation = void (*)(const PlacedOperation& placed, Nodes& nodes);

// In the order of the table, as config::operations().
constexpr AddOperation kAdd[] = {
#define OPERATION(name, medium) ops::name,
#include "config/operations.inc"
#undef OPERATION
};

const config::OperationType& type_of(const config::OperationSpec& spec) {
  const config::OperationType* type = config::find_operation(spec.op);
  if (type == nullptr) throw std::logic_error("no such operation: " + spec.op);
  return *type;
}

// The end of a chain that gives an integer.
class StoreInteger final : public Node {
  Status run(Value& value, const Call& call) const override {
    std::memcpy(call.tensors.front().memory, &value.integer, sizeof value.integer);
    return Done{};
  }
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

Chain::Chain(std::span<const config::OperationSpec> ops, const config::Followed& followed, const std::string& output,
             SideFiles* files) {
  size_t extra = 1;  // the output's own tensor is before them
  for (size_t i = 0; i < ops.size(); ++i) {
    add(ops[i], followed.along[i], {output, extra, files});
    extra += config::extras_of(ops.subspan(i, 1)).size();
  }
  if (followed.end().kind() == config::SignatureKind::kInteger) nodes_.push_back(std::make_unique<StoreInteger>());
  names_.resize(nodes_.size(), config::kStoreStep.name);
  for (const auto& node : nodes_)
    for (std::string& code : node->code()) code_.insert(std::move(code));
}

}  // namespace spdld::media
