#include "client/src/replay.h"

#include <algorithm>
#include <cstdio>

namespace spdld::client {

namespace {

std::string decimal(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

}  // namespace

void Replay::keep(const Batch& batch) {
  if (kept_.size() < wanted_) kept_.push_back(std::make_unique<const Batch>(batch.slot(), batch.content()));
}

std::unique_ptr<Batch> Replay::next(Position position) {
  const Batch& kept = *kept_[steps_ % kept_.size()];
  Content content = kept.content();
  content.position = position;
  last_at_ = Clock::now();
  if (steps_ == kWarmupSteps) warm_at_ = last_at_;
  if (steps_ >= kWarmupSteps) samples_ += content.valid;
  auto batch = std::make_unique<Batch>(kept.slot(), std::move(content));
  ++steps_;
  return batch;
}

bool Replay::has_lost_memory() const {
  return std::any_of(kept_.begin(), kept_.end(), [](const auto& batch) {
    return batch->placement().memory == SPDLD_CUDA_HANDLE && batch->slot()->ring().connection().has_ended();
  });
}

double Replay::step_ms() const {
  const double ms = std::chrono::duration<double, std::milli>(last_at_ - warm_at_).count();
  return paced_steps() > 0 ? ms / static_cast<double>(paced_steps()) : 0;
}

std::string Replay::pace_text() const {
  if (paced_steps() == 0 || step_ms() <= 0) return {};
  const double a_step = static_cast<double>(samples_) / static_cast<double>(paced_steps() + 1);
  return "the replay has ended: this trainer takes " + decimal(step_ms(), 3) + " ms a batch, which is " +
         decimal(a_step * 1e3 / step_ms(), 1) + " samples a second, when loading costs nothing (over " +
         std::to_string(paced_steps()) + " batches). `spdlctl bench FILE --headspace --trainer-ms " +
         decimal(step_ms(), 3) + "` says whether the loader keeps up";
}

std::string replay_warning(uint32_t batches) {
  const std::string what = batches == 1 ? "first batch" : "first " + std::to_string(batches) + " batches";
  return "this loader replays its " + what +
         " again and again, to tell the trainer's own speed (SPDLD_REPLAY or the option replay asks for it): the model "
         "learns nothing from them, and no run can go on from the loader's states";
}

}  // namespace spdld::client
