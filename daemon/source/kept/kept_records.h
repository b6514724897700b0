// The indexes of files in a kept listing: one record for each file, with its path, its state and its index as bytes.
// Constant after construction: any thread reads it. Borrows the payload.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/source/kept/kept_file.h"
#include "daemon/source/listing.h"
#include "daemon/source/remarks.h"

namespace spdld::source {

class KeptRecords {
 public:
  // Bytes that are no record end the records; the records before them are used.
  explicit KeptRecords(std::string_view payload);

  size_t size() const { return files_.size(); }
  // The record of a file whose state is the same as when it was kept; empty: there is no such record.
  std::string_view find(const std::string& path, const KeptState& state) const;

  static std::string record_of(const std::string& path, const KeptState& state, std::string_view index);
  // The parts of a record.
  struct Content {
    KeptState state;
    std::string_view index;
  };
  static Content parts_of(std::string_view record);

 private:
  struct Kept {
    KeptState state;
    std::string_view record;
  };
  std::unordered_map<std::string_view, Kept> files_;  // by path
};

// Writes the records that the next listing can take, if they are other records than this listing took. `has_new`: some
// record is of a file or folder that was read. `kept_before`: how many records there were. Precondition: `use` counts
// what was taken.
void keep_records(KeptFile& file, const std::vector<std::string_view>& records, bool has_new, size_t kept_before,
                  KeptUse& use);

// Keeps what a listing has of each file, as keep_records() does, and counts it in `use`: `taken` (its record, where it
// is as it was kept), else `record` (a new one; empty: it may not be kept).
template <typename Indexed>
void keep_indexed(KeptFile& file, const std::vector<Indexed>& all, size_t kept_before, KeptUse& use) {
  std::vector<std::string_view> records;
  bool has_new = false;
  for (const Indexed& one : all) {
    ++(one.taken.empty() ? use.read : use.taken);
    has_new = has_new || !one.record.empty();
    records.push_back(one.taken.empty() ? one.record : one.taken);
  }
  keep_records(file, records, has_new, kept_before, use);
}

// Sentences as they are kept beside an index.
void write_remarks(KeptWriter& writer, const Remarks& remarks);
bool read_remarks(KeptReader& reader, Remarks& remarks);  // false: they are damaged

}  // namespace spdld::source
