#include "client/cli/bench/bench_rank.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <spdld.hpp>

#include "client/cli/bench/clock.h"
#include "client/cli/query.h"

namespace spdld::cli {
namespace {

class Rank {
 public:
  Rank(const BenchPlan& plan, uint32_t rank, int pipe_fd, Clock::time_point began)
      : plan_(plan), rank_(rank), pipe_fd_(pipe_fd), began_(began) {}

  int run() {
    try {
      take_all();
      BenchRecord done = record(BenchEvent::kDone);
      done.cpu_s = own_cpu_s();
      tell(done);
      return kFine;
    } catch (const Exception& error) {
      return failed(exit_code_of(error.result()), error.what());
    } catch (const Failure& failure) {
      return failed(failure.code(), failure.what());
    } catch (const std::exception& error) {
      return failed(kWrong, error.what());
    }
  }

 private:
  BenchRecord record(BenchEvent event) const {
    BenchRecord record;
    record.event = event;
    record.rank = rank_;
    return record;
  }

  // A pipe that nobody reads ends the process by SIGPIPE: whoever watched is gone.
  void tell(const BenchRecord& record) const {
    ssize_t written = 0;
    do {
      written = ::write(pipe_fd_, &record, sizeof record);
    } while (written < 0 && errno == EINTR);
  }

  int failed(ExitCode code, const char* sentence) const {
    BenchRecord failure = record(BenchEvent::kFailed);
    failure.exit_code = code;
    std::strncpy(failure.text.data(), sentence, failure.text.size() - 1);
    tell(failure);
    return code;
  }

  static int listing(void* self, const char* what, uint64_t done, uint64_t total) {
    const auto* rank = static_cast<const Rank*>(self);
    BenchRecord record = rank->record(BenchEvent::kListing);
    std::strncpy(record.text.data(), what, record.text.size() - 1);
    record.done = done;
    record.total = total;
    rank->tell(record);
    return 0;
  }

  AttachOptions options() {
    AttachOptions options;
    options.socket = plan_.socket.empty() ? nullptr : plan_.socket.c_str();
    if (plan_.spec.empty()) {
      options.pipeline = plan_.pipeline.c_str();
    } else {
      options.spec = plan_.spec.c_str();
      options.spec_is_json = plan_.spec_is_json ? 1 : 0;
      options.spec_folder = plan_.spec_folder.c_str();
    }
    options.group = plan_.group.c_str();
    options.device = plan_.device.empty() ? nullptr : plan_.device.c_str();
    options.rank = rank_;
    options.local_rank = rank_;
    options.world_size = plan_.world_size;
    options.progress = &Rank::listing;
    options.progress_user = this;
    options.client_name = "spdlctl bench";
    return options;
  }

  uint64_t epochs_to_come(const spdld_info& info) const {
    return info.epochs > 0 ? std::min(info.epochs, plan_.epochs) : plan_.epochs;
  }

  uint64_t batches_to_come(const spdld_info& info) const {
    const uint64_t epochs = epochs_to_come(info);
    const uint64_t steps = std::max<uint64_t>(info.steps_per_epoch, 1);
    const uint64_t all = epochs > std::numeric_limits<uint64_t>::max() / steps ? std::numeric_limits<uint64_t>::max()
                                                                               : epochs * info.steps_per_epoch;
    return plan_.batches_max > 0 ? std::min(all, plan_.batches_max) : all;
  }

  void take_all() {
    Loader loader(options());
    BenchRecord attached = record(BenchEvent::kAttached);
    attached.total = batches_to_come(loader.info());
    attached.done = epochs_to_come(loader.info());
    tell(attached);
    for (uint64_t taken = 0; taken < attached.total;) {
      const auto before = Clock::now();
      const Loader::Next next = loader.next(plan_.timeout_ms);
      if (next.result == SPDLD_END) return;
      if (next.result == SPDLD_END_OF_EPOCH || next.result == SPDLD_INTERRUPTED) continue;
      if (next.result == SPDLD_TIMEOUT) {
        throw Failure(kTimedOut, "no batch came within " + std::to_string(plan_.timeout_ms) +
                                     " ms; `spdlctl describe` shows what the pipeline waits for.");
      }
      BenchRecord told = record(BenchEvent::kBatch);
      const spdld_batch_info info = next.batch.info();
      told.batch = {.at_s = seconds_since(began_),
                    .wait_s = seconds_since(before),
                    .rank = rank_,
                    .images = static_cast<uint32_t>(info.valid),
                    .substituted = info.substituted,
                    .masked = info.masked,
                    .absent = info.absent,
                    .dropped = info.dropped};
      told.done = info.epoch;
      tell(told);
      taken++;
    }
  }

  const BenchPlan& plan_;
  uint32_t rank_;
  int pipe_fd_;
  Clock::time_point began_;
};

}  // namespace

int run_rank(const BenchPlan& plan, uint32_t rank, int pipe_fd, Clock::time_point began) {
  return Rank(plan, rank, pipe_fd, began).run();
}

}  // namespace spdld::cli
