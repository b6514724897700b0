#include "config/operation_types.h"
#include "config/operations/common.h"
#include "config/text/words.h"

namespace spdld::config::ops {
namespace {

void check_convert(OperationSpec& spec, const Complain& complain) {
  const std::string& dtype = spec.text("dtype");
  if ((dtype == "uint8" || dtype == "uint16") && spec.number("scale") != 1)
    complain("scale", "must be 1 with dtype " + in_quotes(dtype) + ": write dtype = \"float32\" for scaled values");
}

// Whole numbers are written as they are, so that they must have the picture's bits.
std::string bind_conversion(const OperationSpec& spec, Signature& signature) {
  const std::string& dtype = spec.text("dtype");
  if (signature.picture().bits == 32 && (dtype == "uint8" || dtype == "uint16"))
    return "can't write a picture of floating-point numbers as " + dtype +
           ": write { op = \"convert\", dtype = \"float32\" }, or normalize";
  if (dtype == "uint8" && signature.picture().bits == 16)
    return "can't write a picture of 16 bits as uint8: write { op = \"convert\", dtype = \"uint16\" } or a float, or "
           "leave bits = 16 of decode-image out";
  if (dtype == "uint16" && signature.picture().bits == 8)
    return "can't write a picture of 8 bits as uint16: write bits = 16 in decode-image, or dtype = \"uint8\"";
  return bind_picture_tensor(spec, signature);
}

}  // namespace

OperationType convert() {
  const Parameter scale{.name = "scale",
                        .type = ParameterType::kNumber,
                        .help =
                            "each value 0..255 (0..65535 of 16 bits, any of 32) is multiplied by this number; uint8 "
                            "and uint16 take only 1",
                        .fallback = Value(1.0),
                        .min = 0,
                        .max = 1000,
                        .above_min = true};
  return {.name = "convert",
          .takes = SignatureKind::kImage,
          .gives = SignatureKind::kTensor,
          .help =
              "The picture's values as a tensor; the default when none is written. Only an operation on tensors may "
              "follow.",
          .parameters = {choice("dtype", "of the tensor's elements; uint8 is for pictures of 8 bits, uint16 of 16",
                                {"uint8", "uint16", "float16", "bfloat16", "float32"}, "uint8"),
                         picture_layout("NHWC"), scale},
          .bind = bind_conversion,
          .check = check_convert,
          .ends_chains = true};
}

}  // namespace spdld::config::ops
