#include "daemon/pipeline/error_log.h"

#include <algorithm>

#include "daemon/base/system/cut_text.h"

namespace spdld::pipeline {

void ErrorLog::add(uint64_t sample, uint64_t epoch, std::string_view name, std::string_view reason,
                   batch::FlawKind kind) {
  std::string kept_reason = cut_text(reason, kTextBytesMax);
  std::lock_guard lock(mutex_);
  if (kind != batch::FlawKind::kDropped) total_++;
  const auto now = std::chrono::system_clock::now();
  const auto same = std::find_if(entries_.begin(), entries_.end(),
                                 [&](const BadSample& e) { return e.sample == sample && e.reason == kept_reason; });
  if (same != entries_.end()) {
    BadSample again = std::move(*same);
    entries_.erase(same);
    again.last = now;
    again.last_epoch = epoch;
    again.count++;
    entries_.push_back(std::move(again));
    return;
  }
  if (entries_.size() == kEntriesMax) {
    const auto left_out =
        std::find_if(entries_.begin(), entries_.end(), [](const BadSample& e) { return batch::is_left_out(e.kind); });
    if (left_out == entries_.end() && batch::is_left_out(kind)) return;
    entries_.erase(left_out == entries_.end() ? entries_.begin() : left_out);
  }
  entries_.push_back({now, now, sample, epoch, epoch, 1, cut_text(name, kTextBytesMax), std::move(kept_reason), kind});
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
