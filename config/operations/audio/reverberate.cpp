#include "config/operation_types.h"
#include "config/operations/audio/audio.h"
#include "config/operations/common.h"

namespace spdld::config::ops {
namespace {

void check_reverberate(OperationSpec& spec, const Complain& complain) { check_draw(spec, complain); }

}  // namespace

OperationType reverberate() {
  OperationType type{
      .name = "reverberate",
      .takes = SignatureKind::kAudio,
      .gives = SignatureKind::kAudio,
      .help =
          "Convolve the sound with the impulse response of a room, drawn from recordings beside the data set. The "
          "sound stays where it is in time, since the response's greatest value counts as its beginning, and keeps "
          "its length.",
      .parameters = recordings(
          "responses", "a file of an impulse response, or a folder of them; the first channel of each is taken"),
      .bind = bind_to_recordings,
      .check = check_reverberate};
  for (Parameter& more : std::vector<Parameter>{
           flag("keep_power", "the sound has the power afterwards that it had before", true), probability(1), draw()})
    type.parameters.push_back(std::move(more));
  return type;
}

}  // namespace spdld::config::ops
