#include "config/operation_types.h"
#include "config/operations/common.h"
#include "config/operations/image/shape/resizing.h"

namespace spdld::config::ops {
namespace {

constexpr int kSizesMax = 64;

}  // namespace

OperationType random_shortest_size() {
  Parameter sizes = sides("sizes", "the shorter side gets one of these lengths, each as likely as the others");
  sizes.count_max = kSizesMax;
  Parameter max_size = {.name = "max_size",
                        .type = ParameterType::kInteger,
                        .help = "the most that the longer side may get; 0: there is no such bound",
                        .fallback = Value(int64_t{0}),
                        .min = 0,
                        .max = kSideMax};
  return resizing_operation("random-shortest-size",
                            "Resize the shorter side to one of several lengths, as torchvision's RandomShortestSize.",
                            {sizes, max_size});
}

}  // namespace spdld::config::ops
