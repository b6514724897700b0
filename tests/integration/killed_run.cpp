#include "tests/integration/killed_run.h"

#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <fstream>
#include <sstream>

namespace spdld::test {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kThreadsMax = 6;
constexpr int64_t kPatience_ms = 60'000;  // a machine may be busy

// Where a rank was when it saved.
struct Checkpoint {
  uint64_t epoch = 0, step = 0;  // of its next batch
  uint64_t digest = 0;           // of its last
  std::string fingerprint;       // of the run, as the first attach gave it; empty: nothing was saved yet
};

Checkpoint load(const fs::path& file) {
  Checkpoint saved;
  std::ifstream(file) >> saved.epoch >> saved.step >> saved.digest >> saved.fingerprint;
  return saved;
}

// As a whole or not at all, wherever a kill comes.
void save(const fs::path& file, const Checkpoint& now) {
  const fs::path fresh = file.string() + ".new";
  std::ofstream(fresh) << now.epoch << ' ' << now.step << ' ' << now.digest << ' ' << now.fingerprint << '\n';
  fs::rename(fresh, file);
}

std::string line_of(const Seen& seen) {
  std::ostringstream line;
  line << seen.epoch << ' ' << seen.step << ' ' << seen.valid << ' ' << seen.digest;
  for (size_t i = 0; i < seen.ids.size(); i++) line << ' ' << seen.ids[i] << ' ' << seen.labels[i];
  line << '\n';
  return line.str();
}

Seen seen_of(const std::string& line) {
  std::istringstream words(line);
  Seen seen;
  words >> seen.epoch >> seen.step >> seen.valid >> seen.digest;
  seen.ids.resize(seen.valid), seen.labels.resize(seen.valid);
  for (size_t i = 0; i < seen.valid; i++) words >> seen.ids[i] >> seen.labels[i];
  REQUIRE_FALSE(words.fail());
  return seen;
}

}  // namespace

KilledRun::KilledRun(DaemonProcess& daemon, Shape shape, std::mt19937_64& random)
    : daemon_(daemon), shape_(std::move(shape)), random_(random), ranks_(shape_.world_size) {
  for (uint32_t number = 0; number < shape_.world_size; number++) {
    ranks_[number].checkpoint = dir_.path() / std::to_string(number);
    launch(number);
  }
}

KilledRun::~KilledRun() {
  for (Rank& rank : ranks_) {
    if (rank.pid < 0) continue;
    kill(rank.pid, SIGKILL);
    waitpid(rank.pid, nullptr, 0);
  }
}

void KilledRun::launch(uint32_t number) {
  Rank& rank = ranks_[number];
  const Checkpoint saved = load(rank.checkpoint);
  Job job{.socket = daemon_.socket(), .spec = shape_.spec};
  job.rank = number, job.world_size = shape_.world_size;
  job.timeout_ms = job.reconnect_ms = kPatience_ms;
  job.epoch = saved.epoch, job.step = saved.step, job.fingerprint = saved.fingerprint;
  job.held_max = static_cast<uint32_t>(shape_.held) + 2;
  rank.begun_at = run_step(saved.epoch, saved.step);
  rank.life.clear();
  rank.told = Pipe();
  rank.pid = in_child([&] { return train(job, rank); });
  rank.told.close_writer();
}

int KilledRun::train(const Job& job, Rank& rank) const {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // none is left behind by a test that is ended from outside
  Loader loader = attach(job);
  Checkpoint now;
  now.fingerprint = job.fingerprint.empty() ? loader.info().fingerprint : job.fingerprint;
  std::deque<Batch> held;
  for (;;) {
    const auto next = loader.next(kPatience_ms);
    if (next.result == SPDLD_END) break;
    if (next.result == SPDLD_END_OF_EPOCH) continue;
    if (next.result != SPDLD_OK) return 1;
    const Seen seen = look(next.batch);
    const std::string line = line_of(seen);
    if (line.size() > PIPE_BUF) return 2;  // a kill could cut it
    rank.told.write(line);
    std::tie(now.epoch, now.step) = loader.tell();
    now.digest = seen.digest;
    save(rank.checkpoint, now);
    held.push_back(next.batch);
    if (held.size() > shape_.held) held.pop_front();
  }
  rank.told.write("end\n");
  return 0;
}

