#include "config/operation_types.h"
#include "config/operations/common.h"

namespace spdld::config::ops {
namespace {

std::string bind_one_hot(const OperationSpec& spec, Signature& signature) {
  signature = tensor(dtype_named(spec.text("dtype")), {spec.integer("classes")});
  return "";
}

void check_one_hot(OperationSpec& spec, const Complain& complain) {
  if (spec.text("dtype") == "uint8" && spec.number("smoothing") != 0)
    complain("smoothing", "must be 0 with dtype \"uint8\": write dtype = \"float32\" for smoothed labels");
}

}  // namespace

OperationType one_hot() {
  const Parameter smoothing{.name = "smoothing",
                            .type = ParameterType::kNumber,
                            .help = "the part of the sum 1 that all classes share alike, as torch's label_smoothing",
                            .fallback = Value(0.0),
                            .min = 0,
                            .max = 1};
  return {.name = "one-hot",
          .takes = SignatureKind::kInteger,
          .gives = SignatureKind::kTensor,
          .help =
              "A class as a tensor [classes] that is 1 at the class and 0 elsewhere; a class that is not from 0 to "
              "classes - 1 is bad content.",
          .parameters = {classes(), smoothing, class_dtype()},
          .bind = bind_one_hot,
          .check = check_one_hot};
}

}  // namespace spdld::config::ops
