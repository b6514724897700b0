#include "config/operation_types.h"
#include "config/operations/image/colour.h"

namespace spdld::config::ops {
namespace {

std::string bind_grey(const OperationSpec& spec, Signature& signature) {
  std::string error = bind_colours(spec, signature);
  if (error.empty() && spec.integer("channels") == 1) signature.picture().channels = 1;
  return error;
}

void check_grey(OperationSpec& spec, const Complain& complain) {
  const int64_t channels = spec.integer("channels");
  if (channels != 1 && channels != 3) complain("channels", "must be 1 or 3, not " + std::to_string(channels));
  if (channels == 1 && spec.number("p") != 1)
    complain("channels", "can't be 1 with p below 1, since all pictures of an output have the same channels");
  check_colours(spec, complain);
}

}  // namespace

OperationType grayscale() {
  const Parameter channels{.name = "channels",
                           .type = ParameterType::kInteger,
                           .help = "of the result: 3 equal ones, or 1; a picture of one channel keeps it",
                           .fallback = Value(int64_t{3}),
                           .min = 1,
                           .max = 3};
  OperationType type = colour_operation(
      "grayscale", "Turn colours into grey, as torchvision's Grayscale and RandomGrayscale.", {channels}, 1);
  type.bind = bind_grey;
  type.check = check_grey;
  return type;
}

}  // namespace spdld::config::ops
