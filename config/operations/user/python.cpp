#include <algorithm>
#include <array>

#include "config/operation_types.h"
#include "config/segments.h"
#include "config/text/value_type.h"
#include "config/text/words.h"

namespace spdld::config::ops {
namespace {

constexpr size_t kCallBytesMax = 256;
constexpr size_t kCodeDigitsMax = 64;

// A name of Python's, which may have letters of any language.
bool is_name(std::string_view text) {
  const auto is_letter = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
  };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !text.empty() && is_letter(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return is_letter(c) || is_digit(c); });
}

// Names with dots between them.
bool are_names(std::string_view text) {
  while (true) {
    const size_t dot = text.find('.');
    if (!is_name(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

void check_call(OperationSpec& spec, const Complain& complain) {
  const std::string& code = spec.text("code");
  const bool is_digest = code.size() <= kCodeDigitsMax && code.find_first_not_of("0123456789abcdef") == code.npos;
  if (!is_digest)
    complain("code", "must be at most " + std::to_string(kCodeDigitsMax) +
                         " of the digits 0 to 9 and a to f: leave it out, since the client library fills it in");
  const std::string& call = spec.text("call");
  const size_t colon = call.find(':');
  if (call.size() > kCallBytesMax)
    return complain("call",
                    "may have at most " + std::to_string(kCallBytesMax) + " bytes, not " + std::to_string(call.size()));
  if (colon == call.npos && are_names(call)) {
    if (code.empty())
      complain("call", "must name the module too, such as " + in_quotes("augment:" + call) +
                           ": a function's name alone is for functions that a trainer brings along");
    return;
  }
  if (colon == call.npos || !are_names(call.substr(0, colon)) || !are_names(call.substr(colon + 1)))
    complain("call", "must be \"module:function\", such as \"augment:blur\" or \"team.augment:Blur.apply\", not " +
                         in_quotes(call));
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
      .check = check_call,
      .executor = kUserExecutor};
}

}  // namespace spdld::config::ops
