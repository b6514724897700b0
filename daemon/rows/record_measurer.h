// Measures one record after another. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "daemon/base/byte_buffer.h"
#include "daemon/base/result.h"
#include "daemon/media/workspace.h"
#include "daemon/rows/length_index.h"
#include "daemon/source/kept/kept_file.h"
#include "daemon/source/listing.h"
#include "daemon/store/view.h"
#include "proto/unique_fd.h"

namespace spdld::rows {

class RecordMeasurer {
 public:
  // Borrows the listing.
  RecordMeasurer(const source::Listing& listing, source::FieldId field, Measure measure)
      : listing_(listing), field_(field), measure_(measure) {}

  // A hash of the state of the record's file now, or of its object as it was listed; never 0. 0: it can't be told, or
  // the file has changed so lately that a later change would not show.
  uint64_t stamp(uint64_t record);
  // The length as LengthIndex takes it. kContent, kUnsupported: the record has none that counts; kMissing
  // (Trouble::kNotFound): it lacks the field. kTransient: its file changes, or is another one than was listed. Other
  // trouble may pass.
  Result<uint64_t> length(uint64_t record);

 private:
  Result<uint64_t> bytes_of(const store::Locator& locator);
  Result<uint64_t> measured_of(const store::Locator& locator);
  Result<uint64_t> packed_length(const store::Locator& locator);
  Result<uint64_t> length_in(std::span<const uint8_t> content);
  Result<uint64_t> sides_in(std::span<const uint8_t> picture);
  Result<uint64_t> duration_in(std::span<const uint8_t> video);  // or its frames
  bool is_of_videos() const { return measure_ == Measure::kFrames || measure_ == Measure::kDuration; }
  Status open(const store::Locator& locator);
  Status check_open() const;
  Status read(uint64_t offset, uint64_t count);
  Result<store::Identity> identity_of(const store::Locator& locator) const;
  Error failed(const char* doing, int error_number) const;

  const source::Listing& listing_;
  const source::FieldId field_;
  const Measure measure_;
  std::string path_;          // of the record's file
  std::string stamped_path_;  // of the file that `stamp_` is of: many records may lie in one file
  uint64_t stamp_ = 0;
  std::string open_path_;
  const store::Store* open_store_ = nullptr;
  UniqueFd fd_;  // of a local file, with its state before it was read
  source::KeptState state_;
  std::unique_ptr<store::View> view_;  // of the file or object `open_path_`; null: none is open
  ByteBuffer bytes_;
  ByteBuffer value_;  // that was packed in bytes_
  media::Workspace workspace_;
};

}  // namespace spdld::rows
