#include "daemon/pipeline/error_log.h"

#include <algorithm>

namespace spdld::pipeline {

void ErrorLog::add(uint64_t sample, uint64_t epoch, std::string name, std::string reason, batch::FlawKind kind) {
  std::lock_guard lock(mutex_);
  total_++;
  const auto now = std::chrono::system_clock::now();
  const auto same = std::find_if(entries_.begin(), entries_.end(),
                                 [&](const BadSample& e) { return e.sample == sample && e.reason == reason; });
  if (same != entries_.end()) {
    BadSample again = std::move(*same);
    entries_.erase(same);
    again.time = now, again.epoch = epoch, again.count++;
    entries_.push_back(std::move(again));
    return;
  }
  if (entries_.size() == kEntriesMax) entries_.pop_front();
  entries_.push_back({now, sample, epoch, 1, std::move(name), std::move(reason), kind});
}

uint64_t ErrorLog::total() const {
  std::lock_guard lock(mutex_);
  return total_;
}

std::vector<BadSample> ErrorLog::entries() const {
  std::lock_guard lock(mutex_);
  return {entries_.begin(), entries_.end()};
}

}  // namespace spdld::pipeline
