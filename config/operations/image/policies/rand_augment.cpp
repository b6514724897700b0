#include "config/operation_types.h"
#include "config/operations/image/policies/policy.h"
#include "config/operations/image/shape/warp.h"

namespace spdld::config::ops {
namespace {

void check_rand_augment(OperationSpec& spec, const Complain& complain) {
  const int64_t magnitude = spec.integer("magnitude"), bins = spec.integer("bins");
  if (magnitude >= bins)
    complain("magnitude", "must be below bins, which is " + std::to_string(bins) + ": bins are numbered from 0");
  check_warp(spec, complain);
}

}  // namespace

OperationType rand_augment() {
  const Parameter magnitude{.name = "magnitude",
                            .type = ParameterType::kInteger,
                            .help = "of all changes: the number of a bin, from 0",
                            .fallback = Value(int64_t{9}),
                            .min = 0,
                            .max = 999};
  OperationType type = warp_operation(
      "rand-augment", "Do some changes of colours and places of one magnitude, as torchvision's RandAugment.",
      {change_count(), magnitude, magnitude_bins(), warp_filter("nearest"), warp_fill()}, 1);
  type.check = check_rand_augment;
  return type;
}

}  // namespace spdld::config::ops
