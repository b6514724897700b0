#include "client/src/ring/stats.h"

#include <algorithm>

#include "proto/text.h"

namespace spdld::client {

namespace {

constexpr size_t kBatchReasonsMax = 16, kMissingMax = 16, kFaultTextBytesMax = 512;

// A sentence, or a file's name, on one line.
std::string one_line(const flatbuffers::String* text) {
  return proto::shown_name(proto::text_of(text, kFaultTextBytesMax));
}

}  // namespace

const char* read_bad(const proto::Ready& ready, std::vector<BadReason>& reasons) {
  reasons.clear();
  const uint64_t bad = uint64_t{ready.substituted()} + ready.masked() + ready.absent();
  if (uint64_t{ready.unsupported()} + ready.too_long() + ready.dropped() > bad)
    return "a batch counts more unsupported samples than bad ones";
  if (!ready.bad()) return nullptr;
  if (ready.bad()->size() > kBatchReasonsMax) return "a batch has more than 16 reasons";
  uint64_t counted = 0;
  for (const proto::BadReason* told : *ready.bad()) {
    if (told->kind() > proto::BadKind::MAX || told->count() == 0) return "a batch has a reason that is none";
    counted += told->count();
    reasons.push_back({one_line(told->reason()), told->kind(), told->count(), told->sample(), one_line(told->name())});
  }
  return counted > bad ? "a batch has reasons for more samples than are bad" : nullptr;
}

std::vector<std::string> read_missing(const proto::Attached& answer) {
  std::vector<std::string> missing;
  const auto* told = answer.missing();
  for (flatbuffers::uoffset_t i = 0; told && i < told->size() && i < kMissingMax; ++i)
    missing.push_back(one_line(told->Get(i)));
  return missing;
}

void Stats::note(uint64_t valid, const BadCounts& counts, const std::vector<BadReason>& bad) {
  ++batches;
  samples += valid;
  bad_counts.substituted += counts.substituted;
  bad_counts.masked += counts.masked;
  bad_counts.absent += counts.absent;
  bad_counts.unsupported += counts.unsupported;
  bad_counts.too_long += counts.too_long;
  bad_counts.dropped += counts.dropped;
  for (const BadReason& reason : bad) {
    const auto same = std::find_if(reasons.begin(), reasons.end(), [&](const BadReason& known) {
      return known.kind == reason.kind && known.reason == reason.reason;
    });
    if (same != reasons.end()) {
      same->count += reason.count;
    } else if (reasons.size() < kReasonsMax) {
      reasons.push_back(reason);
    }
  }
}

}  // namespace spdld::client
