#include "config/operation_types.h"
#include "config/operations/image/colour.h"

namespace spdld::config::ops {
namespace {

constexpr double kKernelMax = 127;

void check_blur(OperationSpec& spec, const Complain& complain) {
  for (const double side : spec.numbers("kernel_size"))
    if (static_cast<int64_t>(side) % 2 == 0) complain("kernel_size", "must be odd");
  check_colours(spec, complain);
}

}  // namespace

OperationType gaussian_blur() {
  Parameter kernel = range("kernel_size", "odd: pixels across and down, or [across, down]", 1, kKernelMax);
  kernel.whole = true;
  Parameter sigma = range("sigma", "one standard deviation in pixels, or [least, greatest] of a drawn one", 0, 1000);
  sigma.above_min = true;
  sigma.fallback = Value(std::vector<double>{0.1, 2.0});
  OperationType type = colour_operation(
      "gaussian-blur", "Blur with a Gaussian of random width, as torchvision's GaussianBlur.", {kernel, sigma}, 1);
  type.check = check_blur;
  return type;
}

}  // namespace spdld::config::ops
