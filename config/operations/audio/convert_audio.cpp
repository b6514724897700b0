#include "config/operation_types.h"
#include "config/operations/common.h"

namespace spdld::config::ops {
namespace {

std::string bind_end(const OperationSpec& spec, Signature& signature) {
  const Dimension samples = signature.dimensions[0];
  const bool is_first = spec.text("layout") == "channels-first";
  if (signature.sound().channels > 1 && is_first && !samples.is_fixed())
    return "has sounds of several channels that differ in length: write { op = \"convert-audio\", layout = "
           "\"channels-last\" }, since a tensor may differ in its first dimension alone";
  std::vector<Dimension> dimensions = {samples};
  if (signature.sound().channels > 1)
    dimensions.insert(is_first ? dimensions.begin() : dimensions.end(), signature.sound().channels);
  signature = tensor(dtype_named(spec.text("dtype")), std::move(dimensions));
  return "";
}

}  // namespace

OperationType convert_audio() {
  return {.name = "convert-audio",
          .takes = SignatureKind::kAudio,
          .gives = SignatureKind::kTensor,
          .help =
              "The sound's samples as a tensor, [samples] of one channel; the default when none is written. Only an "
              "operation on tensors may follow.",
          .parameters = {choice("dtype", "of the tensor's elements; int16 is 32768 times the sample, within its bounds",
                                {"float32", "float16", "bfloat16", "int16"}, "float32"),
                         choice("layout", "order of channels and samples, of several channels",
                                {"channels-first", "channels-last"}, "channels-first")},
          .bind = bind_end,
          .ends_chains = true};
}

}  // namespace spdld::config::ops
