// The daemon's news of a loader's data: how much of it was bad, and what the data set misses. One thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/message.h"

namespace spdld::client {

struct BadReason {
  std::string reason;
  proto::BadKind kind = proto::BadKind::damaged;
  uint64_t count = 0;   // samples
  uint64_t sample = 0;  // id of the first
  std::string name;
};

// Samples of batches.
struct BadCounts {
  uint64_t substituted = 0, masked = 0, absent = 0;
  uint64_t unsupported = 0, too_long = 0, dropped = 0;  // of these
};

// Reads READY's reasons for samples that were substituted or masked, or are absent. nullptr: they are sound; else a
// text that says what is wrong.
const char* read_bad(const proto::Ready& ready, std::vector<BadReason>& reasons);
// Reads ATTACHED's first sentences about missing data.
std::vector<std::string> read_missing(const proto::Attached& answer);

struct Stats {
  static constexpr size_t kReasonsMax = 64;  // samples of further reasons are in the counts alone

  void note(uint64_t valid, const BadCounts& counts, const std::vector<BadReason>& bad);

  uint64_t batches = 0, samples = 0;  // that next has handed out
  BadCounts bad_counts;
  std::vector<BadReason> reasons;  // each once, in the order in which they came first
  std::vector<std::string> missing;
  uint64_t missing_count = 0;
};

}  // namespace spdld::client
