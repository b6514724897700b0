#include "daemon/rows/row_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "daemon/base/result.h"

namespace spdld::rows {
namespace {

constexpr uint64_t kSumMax = uint64_t{1} << 62;

}  // namespace

uint64_t parts_of_side(uint64_t side, uint64_t size, uint64_t stride, bool keeps_partial) {
  if (side < size) return keeps_partial ? 1 : 0;
  const uint64_t whole = (side - size) / stride + 1;
  const bool leaves_some = (side - size) % stride != 0;
  return whole + (keeps_partial && leaves_some ? 1 : 0);
}

uint64_t frames_at_rate(uint64_t duration_ns, double fps) {
  // A moment that is shown for less than a millionth of its frame is none.
  constexpr double kLeast = 1e-6, kNsPerSecond = 1e9;
  const double frames = std::ceil(static_cast<double>(duration_ns) / kNsPerSecond * fps - kLeast);
  return static_cast<uint64_t>(std::clamp(frames, 1.0, static_cast<double>(kSumMax)));
}

RowTable::RowTable(const config::RowsSpec& spec, std::shared_ptr<const LengthIndex> lengths)
    : spec_(spec), lengths_(std::move(lengths)) {
  const bool is_packed = spec_.kind == config::RowKind::kPacked;
  starts_.reserve(lengths_->size() + 1);
  uint64_t sum = 0;
  starts_.push_back(0);
  for (uint64_t record = 0; record < lengths_->size(); record++) {
    const uint64_t length = (*lengths_)[record];
    const uint64_t more = length == 0 ? 0 : is_packed ? length + (spec_.separator ? 1 : 0) : parts_of_record(record);
    if (length > kSumMax || more > kSumMax - sum)
      throw SetupError(Trouble::kLimit, "rows.from: the records are too long: they give too many rows.");
    starts_.push_back(sum += more);
  }
  size_ = !is_packed ? sum : sum / spec_.length + (spec_.keeps_partial && sum % spec_.length != 0 ? 1 : 0);
}

uint64_t RowTable::across(uint64_t record) const {
  return parts_of_side(lengths_->width(record), spec_.width, spec_.stride_x, spec_.keeps_partial);
}

// The frames of a single clip that begins with the video, and goes on to its end.
uint64_t RowTable::frames_of_clips(uint64_t record) const {
  const uint64_t length = (*lengths_)[record];
  if (spec_.fps > 0) return frames_at_rate(length, spec_.fps);
  return (length + spec_.frame_stride - 1) / spec_.frame_stride;
}

uint64_t RowTable::parts_of_record(uint64_t record) const {
  if (spec_.kind == config::RowKind::kWindows)
    return parts_of_side((*lengths_)[record], spec_.length, spec_.stride, spec_.keeps_partial);
  if (spec_.kind == config::RowKind::kClips)
    return parts_of_side(frames_of_clips(record), spec_.clip_frames, spec_.clip_step, spec_.keeps_partial);
  return across(record) * parts_of_side(lengths_->height(record), spec_.height, spec_.stride_y, spec_.keeps_partial);
}

// Records without rows have the same start as the record behind them.
uint64_t RowTable::record_at(uint64_t start) const {
  return static_cast<uint64_t>(std::upper_bound(starts_.begin(), starts_.end(), start) - starts_.begin()) - 1;
}

uint64_t RowTable::record_of(uint64_t row) const {
  return record_at(spec_.kind == config::RowKind::kPacked ? row * spec_.length : row);
}

uint64_t RowTable::first_row(uint64_t record) const {
  if (spec_.kind != config::RowKind::kPacked) return starts_[record];
  return std::min(size_, (starts_[record] + spec_.length - 1) / spec_.length);
}

RowPart RowTable::part_of(uint64_t row) const {
  if (spec_.kind == config::RowKind::kPacked) return {};
  const uint64_t record = record_of(row);
  RowPart part{.number = row - starts_[record]};
  if (spec_.kind == config::RowKind::kWindows) return part;
  if (spec_.kind == config::RowKind::kClips) {
    const auto frames = static_cast<double>(part.number * spec_.clip_step);
    part.start = spec_.fps > 0 ? frames / spec_.fps : frames * static_cast<double>(spec_.frame_stride);
    part.length = (*lengths_)[record];
    return part;
  }
  part.x = static_cast<uint32_t>(part.number % across(record) * spec_.stride_x);
  part.y = static_cast<uint32_t>(part.number / across(record) * spec_.stride_y);
  part.height = static_cast<uint32_t>(lengths_->height(record));
  part.width = static_cast<uint32_t>(lengths_->width(record));
  return part;
}

void RowTable::spans_of(uint64_t row, std::vector<Span>& spans) const {
  spans.clear();
  if (spec_.kind == config::RowKind::kWindows) {
    const uint64_t record = record_of(row), first = (row - starts_[record]) * spec_.stride;
    spans.push_back({record, first, std::min(spec_.length, (*lengths_)[record] - first), false});
    return;
  }
  uint64_t at = row * spec_.length;
  const uint64_t end = std::min(at + spec_.length, starts_.back());
  for (uint64_t record = record_at(at); at < end; record++) {
    if (starts_[record] == starts_[record + 1]) continue;  // it could not be measured
    const uint64_t length = (*lengths_)[record], first = at - starts_[record];
    const uint64_t last = std::min(end, starts_[record + 1]) - starts_[record];  // with the separator
    spans.push_back({record, std::min(first, length), std::min(last, length) - std::min(first, length), last > length});
    at = starts_[record] + last;
  }
}

}  // namespace spdld::rows
