// The rows that records give: a table between the numbers of rows, which the sampler orders, and spans of records. It
// is a pure function of the lengths and of the kind of rows, so that an order by rows is one as well. 8 bytes a
// record; a look-up takes O(log records), and for packed rows one step more for each further record of the row.
// Constant; any thread.
//
//   tiles     The boxes of a grid over the record's picture, from left to right and from the top down.
//   clips     Clips of a record's video. Of the video every frame_stride-th frame counts, or the frames at a rate. A
//             clip has clip_frames frames that count, and the next clip begins clip_step of them later
//             (config::RowsSpec).
//   windows   `length` bytes of the record, every `stride` bytes.
//   packed    All records' bytes one after the other, each followed by the separator where there is one, cut every
//             `length` bytes.
//
// Along a side of S with parts of size t every s <= t, there are floor((S - t) / s) + 1 whole parts (none where S < t).
// A partial part follows where they leave something over, unless partial parts are dropped.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "config/spec.h"
#include "daemon/base/row_part.h"
#include "daemon/rows/length_index.h"

namespace spdld::rows {

// Some neighbouring bytes of one record. `count` may be 0: then only the separator behind the record is meant.
struct Span {
  uint64_t record = 0;
  uint64_t first = 0, count = 0;
  bool reaches_separator = false;  // the separator behind the record follows
  friend bool operator==(const Span&, const Span&) = default;
};

// How many parts a side of `side` has (side >= 1; 1 <= stride <= size).
uint64_t parts_of_side(uint64_t side, uint64_t size, uint64_t stride, bool keeps_partial);

// The moments 0, 1 / fps, 2 / fps ... that lie within a video; at least one.
uint64_t frames_at_rate(uint64_t duration_ns, double fps);

class RowTable {
 public:
  // The measure of `lengths` fits the kind. Throws SetupError (kLimit): there would be more than 2^62 rows or bytes.
  RowTable(const config::RowsSpec& spec, std::shared_ptr<const LengthIndex> lengths);

  uint64_t size() const { return size_; }  // rows
  uint64_t record_count() const { return lengths_->size(); }
  // The record of a row (row < size()); of a packed row its first record.
  uint64_t record_of(uint64_t row) const;
  // The first row of a record; of packed rows the first row that begins in or behind it. record <= record_count().
  uint64_t first_row(uint64_t record) const;
  // Of rows that have one record.
  RowPart part_of(uint64_t row) const;
  // The bytes of a row, in order; not for tiles and clips.
  void spans_of(uint64_t row, std::vector<Span>& spans) const;

  // Of packed rows: bytes at the very end that fill no row, and are dropped.
  uint64_t dropped_bytes() const { return spec_.keeps_partial ? 0 : starts_.back() % spec_.length; }

  const LengthIndex& lengths() const { return *lengths_; }
  uint64_t memory_bytes() const { return starts_.capacity() * sizeof(uint64_t) + lengths_->memory_bytes(); }

 private:
  uint64_t parts_of_record(uint64_t record) const;
  uint64_t across(uint64_t record) const;  // tiles side by side
  uint64_t frames_of_clips(uint64_t record) const;
  uint64_t record_at(uint64_t start) const;

  const config::RowsSpec spec_;
  const std::shared_ptr<const LengthIndex> lengths_;
  // Sums over the records before: of rows, or for packed rows of bytes and separators; at the end the whole sum.
  std::vector<uint64_t> starts_;
  uint64_t size_ = 0;
};

}  // namespace spdld::rows
