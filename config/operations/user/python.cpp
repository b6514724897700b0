#include <algorithm>
#include <array>

#include "config/operation_types.h"
#include "config/segments.h"
#include "config/text/call_path.h"
#include "config/text/value_type.h"

namespace spdld::config::ops {
namespace {

constexpr Called kFunction = {
    .noun = "function", .word = "function", .module = "augment", .example = "blur", .inner = "Blur.apply"};

void check_function(OperationSpec& spec, const Complain& complain) {
  const std::string& code = spec.text("code");
  if (std::string fault = code_fault(code); !fault.empty()) complain("code", std::move(fault));
  if (std::string fault = call_fault(spec.text("call"), !code.empty(), kFunction); !fault.empty())
    complain("call", std::move(fault));
}

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

std::string bind_call(const OperationSpec& spec, Signature& signature) {
  signature = signature_of(value_type_in(spec.text("gives")).value());
  return "";
}

}  // namespace

OperationType python() {
  return {
      .name = "python",
      .takes = {SignatureKind::kBytes, SignatureKind::kInteger, SignatureKind::kTensor},
      .gives = {SignatureKind::kBytes, SignatureKind::kTensor},
      .help =
          "Call a function of your own, in processes of the trainer's user. It is given bytes, or a numpy array of "
          "its own: of a picture [height, width, channels], of an integer an int64 array without dimensions.",
      .parameters = {{.name = "call",
                      .type = ParameterType::kText,
                      .help = "the function, \"module:function\", with dots inside of both where they have them"},
                     {.name = "code",
                      .type = ParameterType::kText,
                      .help = "digest of the function's source and of its modules' versions, which the client library "
                              "fills in: another one makes another run",
                      .fallback = Value(std::string())},
                     {.name = "gives",
                      .type = ParameterType::kValueType,
                      .help = "what the function returns; a shape with -1 in the first place: samples differ in "
                              "length"}},
      .bind = bind_call,
      .check = check_function,
      .executor = kUserExecutor};
}

}  // namespace spdld::config::ops
