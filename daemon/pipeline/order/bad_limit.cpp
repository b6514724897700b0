#include "daemon/pipeline/order/bad_limit.h"

#include <algorithm>
#include <cmath>

namespace spdld::pipeline {
namespace {

constexpr size_t kReasonsMax = 3;

bool counts(const config::PipelineSpec& spec) {
  if (spec.on_bad == config::OnBad::kSubstitute) return true;
  return spec.on_bad == config::OnBad::kMask && spec.bad_max.has_value();
}

}  // namespace

BadLimit::BadLimit(const config::PipelineSpec& spec, const sampler::Sharding& sharding, uint64_t samples)
    : is_on_(counts(spec)), bad_max_(spec.bad_max), sharding_(sharding), samples_(samples) {}

uint64_t BadLimit::allowed(uint64_t samples) const {
  if (bad_max_ && *bad_max_ >= 1) return static_cast<uint64_t>(*bad_max_);
  const double part = std::floor(bad_max_.value_or(kAutoPart) * static_cast<double>(samples));
  return std::max(static_cast<uint64_t>(part), bad_max_ ? 0 : kFloor);
}

void BadLimit::begin(const batch::Batch& batch) {
  epoch_ = batch.position.epoch;
  run_ = batch.run;
  taken_ = bad_ = 0;
  reasons_.clear();
  examples_.clear();
  const bool is_pushed = sharding_.steps() == 0;
  bad_max_now_ = allowed(is_pushed ? samples_ : sharding_.samples_from(batch.position));
}

void BadLimit::keep_reasons(const batch::Batch& batch) {
  std::vector<const batch::Flaw*> flaws;  // in the order of the batch, not of the threads
  for (const batch::Flaw& flaw : batch.flaws)
    if (!batch::is_left_out(flaw.kind)) flaws.push_back(&flaw);
  std::sort(flaws.begin(), flaws.end(), [](const batch::Flaw* a, const batch::Flaw* b) { return a->index < b->index; });
  for (const batch::Flaw* flaw : flaws) {
    if (reasons_.size() == kReasonsMax) return;
    if (std::find(reasons_.begin(), reasons_.end(), flaw->reason) != reasons_.end()) continue;
    reasons_.push_back(flaw->reason);
    examples_.push_back(flaw->name + ": " + flaw->reason);
  }
}

Error BadLimit::error(const batch::Batch& batch) const {
  std::string text = std::to_string(bad_) + " of the " + std::to_string(taken_) +
                     " samples that this rank took in epoch " + std::to_string(batch.position.epoch) + ", up to step " +
                     std::to_string(batch.position.step) + ", can't be used, and bad_max" +
                     (bad_max_ ? "" : " = \"auto\"") + " allows " + std::to_string(bad_max_now_) + " (";
  for (size_t i = 0; i < examples_.size(); ++i) text += (i == 0 ? "" : "; ") + examples_[i];
  return {Trouble::kContent, text +
                                 "): `spdlctl errors` names them; mend them, leave them out (order.exclude), or raise "
                                 "bad_max"};
}

Status BadLimit::note(const batch::Batch& batch) {
  if (!is_on_) return Done{};
  if (epoch_ != batch.position.epoch || run_ != batch.run) begin(batch);
  taken_ += batch.slice.count;
  const auto left_out = std::count_if(batch.flaws.begin(), batch.flaws.end(),
                                      [](const batch::Flaw& flaw) { return batch::is_left_out(flaw.kind); });
  bad_ += batch.substituted.size() + batch.masked.size() + batch.absent.size() - static_cast<uint64_t>(left_out);
  keep_reasons(batch);
  if (bad_ > bad_max_now_) return error(batch);
  return Done{};
}

}  // namespace spdld::pipeline
