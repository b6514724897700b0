// The samples whose content was bad, for `spdlctl errors`. Equal (sample, reason) are counted together; when the log is
// full the oldest entries go, but the total still counts them. Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "daemon/batch/slot.h"

namespace spdld::pipeline {

struct BadSample {
  std::chrono::system_clock::time_point time;  // last seen
  uint64_t sample = 0;
  uint64_t epoch = 0;  // last seen
  uint64_t count = 1;
  std::string name;
  std::string reason;
  batch::FlawKind kind = batch::FlawKind::kDamaged;
};

class ErrorLog {
 public:
  static constexpr size_t kEntriesMax = 1000;

  void add(uint64_t sample, uint64_t epoch, std::string name, std::string reason,
           batch::FlawKind kind = batch::FlawKind::kDamaged);
  uint64_t total() const;
  std::vector<BadSample> entries() const;  // oldest first

 private:
  mutable std::mutex mutex_;
  std::deque<BadSample> entries_;
  uint64_t total_ = 0;
};

}  // namespace spdld::pipeline
