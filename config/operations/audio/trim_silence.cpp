#include "config/operation_types.h"
#include "config/operations/audio/audio.h"
#include "config/operations/common.h"

namespace spdld::config::ops {
namespace {

std::string bind_trimmed(const OperationSpec&, Signature& signature) {
  const auto most = signature.dimensions[0].most();
  return bind_samples(signature, most ? Dimension::bounded(*most) : Dimension());
}

}  // namespace

OperationType trim_silence() {
  const auto places = [](std::string_view name, std::string_view help, int64_t fallback) {
    return Parameter{.name = name,
                     .type = ParameterType::kInteger,
                     .help = help,
                     .fallback = Value(fallback),
                     .min = 1,
                     .max = 1 << 20};
  };
  return {.name = "trim-silence",
          .takes = SignatureKind::kAudio,
          .gives = SignatureKind::kAudio,
          .help = "Cut off the silence before and behind the sound, as librosa.effects.trim.",
          .parameters = {number("db", "silence is so many decibels below the loudest frame", 60, 0, 200),
                         places("frame", "samples whose root mean square is taken", 2048),
                         places("hop", "samples from frame to frame", 512)},
          .bind = bind_trimmed};
}

}  // namespace spdld::config::ops
