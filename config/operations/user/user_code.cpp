#include "config/operations/user/user_code.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "config/text/call_path.h"
#include "config/text/value_type.h"

namespace spdld::config::ops {
namespace {

// How a picture lies in a tensor of this type: a tensor of three dimensions whose last one, or else its first one, has
// 1, 3 or 4 places is taken for one. None: it is no picture of a batch.
std::optional<Layout> picture_in(DType dtype, const std::vector<int64_t>& shape) {
  constexpr std::array kTypes = {DType::kUint8, DType::kUint16, DType::kFloat16, DType::kBfloat16, DType::kFloat32};
  if (std::ranges::find(kTypes, dtype) == kTypes.end() || shape.size() != 3 || shape.front() < 0) return std::nullopt;
  const auto are_channels = [](int64_t size) { return size == 1 || size == 3 || size == 4; };
  if (are_channels(shape.back())) return Layout::kNhwc;
  return are_channels(shape.front()) ? std::optional(Layout::kNchw) : std::nullopt;
}

Signature signature_of(const ValueType& type) {
  if (!type.dtype) return bytes_of(Origin::kContent);
  std::vector<Dimension> dimensions;
  for (const int64_t size : type.shape) dimensions.push_back(size < 0 ? Dimension() : Dimension(size));
  return tensor(*type.dtype, std::move(dimensions), picture_in(*type.dtype, type.shape));
}

}  // namespace

Parameter code_parameter(std::string_view help) {
  return {.name = "code", .type = ParameterType::kText, .help = help, .fallback = Value(std::string())};
}

void check_code(const OperationSpec& spec, const Complain& complain) {
  if (std::string fault = code_fault(spec.text("code")); !fault.empty()) complain("code", std::move(fault));
}

Parameter gives_parameter(std::string_view help) {
  return {.name = "gives", .type = ParameterType::kValueType, .help = help};
}

std::string bind_gives(const OperationSpec& spec, Signature& signature) {
  signature =
      signature_of(value_type_in(spec.text("gives")).value_or(ValueType()));  // a missing one is refused by check
  return "";
}

}  // namespace spdld::config::ops
