// What trainers do, for tests: attach, step, keep a digest of every batch.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "client/include/spdld.hpp"
#include "proto/unique_fd.h"
#include "tests/support/soon.h"  // a daemon's news come by way of the kernel

namespace spdld::test {

struct Job {
  std::string socket = {}, spec = {}, pipeline = {};  // a spec or a named pipeline
  std::string group = "job";
  uint32_t rank = 0, world_size = 1, reader = 0, readers = 1;
  uint64_t epoch = 0, step = 0;
  int64_t timeout_ms = 20'000, reconnect_ms = 20'000;
  uint32_t held_max = 0;
  std::string device = {}, transport = {};
  bool ready_early = false;
  std::string fingerprint = {};  // of the run that (epoch, step) belongs to
  std::string join = {};         // where jobs share a stream
  uint64_t batch_size = 0;       // in the place of the pipeline's
  int64_t held_wait_ms = 0;      // as spdld_attach_options says; -1: next() tells at once that it holds too many
};

Loader attach(const Job& job);

// An error's code and text; SPDLD_OK where there was none.
struct AttachOutcome {
  spdld_result result = SPDLD_OK;
  std::string text = {};
};
inline AttachOutcome try_attach(const Job& job) {
  try {
    const Loader loader = attach(job);
  } catch (const Exception& e) {
    return {e.result(), e.what()};
  }
  return {};
}

// One batch as a trainer saw it.
struct Seen {
  uint64_t epoch = 0, step = 0, valid = 0, digest = 0;
  std::vector<int64_t> ids, labels;
  friend bool operator==(const Seen&, const Seen&) = default;
};
// On a GPU of the fake driver as well, whose addresses can be read.
Seen look(const Batch& batch);

// All batches to the end of the run (or `batches_max`).
std::vector<Seen> take_all(Loader& loader, size_t batches_max = SIZE_MAX);

// Runs `what` in a forked process; its return value is the exit code (an exception is 99).
pid_t in_child(const std::function<int()>& what);
int wait_for(pid_t child);  // the exit code, or -signal

// What a forked trainer tells the test: text, read to its end.
class Pipe {
 public:
  Pipe();
  void write(const std::string& text);  // the child's side
  void close_writer() { writer_.reset(); }
  int reader() const { return reader_.get(); }
  bool read_byte();         // blocks; false at the end
  std::string read_line();  // blocks; empty at the end
  std::string read_all();

 private:
  UniqueFd reader_, writer_;
};

// A forked job that holds so many batches, from when this returns until it is killed.
pid_t hold_batches(const Job& job, size_t batches);

}  // namespace spdld::test
