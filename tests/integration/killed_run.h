// A job whose rank processes save their place after each batch, as a training run saves a checkpoint, and which are
// killed, as is their daemon: whoever begins anew goes on from what was saved. Every batch that any of them saw is kept
// and compared. One thread; a seeded generator decides what is killed and when.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/integration/trainer.h"
#include "tests/support/daemon_process.h"

namespace spdld::test {

// A number below `limit`: the same on every platform, unlike the library's distributions.
inline uint64_t below(std::mt19937_64& random, uint64_t limit) { return random() % limit; }

class KilledRun {
 public:
  struct Shape {
    std::string spec;
    uint32_t world_size = 1;
    uint64_t steps = 1;  // of an epoch
    size_t held = 0;     // batches that a rank keeps in hand beside its newest
  };
  struct Kills {
    int ranks = 0, daemons = 0;  // SIGKILLs
    int repeated = 0;            // batches taken twice: the kill came between them and their checkpoint
  };
  // By step of the run, counted through its epochs.
  using History = std::map<uint64_t, Seen>;

  KilledRun(DaemonProcess& daemon, Shape shape, std::mt19937_64& random);
  ~KilledRun();  // ends the ranks that are left
  KilledRun(const KilledRun&) = delete;
  KilledRun& operator=(const KilledRun&) = delete;

  // Ranks, the daemon or both are killed at a random moment, and begin again: the daemon with another number of decode
  // threads. Catch2's REQUIRE: each rank goes on exactly where it was, and a batch that comes twice is the same.
  void cycle();
  bool over() const;    // all ranks have come to the end of the run
  void go_on_to_end();  // undisturbed
  const History& history(uint32_t rank) const { return ranks_.at(rank).history; }
  const Kills& kills() const { return kills_; }

 private:
  struct Rank {
    std::filesystem::path checkpoint;
    pid_t pid = -1;  // -1: not running
    Pipe told;
    std::vector<Seen> life;  // what the running process has told so far
    uint64_t begun_at = 0;   // the step of the run that it went on with
    bool ended = false;
    History history;
  };

  void launch(uint32_t number);
  int train(const Job& job, Rank& rank) const;
  bool hear(Rank& rank);  // one more batch, or the end; false when its process tells no more
  void collect(Rank& rank, bool killed);
  void await_moment();
  void pause_briefly();
  void kill_ranks();
  void begin_daemon();
  uint64_t run_step(uint64_t epoch, uint64_t step) const { return epoch * shape_.steps + step; }

  DaemonProcess& daemon_;
  const Shape shape_;
  std::mt19937_64& random_;
  TempDir dir_;
  std::vector<Rank> ranks_;
  Kills kills_;
};

}  // namespace spdld::test
