#include "daemon/metrics/history.h"

#include <utility>

#include "daemon/base/system/cpu.h"
#include "daemon/metrics/rates.h"

namespace spdld::metrics {
namespace {

constexpr uint64_t kKeptNs = (History::kWindowsS.back() + 1) * History::kStepNs;
constexpr size_t kKeptMax = History::kWindowsS.back() + 2;

Window with_shares(Window window) {
  for (PipelineFigures& pipeline : window.figures.pipelines) {
    const Rates rates = rates_of_parts(window, pipeline);
    pipeline.waiting = rates.waiting;
    pipeline.full = rates.full;
  }
  return window;
}

}  // namespace

void History::keep(NodeFigures figures) {
  const uint64_t now_ns = figures.at_ns;
  kept_.push_back(std::move(figures));
  while (kept_.size() > kKeptMax || (kept_.size() > 1 && now_ns - kept_.front().at_ns > kKeptNs)) kept_.pop_front();
}

Window History::window(const NodeFigures& now, uint32_t seconds) const {
  const NodeFigures* from = nullptr;
  for (const NodeFigures& figures : kept_) {  // the last that are old enough, else the oldest
    if (figures.at_ns >= now.at_ns) break;
    if (from != nullptr && now.at_ns - figures.at_ns < seconds * kStepNs) break;
    from = &figures;
  }
  if (from == nullptr) return {0, since(now, now)};
  return with_shares({spdld::seconds(now.at_ns - from->at_ns), since(now, *from)});
}

}  // namespace spdld::metrics
