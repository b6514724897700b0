// The figures of the last minute, one set a second, and the windows that end now. Bounded: some 60 sets. Control thread
// only; the time stands in the figures.
#pragma once

#include <array>
#include <cstdint>
#include <deque>

#include "daemon/metrics/figures.h"

namespace spdld::metrics {

// The figures of a time that ends now. The time is as close to the window's name as the kept figures allow: it is
// shorter while the daemon is young, and up to a second longer.
struct Window {
  double seconds = 0;  // 0: nothing is known yet
  NodeFigures figures;
};

class History {
 public:
  static constexpr std::array<uint32_t, 3> kWindowsS = {1, 10, 60};
  static constexpr uint64_t kStepNs = 1'000'000'000;

  // Whether a second has passed since the last figures that are kept.
  bool wants(uint64_t now_ns) const { return kept_.empty() || now_ns - kept_.back().at_ns >= kStepNs; }
  // Precondition: the moments rise.
  void keep(NodeFigures figures);
  // The window of about `seconds` that ends with `now`.
  Window window(const NodeFigures& now, uint32_t seconds) const;

 private:
  std::deque<NodeFigures> kept_;  // the oldest first
};

}  // namespace spdld::metrics
