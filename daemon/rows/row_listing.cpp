#include "daemon/rows/row_listing.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "config/rows.h"
#include "daemon/base/result.h"
#include "daemon/rows/row_table.h"
#include "daemon/source/fingerprint.h"

namespace spdld::rows {
namespace {

using source::FieldId;
using source::Listing;
using store::Locator;

// Rows are parts of the field's bytes, not of what these hold.
bool cuts_bytes(config::RowKind kind) { return kind == config::RowKind::kWindows || kind == config::RowKind::kPacked; }

class RowListing final : public Listing {
 public:
  RowListing(const config::RowsSpec& spec, std::unique_ptr<Listing> records, FieldId field,
             std::shared_ptr<const LengthIndex> lengths)
      : spec_(spec), records_(std::move(records)), field_(field), table_(spec, std::move(lengths)) {
    const auto own = records_->fields();
    fields_.assign(own.begin(), own.end());
    for (const std::string_view name : config::row_fields(spec.kind)) {
      fields_.push_back({std::string(name), source::FieldKind::kInteger});
      integers_.push_back(name);
    }
    remarks_.add_all(records_->said());
    remarks_.add_all(table_.lengths().remarks());
    note_dropped();
    for (const uint64_t start : records_->archive_starts()) starts_.push_back(table_.first_row(start));
    set_bounds(records_->shared_bounds());
    source::Fingerprint fingerprint;
    fingerprint.add_text("rows");
    fingerprint.add_text(records_->fingerprint());
    fingerprint.add_text(table_.lengths().fingerprint());
    for (const uint64_t number :
         {uint64_t{static_cast<uint8_t>(spec.kind)}, uint64_t{spec.height}, uint64_t{spec.width},
          uint64_t{spec.stride_y}, uint64_t{spec.stride_x}, spec.length, spec.stride, uint64_t{spec.keeps_partial},
          uint64_t{spec.separator ? *spec.separator + 1u : 0u}, spec.clip_frames, spec.clip_step, spec.frame_stride,
          std::bit_cast<uint64_t>(spec.fps)})
      fingerprint.add_number(number);
    fingerprint_ = fingerprint.digits();
  }

  uint64_t size() const override { return table_.size(); }
  std::span<const source::Field> fields() const override { return fields_; }
  Locator locate(uint64_t row, FieldId field) const override {
    if (!cuts(field) || is_packed()) return records_->locate(table_.record_of(row), field);
    const RowPart part = table_.part_of(row);
    const uint64_t record = table_.record_of(row), first = part.number * spec_.stride;
    return piece_of({record, first, std::min(spec_.length, table_.lengths()[record] - first), false});
  }
  bool may_lack(uint64_t row, FieldId field) const override {
    return field < records_->fields().size() && records_->may_lack(table_.record_of(row), field);
  }
  bool lacks(uint64_t row, FieldId field) const override {
    return field < records_->fields().size() && records_->lacks(table_.record_of(row), field);
  }
  bool is_untaken(uint64_t row) const override { return records_->is_untaken(table_.record_of(row)); }
  uint64_t untaken_count() const override { return records_->untaken_count(); }  // above 0 where a row is left out
  int64_t integer(uint64_t row, FieldId field) const override {
    const size_t own = records_->fields().size();
    if (field < own) return records_->integer(table_.record_of(row), field);
    const std::string_view name = integers_[field - own];
    if (name == "row.record") return static_cast<int64_t>(table_.record_of(row));
    if (name == "row.first") return first_byte(row);
    const RowPart part = table_.part_of(row);
    if (name == "row.y") return part.y;
    if (name == "row.x") return part.x;
    return static_cast<int64_t>(part.number);  // row.part
  }
  std::string name(uint64_t row) const override {
    const std::string record = records_->name(table_.record_of(row));
    if (is_packed()) return "row " + std::to_string(row) + ", from " + record;
    return record + '[' + std::to_string(table_.part_of(row).number) + ']';
  }
  const std::string& fingerprint() const override { return fingerprint_; }
  uint64_t memory_bytes() const override { return records_->memory_bytes() + table_.memory_bytes(); }
  std::span<const std::string> classes() const override { return records_->classes(); }
  const source::Remarks& said() const override { return remarks_; }
  unsigned store_concurrency() const override { return records_->store_concurrency(); }
  bool is_remote() const override { return records_->is_remote(); }
  bool unchanged() const override { return records_->unchanged(); }
  std::span<const uint64_t> archive_starts() const override { return starts_; }
  const Streaming* streaming() const override { return records_->streaming(); }
  void expect(uint64_t row, uint64_t place, uint64_t horizon) const override {
    records_->expect(table_.record_of(row), place, horizon);
  }

