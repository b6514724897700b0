#include "client/python/src/room.h"

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <atomic>

#include "client/python/src/errors.h"

namespace nb = nanobind;

namespace spdld::python {

namespace {

constexpr int kCollectShare = 10;  // garbage collection takes at most one part in this many of the waiting time
constexpr std::chrono::seconds kWarn{5};

std::atomic<int64_t> next_collection_ns{0};  // on the steady clock
std::atomic<bool> warned{false};

}  // namespace

bool RoomWait::collect(bool is_last) {
  if (collected_) return false;
  const Clock::time_point begin = Clock::now();
  if (!is_last && begin.time_since_epoch().count() < next_collection_ns) return false;
  collected_ = true;
  nb::module_::import_("gc").attr("collect")();
  const Clock::time_point end = Clock::now();
  next_collection_ns = (end + kCollectShare * (end - begin)).time_since_epoch().count();
  return true;
}

bool RoomWait::is_in_vain() const {
  if (!drops_in_python_) return false;
  const nb::object frames = nb::module_::import_("sys").attr("_current_frames")();
  return nb::len(frames) <= 1;
}

void RoomWait::warn(const std::string& sentence) {
  if (Clock::now() - begun_ < kWarn || ::gettid() != ::getpid() || warned.exchange(true)) return;
  python::warn("next() waits until the program gives a batch back: " + sentence);
}

}  // namespace spdld::python
