// A third stage of samples' ways, for tests alone. Graders are threads of their own: each looks at one sample at a
// time, when it is decoded, and takes some time for it. They are an executor, as the pool's threads and the reads are.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "daemon/base/system/cpu.h"
#include "daemon/base/trace.h"
#include "daemon/pipeline/executor.h"
#include "daemon/pipeline/pipeline.h"

namespace spdld::test {

inline StageAccount account_of_grading() {
  return {.tuned_as = "grade",
          .name = "grade",
          .work = "Grading",
          .at = "by",
          .lane = "grader",
          .more = "With # graders in place of @",
          .faulty = "the school"};
}

class Graders {
 public:
  Graders(unsigned most, std::chrono::microseconds work) : most_(most), work_(work), lanes_(most) {
    for (unsigned i = 0; i < most; i++) threads_.emplace_back([this](const std::stop_token& stop) { grade(stop); });
  }
  ~Graders() {
    for (std::jthread& thread : threads_) thread.request_stop();
  }
  Graders(const Graders&) = delete;
  Graders& operator=(const Graders&) = delete;

  // `done` is called on a grader's thread, with when the work began.
  void add(std::function<void(uint64_t begun_ns)> done) {
    const std::scoped_lock lock(mutex_);
    waiting_.push_back(std::move(done));
    wake_.notify_all();
  }

  pipeline::Executor executor() {
    return {.tuned = {.account = account_of_grading()},
            .limit =
                [this](const config::DaemonSettings&, unsigned) {
                  return pipeline::TunerLimits::Limit{most_, 0};
                },
            .busy_ns =
                [this] {
                  const std::scoped_lock lock(mutex_);
                  return busy_ns_;
                },
            .waiting =
                [this] {
                  const std::scoped_lock lock(mutex_);
                  return waiting_.size();
                },
            .set_lanes =
                [this](uint32_t lanes, const pipeline::TunerLimits::Limit&) {
                  const std::scoped_lock lock(mutex_);
                  lanes_ = lanes;
                  wake_.notify_all();
                }};
  }
  unsigned lanes() const {
    const std::scoped_lock lock(mutex_);
    return lanes_;
  }

 private:
  void grade(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (wake_.wait(lock, stop, [this] { return !waiting_.empty() && working_ < lanes_; })) {
      const auto done = std::move(waiting_.front());
      waiting_.pop_front();
      working_++;
      lock.unlock();
      const uint64_t begun_ns = monotonic_ns();
      std::this_thread::sleep_for(work_);  // this is the work
      const uint64_t took_ns = monotonic_ns() - begun_ns;
      done(begun_ns);
      lock.lock();
      busy_ns_ += took_ns;
      working_--;
      wake_.notify_all();
    }
  }

  const unsigned most_;
  const std::chrono::microseconds work_;
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<std::function<void(uint64_t)>> waiting_;
  unsigned lanes_ = 0, working_ = 0;
  uint64_t busy_ns_ = 0;
  std::vector<std::jthread> threads_;
};

class GradeStage final : public pipeline::Stage {
 public:
  // Whether the work on a sample fails this time, and should not fail for ever.
  using Fails = std::function<bool(uint64_t sample)>;

  GradeStage(Graders& graders, uint64_t subject, Fails fails = {})
      : Stage(account_of_grading()), graders_(graders), subject_(subject), fails_(std::move(fails)) {}

  pipeline::StageOutcome start(pipeline::Passage& passage, pipeline::Caller&) override {
    passage.walker->on_wait(passage);
    handed_.add();
    graders_.add([this, &passage, since_ns = monotonic_ns()](uint64_t begun_ns) { end(passage, since_ns, begun_ns); });
    return pipeline::StageOutcome::kUnderWay;
  }
  bool tries_again_here() const override { return true; }
  uint64_t busy_ns() const override { return statistics_.duration_ns.sum(); }
  uint64_t waiting() const override { return handed_.value() - returned_.value(); }
  unsigned concurrency() const override { return graders_.lanes(); }

 private:
  void end(pipeline::Passage& passage, uint64_t since_ns, uint64_t begun_ns) {
    const bool fails = fails_ && fails_(passage.sample);
    statistics_.wait_ns.record(begun_ns - since_ns);
    statistics_.duration_ns.record(monotonic_ns() - begun_ns);
    (fails ? statistics_.failures : statistics_.samples).add();
    returned_.add();
    if (trace::is_on(subject_))
      trace::note(subject_, {.start_ns = begun_ns,
                             .duration_ns = monotonic_ns() - begun_ns,
                             .batch = passage.batch_number,
                             .sample = passage.sample,
                             .index = static_cast<uint32_t>(passage.index),
                             .what = trace::What::kWork,
                             .stage = place(),
                             .failed = fails});
    if (fails) passage.error = {Trouble::kTransient, "the school is closed"};
    passage.walker->on_outcome(passage, fails ? pipeline::StageOutcome::kFailed : pipeline::StageOutcome::kDone);
  }

  Graders& graders_;
  const uint64_t subject_;
  const Fails fails_;
  StripedCounter handed_, returned_;
};

// For Resources::more_stages.
inline pipeline::StageMaker grading(Graders& graders, GradeStage::Fails fails = {}) {
  return [&graders, fails = std::move(fails)](const pipeline::Pipeline& pipeline) {
    return std::make_unique<GradeStage>(graders, pipeline.subject(), fails);
  };
}

}  // namespace spdld::test
