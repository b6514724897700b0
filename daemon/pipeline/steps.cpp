#include "daemon/pipeline/steps.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

#include "daemon/sampler/mix.h"

namespace spdld::pipeline {
namespace {

using sampler::Position;

constexpr uint64_t kAheadBytes = 32 << 20;

// Epochs that are cut into steps beforehand.
class Cut : public Steps {
 public:
  Cut(Pipeline& pipeline, const sampler::Sharding& sharding, Position start)
      : pipeline_(pipeline), sharding_(sharding), epochs_(pipeline.spec().order.epochs), next_(start) {}

  bool has_next() const override { return epochs_ == 0 || next_.epoch < epochs_; }
  Step take_next() override {
    const Step step{next_, sharding_.slice(next_), nullptr, {}};
    next_ = sharding_.by_one_name({next_.epoch, next_.step + 1});
    return step;
  }
  void go_to(Position place) override { next_ = place; }
  Status push(const sampler::PushedSteps&) override {
    return Error{Trouble::kUsage, "PUSH to pipeline " + pipeline_.spec().name +
                                      ", whose order is its own: only one with order.shuffle = \"client\" takes it"};
  }

 protected:
  Pipeline& pipeline_;

 private:
  const sampler::Sharding sharding_;
  const uint64_t epochs_;  // 0: endless
  Position next_;
};

// An epoch is a pass through a single source.
class Ordered final : public Cut {
 public:
  Ordered(Pipeline& pipeline, const sampler::Sharding& sharding, Position start, Orders::Reader& reader)
      : Cut(pipeline, sharding, start), reader_(reader), distance_(distance_of(pipeline)) {}

  bool can_read(Step& step) override {
    if (!step.order) step.order = order_of(step.position.epoch);
    return step.order != nullptr;
  }
  void read(const Step& step, uint64_t first, std::span<Sample> samples) override {
    for (size_t i = 0; i < samples.size(); i++) {
      const uint64_t place = step.slice.place(first + i);
      samples[i] = {(*step.order)(place), step.order->pass(place), 0};
      if (distance_ > 0) expect(*step.order, place);
    }
  }
  uint64_t substitute(const Step& step, uint64_t index, uint32_t attempt) override {
    return step.order->substitute(step.slice.place(index), attempt);
  }
  bool awaits_order() const override { return awaits_; }
  void note_order() override { awaits_ = false; }

 private:
  // How many places ahead archives are read: the next window, which comes in any order once it has begun, and no less
  // than keeps their store busy. 0: they are not read ahead.
  static uint64_t distance_of(const Pipeline& pipeline) {
    const auto* const streaming = pipeline.listing().streaming();
    if (streaming == nullptr) return 0;
    const uint64_t sample_bytes = streaming->bytes / std::max<uint64_t>(pipeline.listing().size(), 1) + 1;
    return std::max({pipeline.spec().order.window, kAheadBytes / sample_bytes, uint64_t{1}});
  }
  // A block that is read ahead of a window may be of use until the next window has ended, and samples are fetched
  // somewhat later than they are chosen.
  void expect(const sampler::EpochOrder& order, uint64_t place) const {
    const auto ahead = order.ahead(place, distance_);
    if (ahead)
      pipeline_.listing().expect(*ahead, order.epoch() * pipeline_.samples() + place, 2 * distance_ + distance_ / 2);
  }

  Orders::Found order_of(uint64_t epoch) {
    if (order_ && order_->epoch() == epoch) return order_;
    if (awaits_) return nullptr;
    order_ = pipeline_.orders().find(epoch, reader_);
    awaits_ = !order_;
    return order_;
  }

  Orders::Reader& reader_;
  const uint64_t distance_;
  Orders::Found order_;  // of the epoch asked for last
  bool awaits_ = false;
};

// An epoch is as long as the pipeline says, of one source or of several.
class Mixed final : public Cut {
 public:
  Mixed(Pipeline& pipeline, const sampler::Sharding& sharding, Position start)
      : Cut(pipeline, sharding, start), mix_(pipeline.mix()) {}

  void read(const Step& step, uint64_t first, std::span<Sample> samples) override {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < samples.size(); i++) {
      const auto sample = mix_.at(step.position.epoch, step.slice.place(first + i));
      samples[i] = {sample.id, sample.pass, sample.source};
    }
  }
  uint64_t substitute(const Step& step, uint64_t index, uint32_t attempt) override {
    const std::lock_guard lock(mutex_);
    return mix_.substitute(step.position.epoch, step.slice.place(index), attempt);
  }

 private:
  std::mutex mutex_;
  sampler::MixReader mix_;  // under the mutex
};

class OfClient final : public Steps {
 public:
  OfClient(const Pipeline& pipeline, const sampler::Sharding& sharding, Position start)
      : batch_size_(sharding.batch_size()),
        pushed_({pipeline.samples(), batch_size_, pipeline.spec().order.epochs, pipeline.spec().seed}, start) {}

  bool has_next() const override { return pushed_.has_next(); }
  Step take_next() override {
    sampler::Pushed::Step step = pushed_.take();
    const sampler::Slice slice{step.position.step * batch_size_, step.ids.size(), 0, {}};
    return {step.position, slice, nullptr, std::move(step.ids)};
  }
  // Of what was pushed, nothing is read here but what never changes.
  void read(const Step& step, uint64_t first, std::span<Sample> samples) override {
    for (size_t i = 0; i < samples.size(); i++) {
      const uint64_t index = first + i;
      samples[i] = {step.ids[index], pushed_.pass(step.position.epoch, place_of(step, index)), 0};
    }
  }
  uint64_t substitute(const Step& step, uint64_t index, uint32_t attempt) override {
    return pushed_.substitute(step.position.epoch, place_of(step, index), step.ids[index], attempt);
  }
  void go_to(Position place) override { pushed_.go_to(place); }
  Status push(const sampler::PushedSteps& steps) override { return pushed_.push(steps); }

 private:
  static uint64_t place_of(const Step& step, uint64_t index) {
    return sampler::Pushed::place(step.position.step, index);
  }

  const uint64_t batch_size_;
  sampler::Pushed pushed_;
};

}  // namespace

std::unique_ptr<Steps> make_steps(Pipeline& pipeline, const sampler::Sharding& sharding, Position start,
                                  Orders::Reader& reader) {
  if (pipeline.spec().order.shuffle == config::Shuffle::kClient)
    return std::make_unique<OfClient>(pipeline, sharding, start);
  if (pipeline.is_plain()) return std::make_unique<Ordered>(pipeline, sharding, start, reader);
  return std::make_unique<Mixed>(pipeline, sharding, start);
}

}  // namespace spdld::pipeline
