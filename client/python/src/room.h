// The wait of next() while the program holds all batches that it may hold. Python's garbage collector may find some
// batches, and other threads may give some back; where neither is possible the wait is in vain. With the GIL.
#pragma once

#include <chrono>
#include <string>

namespace spdld::python {

// The wait of one call of next().
class RoomWait {
 public:
  // `framework`: the loader's framework. Only Python's threads drop arrays of torch and numpy.
  explicit RoomWait(const std::string& framework) : drops_in_python_(framework == "torch" || framework == "numpy") {}

  // Runs the garbage collector, at most once a call of next(), and not so often that it costs much time; with `is_last`
  // it runs in any case. True: the collector ran, so that there may be room now. Python code runs in here.
  bool collect(bool is_last);
  // Whether no other thread is there that could give a batch back.
  bool is_in_vain() const;
  // Gives a spdld.SpdldWarning, once a process, when next() has waited for some seconds on the main thread.
  void warn(const std::string& sentence);

 private:
  using Clock = std::chrono::steady_clock;
  const bool drops_in_python_;
  const Clock::time_point begun_ = Clock::now();
  bool collected_ = false;
};

}  // namespace spdld::python
