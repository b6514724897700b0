#include "daemon/rows/length_index.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

#include "daemon/media/measure.h"
#include "daemon/rows/record_measurer.h"
#include "daemon/source/fingerprint.h"
#include "daemon/source/kept/kept_file.h"
#include "daemon/source/parts.h"

namespace spdld::rows {
namespace {

constexpr uint64_t kRecordsPerPart = 256;

// A record's length, and the state of its file then.
struct Known {
  uint64_t length = 0, stamp = 0;  // 0: nothing is known
};

std::string key_of(const source::Listing& listing, source::FieldId field, Measure measure) {
  KeptWriter key;
  key.text("length-index");
  key.number(media::kMeasureVersion);
  key.number(static_cast<uint64_t>(measure));
  key.text(listing.fields()[field].name);
  key.text(listing.fingerprint());
  // Copies of a data set have one fingerprint: the first file's path tells them apart.
  const store::Locator first = listing.size() ? listing.locate(0, field) : store::Locator();
  key.text(std::string(first.folder).append(first.path));
  return key.take();
}

// All records' lengths and stamps; empty: the payload is not usable.
std::vector<Known> kept_of(std::string_view payload, uint64_t records) {
  KeptReader reader(payload);
  if (payload.empty() || reader.number() != records || records > payload.size()) return {};
  std::vector<Known> kept(records);
  for (Known& known : kept) known = {reader.number(), reader.number()};
  if (!reader.ok() || !reader.rest().empty()) return {};
  return kept;
}

std::string payload_of(const std::vector<Known>& all) {
  KeptWriter writer;
  writer.number(all.size());
  for (const Known& known : all) {
    writer.number(known.length);
    writer.number(known.stamp);
  }
  return writer.take();
}

// Measures all records, in parts.
class Making {
 public:
  Making(const source::Listing& listing, source::FieldId field, Measure measure, std::vector<Known> kept)
      : listing_(listing), field_(field), measure_(measure), kept_(std::move(kept)), all_(listing.size()) {
    remarks_.resize((all_.size() + kRecordsPerPart - 1) / kRecordsPerPart);
  }

  void run(const source::Progress& progress, const std::stop_token& stop) {
    const auto part = [&](uint64_t number) { measure_part(number, stop); };
    source::run_parts(remarks_.size(), part, {"records measured", done_, all_.size()}, progress, stop);
  }
  bool is_as_kept() const { return taken_ == all_.size() && !all_.empty(); }
  uint64_t taken() const { return taken_; }
  const std::vector<Known>& all() const { return all_; }
  source::Remarks remarks() const {
    source::Remarks all;
    for (const source::Remarks& of_part : remarks_) all.add_all(of_part);
    return all;
  }

 private:
  void measure_part(uint64_t number, const std::stop_token& stop) {
    RecordMeasurer measurer(listing_, field_, measure_);
    const uint64_t first = number * kRecordsPerPart, end = std::min<uint64_t>(first + kRecordsPerPart, all_.size());
    for (uint64_t record = first; record < end; record++) {
      source::check_stop(stop);
      all_[record] = known_of(record, measurer, remarks_[number]);
      ++done_;
    }
  }

  Known known_of(uint64_t record, RecordMeasurer& measurer, source::Remarks& remarks) {
    const bool may_be_kept = measure_ != Measure::kBytes;
    const uint64_t stamp = may_be_kept ? measurer.stamp(record) : 0;
    if (stamp != 0 && !kept_.empty() && kept_[record].stamp == stamp && kept_[record].length != 0) {
      ++taken_;
      return kept_[record];
    }
    const Result<uint64_t> length = measurer.length(record);
    if (length) return {*length, stamp};
    const Error& error = length.error();
    const bool is_lacking = error.trouble == Trouble::kNotFound;
    const bool is_bad = error.trouble == Trouble::kContent || error.trouble == Trouble::kUnsupported;
    if (!is_lacking && !is_bad) throw SetupError(error.trouble, "the lengths of records: " + error.message);
    if (is_lacking)
      remarks.add_missing(error.message);
    else
      remarks.add("the sample " + listing_.name(record) + " gives no rows: " + error.message);
    return {};
  }

  const source::Listing& listing_;
  const source::FieldId field_;
  const Measure measure_;
  const std::vector<Known> kept_;
  std::vector<Known> all_;                // each written by its part
  std::vector<source::Remarks> remarks_;  // by part
  std::atomic<uint64_t> done_{0}, taken_{0};
};

}  // namespace

LengthIndex::LengthIndex(Measure measure, std::vector<uint64_t> lengths, source::Remarks remarks)
    : measure_(measure), lengths_(std::move(lengths)), remarks_(std::move(remarks)) {
  source::Fingerprint fingerprint;
  fingerprint.add_text("lengths");
  fingerprint.add_number(static_cast<uint64_t>(measure_));
  fingerprint.add_number(lengths_.size());
  for (const uint64_t length : lengths_) fingerprint.add_number(length);
  fingerprint_ = fingerprint.digits();
}

std::unique_ptr<const LengthIndex> make_length_index(const source::Listing& listing, source::FieldId field,
                                                     Measure measure, const source::Progress& progress,
                                                     const std::stop_token& stop, const std::filesystem::path& kept,
                                                     IndexUse* use) {
  // Bytes cost a stat at the most, which looking for a change would cost too.
  const bool may_be_kept = measure != Measure::kBytes;
  source::KeptFile file(may_be_kept ? kept : std::filesystem::path(), key_of(listing, field, measure));
  Making making(listing, field, measure, kept_of(file.read(), listing.size()));
  making.run(progress, stop);
  IndexUse used{making.taken(), listing.size() - making.taken(), {}};
  if (making.is_as_kept())
    file.touch();
  else
    used.trouble = file.write({payload_of(making.all())});
  std::vector<uint64_t> lengths;
  lengths.reserve(listing.size());
  for (const Known& known : making.all()) lengths.push_back(known.length);
  if (use) *use = std::move(used);
  return std::make_unique<LengthIndex>(measure, std::move(lengths), making.remarks());
}

}  // namespace spdld::rows
