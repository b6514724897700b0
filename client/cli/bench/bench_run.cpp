// Forks a bench's ranks, reads what they tell, and shows how far they are.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "client/cli/bench/bench_rank.h"
#include "client/cli/bench/clock.h"
#include "client/cli/bench/memory_probe.h"
#include "client/cli/progress.h"
#include "client/cli/query.h"
#include "proto/unique_fd.h"

namespace spdld::cli {
namespace {

constexpr int kLookMs = 200;

struct Pipe {
  UniqueFd read, write;
};

Pipe make_pipe() {
  int fds[2] = {-1, -1};
  if (pipe2(fds, O_CLOEXEC) != 0)
    throw Failure(kWrong, std::string("can't make a pipe: ") + std::strerror(errno) + ".");
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

// The daemon's CPU time, which process it is, and its memory.
class DaemonProbe {
 public:
  explicit DaemonProbe(const BenchPlan& plan) {
    globals_.socket = plan.socket;
    globals_.timeout_ms = plan.timeout_ms;  // a daemon that answers late may serve batches all the same
    try {
      const auto status = ask(globals_, "status");
      id_ = text_at(status, "daemon_id");
      used_before_s_ = used_s(status);
    } catch (const Failure& failure) {
      if (failure.code() != kNoDaemon) throw;  // the ranks will start one
    }
  }

  double used_since_s() const {
    const auto status = ask(globals_, "status");
    // A daemon that was started since has worked for this bench from its first moment on.
    return text_at(status, "daemon_id") == id_ ? used_s(status) - used_before_s_ : used_s(status);
  }

  double memory_bytes() {
    if (pid_ == 0) {
      const auto pid = static_cast<pid_t>(count_at(ask(globals_, "ping"), "pid"));
      pid_ = is_daemon(pid) ? pid : -1;
    }
    const double read = pid_ > 0 ? pss_bytes(pid_) : -1;
    return read >= 0 ? read : number_at(table_at(ask(globals_, "status"), "memory"), "pss_bytes");
  }

 private:
  static double used_s(const config::Json& status) { return number_at(table_at(status, "cpu"), "used_s"); }

  // In another pid namespace the number may be somebody else's.
  static bool is_daemon(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
    std::string name;
    return pid > 0 && std::getline(file, name) && name == "spdld";
  }

  Globals globals_;
  std::string id_;
  double used_before_s_ = 0;
  pid_t pid_ = 0;  // 0: not asked yet; -1: not to be seen from here
};

class Watch {
 public:
  explicit Watch(const BenchPlan& plan) : plan_(plan), daemon_(plan), began_(Clock::now()), pipe_(make_pipe()) {}
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() {
    for (const pid_t pid : ranks_) kill(pid, SIGTERM);
    for (const pid_t pid : ranks_) waitpid(pid, nullptr, 0);
  }

  BenchReport run() {
    for (uint32_t rank = 0; rank < plan_.world_size; rank++) start(rank);
    pipe_.write.reset();
    auto looked = began_;
    while (read_record()) {
      if (Clock::now() - looked < std::chrono::milliseconds(kLookMs)) continue;
      looked = Clock::now();
      look();
    }
    progress_.clear();
    reap();
    BenchReport report = summarise(plan_, batches_);
    add_cpu(report, daemon_.used_since_s(), ranks_cpu_s_);
    report.peak_pss_bytes = memory_.peak_bytes();
    report.daemon_peak_pss_bytes = memory_.daemon_bytes();
    report.clients_peak_pss_bytes = memory_.clients_bytes();
    return report;
  }

 private:
  void start(uint32_t rank) {
    const pid_t pid = fork();
    if (pid < 0) throw Failure(kWrong, std::string("can't start rank's process: ") + std::strerror(errno) + ".");
    if (pid == 0) {
      pipe_.read.reset();
      _exit(run_rank(plan_, rank, pipe_.write.get(), began_));
    }
    ranks_.push_back(pid);
  }

  // False when all ranks have closed the pipe. Comes back after kLookMs at the latest.
  bool read_record() {
    pollfd waited{pipe_.read.get(), POLLIN, 0};
    if (poll(&waited, 1, kLookMs) <= 0) return true;
    BenchRecord record;
    const ssize_t got = read(pipe_.read.get(), &record, sizeof record);
    if (got < 0 && errno == EINTR) return true;
    if (got != static_cast<ssize_t>(sizeof record)) return false;
    take(record);
    return true;
  }

  void take(const BenchRecord& record) {
    switch (record.event) {
      case BenchEvent::kListing:
        if (attached_ == 0) progress_.show(text::progress_of(record.text.data(), record.done, record.total));
        return;
      case BenchEvent::kAttached:
        to_come_ += record.total;
        epochs_ = record.done;
        if (attached_++ == 0) look();
        return;
      case BenchEvent::kBatch:
        batches_.push_back(record.batch);
        images_ += record.batch.images;
        epoch_ = record.done;
        return;
      case BenchEvent::kDone:
        // The last look: a short bench may have had no other while its slots were in use.
        if (done_++ == 0) look();
        ranks_cpu_s_ += record.cpu_s;
        return;
      case BenchEvent::kFailed: {
        const std::string of = plan_.world_size > 1 ? "rank " + std::to_string(record.rank) + ": " : std::string();
        throw Failure(static_cast<ExitCode>(record.exit_code), of + record.text.data());
      }
    }
  }

  void look() {
    if (attached_ == 0) return;
    memory_.look(daemon_.memory_bytes(), ranks_);
    text::Progress progress;
    progress.what = "epoch " + text::count_text(epoch_ + 1) + " of " + text::count_text(epochs_) + ":";
    progress.done = batches_.size();
    progress.total = to_come_;
    progress.unit = "batches";
    progress.made = images_;
    progress.made_unit = "images";
    progress_.show(progress);
  }

  void reap() {
    const std::vector<pid_t> ranks = std::exchange(ranks_, {});
    bool fine = true;
    for (const pid_t pid : ranks) {
      int status = 0;
      fine = waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0 && fine;
    }
    if (!fine) throw Failure(kWrong, "a rank's process ended before its time (see the system's journal for a crash).");
  }

  const BenchPlan& plan_;
  DaemonProbe daemon_;
  Clock::time_point began_;
  Pipe pipe_;
  std::vector<pid_t> ranks_;
  std::vector<BenchBatch> batches_;
  MemoryProbe memory_;
  StderrProgress progress_;
  uint64_t images_ = 0, to_come_ = 0;
  uint64_t epoch_ = 0, epochs_ = 0;  // of the last batch, from 0; of the plan
  uint32_t attached_ = 0, done_ = 0;
  double ranks_cpu_s_ = 0;
};

}  // namespace

BenchReport run_bench(const BenchPlan& plan) { return Watch(plan).run(); }

}  // namespace spdld::cli
