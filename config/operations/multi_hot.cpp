#include "config/operations/common.h"
#include "config/operations/types.h"

namespace spdld::config::ops {
namespace {

constexpr double kMultiHotClassesMax = 1'000'000;

std::string bind_multi_hot(const OperationSpec& spec, Signature& signature) {
  if (signature.origin == Origin::kName) return "can't read \"path\": it is the sample's name, not a list";
  signature = tensor(dtype_named(spec.text("dtype")), {spec.integer("classes")});
  return "";
}

}  // namespace

OperationType multi_hot() {
  const Parameter classes{.name = "classes",
                          .type = ParameterType::kInteger,
                          .help = "how many there are: the length of the tensor",
                          .min = 1,
                          .max = kMultiHotClassesMax};
  return {
      .name = "multi-hot",
      .takes = Kind::kBytes,
      .gives = Kind::kTensor,
      .help =
          "A list of classes, in text or in JSON, as a tensor [classes] that is 1 at each of them and 0 elsewhere; "
          "a number that is not from 0 to classes - 1 is bad content.",
      .parameters = {classes, choice("dtype", "of the tensor's elements", {"uint8", "float32", "float64"}, "float32")},
      .bind = bind_multi_hot};
}

}  // namespace spdld::config::ops
