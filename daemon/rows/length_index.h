// The length of one field of every record of a listing (a record is a sample as the source holds it): its bytes, its
// picture's height and width, or its video's frames or duration. The number of rows that a record gives depends on it,
// and the cost of a row may. It is made once, on the thread that lists, and is constant afterwards; any thread reads it
// without a lock. 8 bytes a record.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "daemon/source/listing.h"
#include "daemon/source/remarks.h"

namespace spdld::rows {

enum class Measure : uint8_t {
  kBytes,           // of the field
  kPicture,         // height and width as stored
  kUprightPicture,  // height and width as the picture's EXIF orientation turns it
  kFrames,          // of a video
  kDuration         // of a video, in nanoseconds
};

class LengthIndex {
 public:
  // `lengths`: by record; as the measure says, and for pictures height << 32 | width; 0: the record could not be
  // measured.
  LengthIndex(Measure measure, std::vector<uint64_t> lengths, source::Remarks remarks = {});

  Measure measure() const { return measure_; }
  bool is_of_pictures() const { return measure_ == Measure::kPicture || measure_ == Measure::kUprightPicture; }
  uint64_t size() const { return lengths_.size(); }  // records
  // Bytes, frames, nanoseconds, or pixels (height * width); 0: the record lacks the field, or could not be measured.
  uint64_t operator[](uint64_t record) const {
    return is_of_pictures() ? height(record) * width(record) : lengths_[record];
  }
  // Of pictures: pixels; 0: the record could not be measured.
  uint64_t height(uint64_t record) const { return lengths_[record] >> 32; }
  uint64_t width(uint64_t record) const { return lengths_[record] & 0xffff'ffff; }

  // 32 hexadecimal digits: of the measure and all lengths.
  const std::string& fingerprint() const { return fingerprint_; }
  uint64_t memory_bytes() const { return lengths_.capacity() * sizeof(uint64_t); }
  // On records that lack the field (these are `missing`), or that could not be measured.
  const source::Remarks& remarks() const { return remarks_; }

 private:
  Measure measure_;
  std::vector<uint64_t> lengths_;
  source::Remarks remarks_;
  std::string fingerprint_;
};

// The use that a kept index was.
struct IndexUse {
  uint64_t taken = 0;   // lengths of unchanged records, taken from the kept index
  uint64_t read = 0;    // records that were measured
  std::string trouble;  // why the index could not be kept; empty where it was, or need not be
};

// Measures the field (of kind kFetched) of every record, on a few threads. Bytes come from the listing where it knows
// them, else from a stat; a picture's size comes from its header, which is read from its file. Progress counts "records
// measured". Throws SetupError: `stop` (kStopping), or a file that can't be read for a reason that may pass
// (kTransient), which must not decide how many rows there are.
//
// `kept`: a folder where indexes of pictures outlive the daemon, which may be the folder of kept listings; empty: none.
// A length is taken from there where its file is unchanged by size, inode and times, and the listing is the same. A
// damaged kept index counts as absent.
std::unique_ptr<const LengthIndex> make_length_index(const source::Listing& listing, source::FieldId field,
                                                     Measure measure, const source::Progress& progress,
                                                     const std::stop_token& stop,
                                                     const std::filesystem::path& kept = {}, IndexUse* use = nullptr);

}  // namespace spdld::rows
