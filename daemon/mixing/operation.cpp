#include "daemon/mixing/operation.h"

#include <array>

#include "daemon/mixing/operations.h"

namespace spdld::mixing {
namespace {

// In the order of the table, as config::batch_operations().
constexpr std::array kMake = {
#define BATCH_OPERATION(name) &ops::name,
#include "config/batch_operations.inc"
#undef BATCH_OPERATION
};

}  // namespace

std::unique_ptr<Operation> make_operation(const PlacedOperation& placed) {
  const auto* type = config::find_batch_operation(placed.spec.op);
  return kMake.at(static_cast<size_t>(type - config::batch_operations().data()))(placed);
}

}  // namespace spdld::mixing