bool KilledRun::hear(Rank& rank) {
  const std::string line = rank.told.read_line();
  if (line == "end") rank.ended = true;
  if (line.empty() || rank.ended) return false;
  rank.life.push_back(seen_of(line));
  return true;
}

// A rank's process is over: what it told, against what came before and what it saved.
void KilledRun::collect(Rank& rank, bool killed) {
  while (hear(rank)) {
  }
  const int status = wait_for(std::exchange(rank.pid, -1));
  const bool as_meant = (killed && status == -SIGKILL) || (rank.ended && status == 0);
  INFO("a rank's process ended with " << status);
  REQUIRE(as_meant);
  kills_.ranks += status == -SIGKILL;
  uint64_t next = rank.begun_at;
  for (const Seen& seen : rank.life) {
    REQUIRE(run_step(seen.epoch, seen.step) == next);
    const auto [at, first] = rank.history.emplace(next++, seen);
    REQUIRE(at->second == seen);
    kills_.repeated += !first;
  }
  const Checkpoint saved = load(rank.checkpoint);
  const uint64_t saved_at = run_step(saved.epoch, saved.step);
  const bool one_behind = killed && saved_at + 1 == next && saved_at >= rank.begun_at;
  REQUIRE((saved_at == next || one_behind));
  if (saved_at) REQUIRE(saved.digest == rank.history.at(saved_at - 1).digest);
}

// A pause of up to 8 ms, short ones as often as long ones, begun at whatever the ranks do now.
void KilledRun::pause_briefly() {
  const uint64_t pause_us = below(random_, uint64_t{1} << (1 + below(random_, 13)));
  const timespec pause{0, static_cast<long>(pause_us) * 1000};
  nanosleep(&pause, nullptr);
}

void KilledRun::await_moment() {
  Rank& rank = ranks_[below(random_, ranks_.size())];
  if (below(random_, 2)) return pause_briefly();
  uint64_t batches = below(random_, 5);
  while (batches-- && rank.pid >= 0 && !rank.ended && hear(rank)) {
  }
}

void KilledRun::kill_ranks() {
  const bool all = below(random_, 2) != 0;
  const uint64_t victim = below(random_, ranks_.size());
  std::vector<Rank*> victims;
  for (size_t i = 0; i < ranks_.size(); i++)
    if ((all || i == victim) && ranks_[i].pid >= 0) victims.push_back(&ranks_[i]);
  for (const Rank* rank : victims) kill(rank->pid, SIGKILL);
  for (Rank* rank : victims) collect(*rank, true);
}

void KilledRun::begin_daemon() {
  daemon_.rewrite_settings("[limits]\ncpu_budget = " + std::to_string(1 + below(random_, kThreadsMax)) + "\n");
  daemon_.start();
}

void KilledRun::cycle() {
  await_moment();
  const uint64_t what = below(random_, 3);  // ranks, the daemon, both
  const bool daemon_first = below(random_, 2) != 0;
  if (what == 0 || (what == 2 && !daemon_first)) kill_ranks();
  if (what == 2 && !daemon_first) pause_briefly();
  if (what != 0) {
    daemon_.stop(SIGKILL);
    kills_.daemons++;
  }
  if (what == 2 && daemon_first) {
    pause_briefly();
    kill_ranks();  // while they look for the daemon
  }
  if (what != 0) begin_daemon();
  for (uint32_t number = 0; number < ranks_.size(); number++)
    if (ranks_[number].pid < 0 && !ranks_[number].ended) launch(number);
}

bool KilledRun::over() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.ended; });
}

void KilledRun::go_on_to_end() {
  for (Rank& rank : ranks_) {
    if (rank.pid >= 0) collect(rank, false);
    REQUIRE(rank.ended);
  }
}

}  // namespace spdld::test
