#include "config/operation_types.h"
#include "config/operations/common.h"
#include "config/operations/image/colour.h"

namespace spdld::config::ops {
namespace {

void check_dropout(OperationSpec& spec, const Complain& complain) {
  check_range(spec, "channels", complain);
  if (spec.numbers("fill").size() == 2) complain("fill", "must be one number or [red, green, blue]");
  check_draw(spec, complain);
}

}  // namespace

OperationType channel_dropout() {
  Parameter channels = range("channels", "how many are filled: one number, or [least, greatest] of a drawn one", 1, 2);
  channels.fallback = Value(std::vector<double>{1});
  channels.whole = true;
  OperationType type = colour_operation(
      "channel-dropout",
      "Fill channels that are chosen at random with one value, as Albumentations' ChannelDropout; a grey picture stays "
      "as it is.",
      {channels,
       numbers("fill", "0 to 255: the value of filled channels, one number or [red, green, blue]", 0, 255, 3, {0})},
      0.5);
  type.check = check_dropout;
  return type;
}

}  // namespace spdld::config::ops
