// A loader in Python: the library's loader, one call at a time. It releases the GIL while it waits, and handles
// signals.
#pragma once

#include <nanobind/nanobind.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <spdld.hpp>
#include <string>
#include <utility>
#include <vector>

#include "client/python/src/batch.h"
#include "client/python/src/data_news.h"
#include "client/python/src/patience.h"
#include "proto/guarded_state.h"

namespace spdld::python {

// spdld_info, with its own texts: readable after the loader was closed.
struct LoaderInfo {
  std::string pipeline, fingerprint, daemon, group;
  uint32_t rank = 0, world_size = 1;
  uint64_t batch_size = 0, global_size = 0, samples = 0, steps_per_epoch = 0, epochs = 0, seed = 0, slot_bytes = 0;
  uint32_t slot_count = 0;
  bool writable = false;
  std::string memory;  // "host", "pinned", "cuda-handle", "cuda-fd"
  std::optional<int> device;
  std::optional<std::string> gpu;
  bool ready_early = false;
  bool pushed = false;
  std::vector<std::string> sources = {};  // names
  uint64_t class_count = 0;
  std::shared_ptr<const std::vector<std::string>> classes = {};  // names, by number; none where they were not sent
  uint32_t replay = 0;
  std::string socket = {};
  uint64_t last_samples = 0, empty_steps = 0;
};

struct Detach {
  void operator()(spdld_loader* loader) const { spdld_detach(loader); }
};
using LoaderHandle = std::unique_ptr<spdld_loader, Detach>;

class Loader {
 public:
  // Attaches as spdld_attach does, and waits for the answer; `options` come without timeout and progress. `display`:
  // called as spdld_progress says, and its close() at the end; or None. `converter`: called once, with the batches'
  // memory and device (as in LoaderInfo). It returns the function that turns a Tensor into the framework's array, or
  // None.
  Loader(const spdld::AttachOptions& options, std::optional<double> timeout_s, std::string framework,
         const nanobind::object& display, const nanobind::object& converter);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // None: an epoch ends here, and the next call gives the next epoch's first batch; after the last epoch, always None.
  nanobind::object next(std::optional<double> timeout_s);
  // Goes on to the next epoch where all batches of this epoch were handed out, but its end was not. Where a pipeline of
  // one epoch has given its end, goes back to its beginning.
  void begin_iteration();
  void seek(uint64_t epoch, uint64_t step);
  void set_epoch(uint64_t epoch);
  // Works as spdld_push; `ids`: a sequence of numbers, or an object with tolist().
  void push(uint64_t epoch, uint64_t step, const nanobind::object& ids, bool last);
  // These work as spdld_state and spdld_load_state.
  nanobind::object state_dict();
  void load_state_dict(nanobind::handle state, bool strict);
  // Counts of the samples handed out so far, and of the bad samples among them.
  nanobind::dict stats();
  // The samples of a step, as a list of spdld._ledger.Sample; rank None: this loader's.
  nanobind::object samples_of(uint64_t epoch, uint64_t step, std::optional<uint64_t> rank) const;
  // Whether other jobs get this loader's batches now. Sharing ends where this job is cut loose, or leaves for another
  // place.
  bool shared();
  void close();

  const LoaderInfo& info() const { return *info_; }
  const std::string& framework() const { return framework_; }
  std::pair<uint64_t, uint64_t> position() const;
  std::string describe() const;
  // The pipeline and the functions that it was made with, for spdld._trial. It may refer to what refers to this object.
  const nanobind::object& origin() const { return origin_; }
  void set_origin(nanobind::object origin) { origin_ = std::move(origin); }

 private:
  // Where an iteration over the loader stands.
  enum class Iteration : uint8_t {
    kWithin,  // of an epoch
    kEndDue,  // all batches of an epoch were handed out, but its end was not
    kOver,    // the end of the only epoch was given
  };
  static constexpr bool may(Iteration from, Iteration to) {
    return from != to && (from != Iteration::kOver || to == Iteration::kWithin);
  }
  struct Attempt {
    spdld_result result;
    spdld::Batch batch;
    std::string sentence;  // why it failed
    // Warnings to give before the batch is handed out; the loader has not stepped on then.
    std::vector<std::string> news = {};
    bool is_full = false;  // it failed since the program holds all batches that it may hold
  };
  Attempt attempt_next(int64_t wait_ms);
  // These two are called under turn_.
  void step_on(const spdld::Batch& batch);
  // Warns about a batch with news. Where the user has turned warnings into errors, the batch is kept for the next call.
  void tell_before(const Attempt& attempt);
  void set_position(uint64_t epoch, uint64_t step);
  void go_to(Iteration to);
  void note_moved();
  void note_end();  // next gave the end of an epoch
  void seek_under_turn(uint64_t epoch, uint64_t step);
  // Takes the loader's turn, or throws. The GIL is released while another thread has the turn.
  std::unique_lock<std::timed_mutex> take_turn();
  void refuse_in_forked_child() const;
  // Python code runs in here.
  void give_back_parked();

  const pid_t owner_;
  const std::string framework_;
  const bool has_replicas_;
  const bool held_wait_given_;
  nanobind::object convert_, order_, origin_;
  std::shared_ptr<Parked> parked_;          // where there is an order_
  std::shared_ptr<const LoaderInfo> info_;  // batches have it too

  // No thread waits for it with the GIL, and no Python code runs under it (a signal's handler may call in here again).
  std::timed_mutex turn_;
  std::atomic<bool> closing_{false};
  LoaderHandle loader_;                                         // under turn_
  GuardedState<Iteration, may> iteration_{Iteration::kWithin};  // under turn_
  bool was_ready_ = false;                                      // under turn_: the last attempt gave a batch
  BadNews bad_news_;                                            // under turn_
  std::vector<spdld::Batch> kept_;  // under turn_: batches taken, but not handed out since a warning was an error

  mutable std::mutex position_mutex_;  // held for no more than a copy: turn_ is held while waiting
  std::pair<uint64_t, uint64_t> position_;
};

// The iterator of `for batch in loader`: the rest of one epoch. With the GIL, or the object's own lock.
class EpochIterator {
 public:
  explicit EpochIterator(nanobind::object loader) : loader_(std::move(loader)) {}
  nanobind::object next();

 private:
  nanobind::object loader_;
  bool ended_ = false;
};

void bind_loader(nanobind::module_& module);

}  // namespace spdld::python
