#include "daemon/base/system/line_limits.h"

#include <iterator>

namespace spdld {

LineLimits::Kind& LineLimits::kind_of(std::string_view sentence, std::string_view pipeline, uint64_t now_ns) {
  if (const auto known = kinds_.find(View{sentence, pipeline}); known != kinds_.end()) return known->second;
  if (kinds_.size() >= kKindsMax)
    for (auto at = kinds_.begin(); at != kinds_.end();) {
      Kind& kind = at->second;
      at = kind.left_out == 0 && kind.allowance.is_whole(now_ns) ? kinds_.erase(at) : std::next(at);
    }
  if (kinds_.size() >= kKindsMax) return kinds_[Key{}];
  return kinds_[Key{sentence, pipeline}];
}

std::optional<uint64_t> LineLimits::take(std::string_view sentence, std::string_view pipeline, uint64_t now_ns) {
  const std::lock_guard lock(mutex_);
  Kind& kind = kind_of(sentence, pipeline, now_ns);
  if (kind.allowance.wait_ns(1, now_ns) > 0) {
    kind.left_out++;
    return {};
  }
  kind.allowance.take(1, now_ns);
  return std::exchange(kind.left_out, 0);
}

std::vector<LineLimits::LeftOut> LineLimits::take_left_out(uint64_t now_ns, bool all) {
  std::vector<LeftOut> told;
  const std::lock_guard lock(mutex_);
  for (auto& [key, kind] : kinds_) {
    if (kind.left_out == 0 || (!all && kind.allowance.wait_ns(1, now_ns) > 0)) continue;
    kind.allowance.take(1, now_ns);
    told.push_back({key.first, key.second, std::exchange(kind.left_out, 0)});
  }
  return told;
}

}  // namespace spdld