  bool has_rows() const override { return true; }
  uint64_t record_count() const override { return table_.record_count(); }
  uint64_t record_of(uint64_t row) const override { return table_.record_of(row); }
  RowPart part_of(uint64_t row) const override { return table_.part_of(row); }
  bool cuts(FieldId field) const override { return field == field_ && cuts_bytes(spec_.kind); }
  bool gather(uint64_t row, FieldId field, std::vector<Locator>& pieces) const override {
    if (!is_packed() || field != field_) return false;
    std::vector<Span> spans;
    table_.spans_of(row, spans);
    pieces.clear();
    for (const Span& span : spans) pieces.push_back(piece_of(span));
    return true;
  }
  const Listing* records() const override { return records_.get(); }
  uint64_t first_row(uint64_t record) const override { return table_.first_row(record); }

 private:
  bool is_packed() const { return spec_.kind == config::RowKind::kPacked; }

  // Says which bytes or records were measured and are in no row.
  void note_dropped() {
    if (is_packed()) {
      if (const uint64_t bytes = table_.dropped_bytes(); bytes > 0)
        remarks_.add("the last " + std::to_string(bytes) + " bytes fill no row and are dropped.");
      return;
    }
    uint64_t count = 0, first = 0;
    for (uint64_t record = 0; record < table_.record_count(); record++) {
      if (table_.lengths()[record] == 0 || table_.first_row(record) != table_.first_row(record + 1)) continue;
      if (count++ == 0) first = record;
    }
    if (count == 0) return;
    remarks_.add(std::to_string(count) + (count == 1 ? " sample is" : " samples are") +
                 " smaller than a row, and partial rows are dropped; the first is " + records_->name(first) + ".");
  }

  Locator piece_of(const Span& span) const {
    Locator locator = records_->locate(span.record, field_);
    // The rest of a file that the listing has no length of must have the length that was counted.
    if (locator.length < 0) locator.object_bytes = locator.offset + table_.lengths()[span.record];
    locator.offset += span.first;
    locator.length = static_cast<int64_t>(span.count);
    if (span.reaches_separator && spec_.separator) locator.followed_by = *spec_.separator;
    return locator;
  }

  int64_t first_byte(uint64_t row) const {
    std::vector<Span> spans;
    table_.spans_of(row, spans);
    return static_cast<int64_t>(spans.front().first);
  }

  const config::RowsSpec spec_;
  const std::unique_ptr<Listing> records_;
  const FieldId field_;
  const RowTable table_;
  std::vector<source::Field> fields_;
  std::vector<std::string_view> integers_;  // the row's own fields, behind the records'
  std::vector<uint64_t> starts_;
  source::Remarks remarks_;
  std::string fingerprint_;
};

// Whether the field's bytes must be taken out of others: then no range of a file is a part of them.
bool is_packed(const Listing& records, FieldId field) {
  for (uint64_t record = 0; record < records.size(); ++record)
    if (!records.lacks(record, field)) return records.locate(record, field).packing != nullptr;
  return false;
}

Measure measure_of(const config::PipelineSpec& spec) {
  if (cuts_bytes(spec.rows.kind)) return Measure::kBytes;
  if (spec.rows.kind == config::RowKind::kClips) return spec.rows.fps > 0 ? Measure::kDuration : Measure::kFrames;
  return config::tiles_are_upright(spec) ? Measure::kUprightPicture : Measure::kPicture;
}

}  // namespace

std::unique_ptr<Listing> list_rows(const config::RowsSpec& spec, std::unique_ptr<Listing> records, FieldId field,
                                   std::shared_ptr<const LengthIndex> lengths) {
  return std::make_unique<RowListing>(spec, std::move(records), field, std::move(lengths));
}

std::unique_ptr<Listing> list_rows(const config::PipelineSpec& spec, const config::SourceSpec& source,
                                   std::unique_ptr<Listing> records, const source::Progress& progress,
                                   const std::stop_token& stop, const std::filesystem::path& kept, IndexUse* use) {
  FieldId field = 0;
  const source::Field* const found = records->find_field(spec.rows.from, &field);
  const std::string where = source.name.empty() ? "rows.from" : "source '" + source.name + "': rows.from";
  if (found == nullptr || found->kind != source::FieldKind::kFetched)
    throw SetupError(Trouble::kUsage, where + ": the records have no field '" + spec.rows.from + "' with bytes");
  if (cuts_bytes(spec.rows.kind) && is_packed(*records, field))
    throw SetupError(Trouble::kUsage, where + ": the bytes of '" + spec.rows.from +
                                          "' are a part of a table's row, which can't be cut: name a field of files.");
  std::shared_ptr<const LengthIndex> lengths =
      make_length_index(*records, field, measure_of(spec), progress, stop, kept, use);
  source::check_missing(source, lengths->remarks().missing());
  auto rows = list_rows(spec.rows, std::move(records), field, lengths);
  if (rows->size() == 0) {
    const auto remarks = rows->remarks();
    throw SetupError(Trouble::kContent, where + ": no record gives a row: all are too short, or can't be measured" +
                                            (remarks.empty() ? "." : "; the first remark: " + remarks.front()));
  }
  return rows;
}

}  // namespace spdld::rows
