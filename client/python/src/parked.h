// Batches that a framework has let go of while its work on them may go on, on streams that it names to nobody (XLA, and
// so jax: it drops a buffer as soon as the last computation that reads it is enqueued). They wait here for the loader,
// which gives them back in the order of that work.
#pragma once

#include <mutex>
#include <spdld.hpp>
#include <utility>
#include <vector>

namespace spdld::python {

// Any thread, with or without the GIL. At most as many batches are here as may be held.
class Parked {
 public:
  // After close() the batch is given back at once.
  void put(spdld::Batch batch) {
    const std::lock_guard lock(mutex_);
    if (open_) batches_.push_back(std::move(batch));
  }
  std::vector<spdld::Batch> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(batches_, {});
  }
  void close() {
    std::vector<spdld::Batch> last;  // ends without the lock: the end may wait for a GPU
    const std::lock_guard lock(mutex_);
    open_ = false;
    last.swap(batches_);
  }

 private:
  std::mutex mutex_;
  bool open_ = true;
  std::vector<spdld::Batch> batches_;
};

}  // namespace spdld::python
