#include "config/operation_types.h"
#include "config/operations/audio/audio.h"
#include "config/operations/common.h"

namespace spdld::config::ops {
namespace {

void check_mix_noise(OperationSpec& spec, const Complain& complain) {
  check_range(spec, "snr_db", complain);
  check_range(spec, "count", complain);
  check_draw(spec, complain);
}

}  // namespace

OperationType mix_noise() {
  OperationType type{
      .name = "mix-noise",
      .takes = SignatureKind::kAudio,
      .gives = SignatureKind::kAudio,
      .help =
          "Add noises from recordings beside the data set, as loud as a random signal-to-noise ratio says. A "
          "recording that is longer than the sound gives a random part of it, and a shorter one is repeated from a "
          "random sample on. Each channel gets the same noise.",
      .parameters = recordings("noises", "a file of noise, or a folder whose sounds are all noises"),
      .bind = bind_to_recordings,
      .check = check_mix_noise};
  Parameter count = number_pair("count", "least and greatest number of recordings that are added up", {1, 1}, 1, 16);
  count.whole = true;
  for (Parameter& more : std::vector<Parameter>{
           number_pair("snr_db", "least and greatest ratio of the sound's power to the noise's, in decibels", {0, 20},
                       -120, 120),
           count, probability(1), draw()})
    type.parameters.push_back(std::move(more));
  return type;
}

}  // namespace spdld::config::ops
