// The samples whose content was bad or that were left out, for `spdlctl errors`. Equal (sample, reason) are counted
// together. When the log is full the oldest entries go, the entries of left-out samples first; but the total still
// counts them. It does not count samples that user code dropped, since these may be most of a data set.
// Names and reasons are cut, so the log's memory is bounded whatever a data set holds. Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/batch/slot.h"

namespace spdld::pipeline {

struct BadSample {
  std::chrono::system_clock::time_point first, last;  // when it was seen
  uint64_t sample = 0;
  uint64_t first_epoch = 0, last_epoch = 0;
  uint64_t count = 1;
  std::string name;
  std::string reason;
  batch::FlawKind kind = batch::FlawKind::kDamaged;
};

class ErrorLog {
 public:
  static constexpr size_t kEntriesMax = 1000;
  // Of a name and of a reason. As JSON, a byte takes up to six, and a whole log must fit the file of the last errors.
  static constexpr size_t kTextBytesMax = 1024;

  void add(uint64_t sample, uint64_t epoch, std::string_view name, std::string_view reason,
           batch::FlawKind kind = batch::FlawKind::kDamaged);
  uint64_t total() const;
  std::vector<BadSample> entries() const;  // oldest first

 private:
  mutable std::mutex mutex_;
  std::deque<BadSample> entries_;
  uint64_t total_ = 0;
};

}  // namespace spdld::pipeline
