#include "config/operation_types.h"
#include "config/operations/audio/audio.h"
#include "config/operations/common.h"

namespace spdld::config::ops {

OperationType normalize_audio() {
  return {.name = "normalize-audio",
          .takes = SignatureKind::kAudio,
          .gives = SignatureKind::kAudio,
          .help = "Bring the sound's peak or its root mean square, of all channels, to one level. Silence stays.",
          .parameters = {choice("by", "what is brought to the level", {"peak", "rms"}, "peak"),
                         number("db", "the level; 0 is full scale", 0, -120, 20)},
          .bind = bind_same};
}

}  // namespace spdld::config::ops
