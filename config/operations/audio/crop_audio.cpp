#include "config/operation_types.h"
#include "config/operations/audio/audio.h"
#include "config/operations/common.h"

namespace spdld::config::ops {
namespace {

void check_audio_crop(OperationSpec& spec, const Complain& complain) {
  check_segment(spec, complain);
  if (spec.number("seconds") == 0 && spec.integer("samples") == 0)
    complain("samples", "must say how long the segment is, or `seconds` must");
}

std::string bind_audio_crop(const OperationSpec& spec, Signature& signature) {
  if (spec.number("seconds") == 0 && spec.integer("samples") == 0) return "has no length: write `samples` or `seconds`";
  if (spec.number("seconds") > 0 && !signature.sound().rate_hz)
    return "has `seconds` of a sound whose rate is not known: write rate = 16000, or another, in decode-audio";
  return bind_samples(signature, segment_length(spec, signature.sound().rate_hz));
}

}  // namespace

OperationType crop_audio() {
  return {.name = "crop-audio",
          .takes = SignatureKind::kAudio,
          .gives = SignatureKind::kAudio,
          .help = "Take a segment of the sound. decode-audio takes one by itself, and decodes no more than that.",
          .parameters = segment_parameters(),
          .bind = bind_audio_crop,
          .check = check_audio_crop};
}

}  // namespace spdld::config::ops
