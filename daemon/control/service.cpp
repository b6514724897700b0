#include "daemon/control/service.h"

namespace spdld::control {
namespace {

const char* what_of(batch::Role role) {
  switch (role) {
    case batch::Role::kValues:
      return "values of a ragged output";
    case batch::Role::kOffsets:
      return "offsets of a ragged output";
    case batch::Role::kLengths:
      return "lengths of a padded output";
    case batch::Role::kMask:
      return "the mask of a padded output";
    case batch::Role::kRows:
      break;
  }
  return "rows of another length in each batch";
}

}  // namespace

std::optional<Error> unknown_to(const Client& client, std::span<const batch::TensorPlace> tensors) {
  for (const batch::TensorPlace& tensor : tensors) {
    const bool is_newer = tensor.dtype > config::DType::kFloat64;
    const bool knows_type =
        is_newer ? client.knows_dtypes : tensor.dtype != config::DType::kFloat64 || client.knows_float64;
    if (!knows_type)
      return Error{Trouble::kUnsupported, "output '" + tensor.name + "' is of " +
                                              std::string(config::dtype_name(tensor.dtype)) +
                                              ", which this client does not know: install this spdld's release, or " +
                                              "write another dtype, such as \"float32\""};
    const bool has_role = tensor.role != batch::Role::kRows || tensor.padding;
    if (has_role && !client.knows_roles)
      return Error{Trouble::kUnsupported, "the tensor '" + tensor.name + "' holds " + what_of(tensor.role) +
                                              ", and this client knows only outputs of a fixed shape: install this " +
                                              "spdld's release where the client runs"};
  }
  return std::nullopt;
}

}  // namespace spdld::control
