#include "config/operation_types.h"
#include "config/operations/common.h"
#include "config/text/element.h"

namespace spdld::config::ops {
namespace {

Parameter masks(std::string_view name, std::string_view help, int64_t fallback, double max) {
  return {
      .name = name, .type = ParameterType::kInteger, .help = help, .fallback = Value(fallback), .min = 0, .max = max};
}

std::string bind_masked(const OperationSpec& spec, Signature& signature) {
  if (!time_axis_of(signature))
    return "masks a spectrogram of one plane: it must stand behind mel-spectrogram, spectrogram without values = "
           "\"complex\", or mfcc";
  if (!element_of(signature.dtype(), spec.number("value")))
    return "has a `value` that is no " + std::string(dtype_name(signature.dtype()));
  return "";
}

void check_masks(OperationSpec& spec, const Complain& complain) { check_draw(spec, complain); }

}  // namespace

OperationType spec_augment() {
  return {.name = "spec-augment",
          .takes = SignatureKind::kTensor,
          .gives = SignatureKind::kTensor,
          .help = "Mask random stretches of frames and of bands of a spectrogram, as SpecAugment without time warping.",
          .parameters = {masks("time_masks", "how many stretches of frames are masked", 2, 64),
                         masks("time_width", "the most frames of a stretch", 100, 1 << 20),
                         number("time_part", "the greatest part of all frames that one stretch covers", 1, 0, 1),
                         masks("mel_masks", "how many stretches of bands are masked", 2, 64),
                         masks("mel_width", "the most bands of a stretch", 27, 4096),
                         number("value", "what a masked place holds", 0, -1e6, 1e6), draw()},
          .bind = bind_masked,
          .check = check_masks};
}

}  // namespace spdld::config::ops
