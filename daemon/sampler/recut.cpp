#include "daemon/sampler/recut.h"

namespace spdld::sampler {

bool covers(const Sharding& whole, const Sharding& part) {
  return whole.is_in_turn() && part.is_in_turn() && whole.is_only_rank() && part.is_only_rank() && whole.steps() > 0 &&
         part.steps() > 0 && whole.epoch_samples() >= part.epoch_samples();
}

Position step_with(const Sharding& cut, const Sharding& of, Position at) {
  at = of.by_one_name(at);
  return {at.epoch, at.step * of.global_size() / cut.global_size()};
}

Position step_from(const Sharding& cut, const Sharding& of, Position at) {
  at = of.by_one_name(at);
  const uint64_t first = at.step * of.global_size();
  const uint64_t step = first / cut.global_size() + (first % cut.global_size() != 0 ? 1 : 0);
  return step < cut.steps() ? Position{at.epoch, step} : Position{at.epoch + 1, 0};
}

}  // namespace spdld::sampler
