// The common part of all listings of tables: files that follow one another, each with its rows, and names made of the
// file and the row. Constant after construction; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/source/archives/archive_streams.h"
#include "daemon/source/files/data_files.h"
#include "daemon/source/fingerprint.h"
#include "daemon/source/listing.h"
#include "daemon/source/tables/table_index.h"

namespace spdld::source {

class TableListing : public Listing {
 public:
  uint64_t size() const override { return size_; }
  std::span<const Field> fields() const override { return fields_; }
  int64_t integer(uint64_t, FieldId) const override { return 0; }
  std::string name(uint64_t sample) const override {
    const size_t file = file_of(sample);
    return std::string(file_name(file)).append(1, ':').append(std::to_string(sample - firsts_[file]));
  }
  const std::string& fingerprint() const override { return fingerprint_; }
  std::span<const std::string> classes() const override { return {}; }
  const Remarks& said() const override { return remarks_; }
  bool unchanged() const override { return files_.is_unchanged(); }
  unsigned store_concurrency() const override { return store_concurrency_; }
  std::span<const uint64_t> archive_starts() const override { return firsts_; }
  bool is_untaken(uint64_t sample) const override {
    if (untaken_count_ == 0) return false;
    const size_t file = file_of(sample);
    return untaken_[file].has(sample - firsts_[file]);
  }
  uint64_t untaken_count() const override { return untaken_count_; }
  const Streaming* streaming() const override { return is_streaming_ ? &streaming_ : nullptr; }
  void expect(uint64_t sample, uint64_t place, uint64_t horizon) const override;

 protected:
  // The files with their bytes as they were indexed.
  explicit TableListing(DataFiles files);

  // Adds the next file's rows.
  void add_file(uint64_t rows) {
    firsts_.push_back(size_);
    size_ += rows;
  }
  // Adds the next file's rows, of a file that was indexed, with its remarks and its part of the listing's fingerprint.
  void add_file(const TableIndex& index, Fingerprint& fingerprint);
  // Leaves rows of the next file out, which the source's condition does not take.
  void add_untaken(RowSet rows) {
    untaken_count_ += rows.count();
    untaken_.push_back(std::move(rows));
  }
  // Leaves a row of a file that was added out, which is taken so far.
  void leave_out(size_t file, uint64_t row) {
    untaken_[file].add(row);
    ++untaken_count_;
  }
  // To be called once, behind all files: says how many rows the condition takes. `more` stands behind the sentence.
  // Throws SetupError where it takes none. `what`: the source, for the sentence.
  void tell_untaken(const std::string& condition, const std::string& what, const std::string& more = {});
  uint64_t untaken_bytes() const;
  // The name of a row of this file whose key is `key`.
  std::string name_of(size_t number, std::string_view key) const;
  size_t file_of(uint64_t sample) const;
  const DataFile& file(size_t number) const { return files_.files[number]; }
  size_t file_count() const { return files_.files.size(); }
  std::string_view file_name(size_t number) const { return std::string_view(file(number).name).substr(common_); }
  // Bytes of a file, which must have as many bytes as when it was indexed; of what it holds, where it is compressed.
  Locator place_in(size_t number, uint64_t offset, uint64_t bytes) const;
  // Compressed files are read as streams. After the last add_file(). `is_needed`: an output asks for bytes of rows, so
  // that an order must go forward.
  void open_streams(const ArchiveAccess& access, bool is_needed = true);
  // Where a row lies in its file, or in what the file holds; only asked where a file is compressed.
  virtual RowPlaces::Place row_of(size_t /*number*/, uint64_t /*row*/) const { return {0, 0}; }
  uint64_t first_of(size_t file) const { return firsts_[file]; }

  std::vector<Field> fields_;
  std::string fingerprint_;
  Remarks remarks_;
  unsigned store_concurrency_;

 private:
  struct PackedFile {
    size_t number;
    uint64_t bytes;  // of the content, up to its last row's end
    Compression compression;
    uint64_t unpacker_bytes;
  };

  const DataFiles files_;
  const size_t common_;           // so much of each file's name is left out in names
  std::vector<uint64_t> firsts_;  // the first sample of each file
  uint64_t size_ = 0;
  std::vector<RowSet> untaken_;  // of each file
  uint64_t untaken_count_ = 0;
  std::vector<PackedFile> packed_;
  ArchiveStreams streams_;
  Streaming streaming_;
  bool is_streaming_ = false;
};

}  // namespace spdld::source
