#include "daemon/base/system/line_limits.h"

#include <iterator>

namespace spdld {

LineLimits::LineLimit& LineLimits::limit_of(std::string_view sentence, std::string_view pipeline, uint64_t now_ns) {
  if (const auto known = limits_.find(View{sentence, pipeline}); known != limits_.end()) return known->second;
  if (limits_.size() >= kKindsMax)
    for (auto at = limits_.begin(); at != limits_.end();) {
      LineLimit& limit = at->second;
      at = limit.left_out == 0 && limit.allowance.is_whole(now_ns) ? limits_.erase(at) : std::next(at);
    }
  if (limits_.size() >= kKindsMax) return limits_[Key{}];
  return limits_[Key{sentence, pipeline}];
}

std::optional<uint64_t> LineLimits::take(std::string_view sentence, std::string_view pipeline, uint64_t now_ns) {
  const std::lock_guard lock(mutex_);
  LineLimit& limit = limit_of(sentence, pipeline, now_ns);
  if (limit.allowance.wait_ns(1, now_ns) > 0) {
    limit.left_out++;
    return {};
  }
  limit.allowance.take(1, now_ns);
  return std::exchange(limit.left_out, 0);
}

std::vector<LineLimits::LeftOut> LineLimits::take_left_out(uint64_t now_ns, bool all) {
  std::vector<LeftOut> told;
  const std::lock_guard lock(mutex_);
  for (auto& [key, limit] : limits_) {
    if (limit.left_out == 0 || (!all && limit.allowance.wait_ns(1, now_ns) > 0)) continue;
    limit.allowance.take(1, now_ns);
    told.push_back({key.first, key.second, std::exchange(limit.left_out, 0)});
  }
  return told;
}

}  // namespace spdld
