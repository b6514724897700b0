#include "config/operation_types.h"
#include "config/operations/audio/audio.h"
#include "config/operations/common.h"

namespace spdld::config::ops {

OperationType gain() {
  return {.name = "gain",
          .takes = SignatureKind::kAudio,
          .gives = SignatureKind::kAudio,
          .help = "Make the sound louder or softer. Samples beyond full scale stay as they are.",
          .parameters = {number("db", "by so many decibels", 0, -120, 120)},
          .bind = bind_same};
}

}  // namespace spdld::config::ops
