#include "config/batch_operation_types.h"

namespace spdld::config::batch_ops {
namespace {

std::string refuses_mixup(const Signature& end) {
  switch (end.dtype()) {
    case DType::kUint8:
    case DType::kFloat16:
    case DType::kBfloat16:
    case DType::kFloat32:
    case DType::kFloat64:
      return "";
    default:
      return "is " + std::string(dtype_name(end.dtype())) +
             ": mixup takes uint8, float16, bfloat16, float32 and float64";
  }
}

}  // namespace

BatchOperationType mixup() {
  return {.name = "mixup",
          .help = "lam times the sample and 1 - lam times its partner, images and labels alike (Zhang et al. 2018).",
          .parameters = {alpha(0.2)},
          .refuses = refuses_mixup};
}

}  // namespace spdld::config::batch_ops
