#include "config/operation_types.h"
#include "config/operations/audio/audio.h"
#include "config/operations/common.h"

namespace spdld::config::ops {
namespace {

void check_random_gain(OperationSpec& spec, const Complain& complain) {
  check_range(spec, "db", complain);
  check_draw(spec, complain);
}

}  // namespace

OperationType random_gain() {
  return {.name = "random-gain",
          .takes = SignatureKind::kAudio,
          .gives = SignatureKind::kAudio,
          .help = "Make the sound louder or softer by a random number of decibels.",
          .parameters = {number_pair("db", "least and greatest number of decibels", {-6, 6}, -120, 120), probability(1),
                         draw()},
          .bind = bind_same,
          .check = check_random_gain};
}

}  // namespace spdld::config::ops
