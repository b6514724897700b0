// Files of rows that all have the same bytes: the rows of .npy files (numpy.lib.format), and raw records. Their places
// are counted, not held.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "config/catalogue.h"
#include "daemon/base/npy.h"
#include "daemon/base/result.h"
#include "daemon/source/fingerprint.h"
#include "daemon/source/listings.h"
#include "daemon/source/parts.h"
#include "daemon/source/tables/block_reader.h"
#include "daemon/source/tables/table_listing.h"
#include "daemon/source/trouble.h"

namespace spdld::source {
namespace {

constexpr FileKind kNpyFiles = {
    .noun = "array", .nouns = ".npy files", .ending = ".npy", .advice = "", .meant = "a .npy file"};
constexpr FileKind kRecordFiles = {
    .noun = "file", .nouns = "files of records", .ending = "", .advice = "", .meant = "a file of records"};

// The rows of one file.
struct RowsOfFile {
  uint64_t rows = 0, file_bytes = 0;
  uint64_t first_byte = 0;  // of the first row
  uint64_t row_bytes = 0;
  config::RawValues values = {};  // of a row
  Remarks remarks = {};
};

class FixedRows final : public TableListing {
 public:
  FixedRows(FoundArchives found, std::vector<RowsOfFile> files, std::string_view type, std::string_view field)
      : TableListing(std::move(found.paths), std::move(found.stamps)), files_(std::move(files)) {
    const RowsOfFile& first = files_.front();
    fields_ = {{std::string(field), FieldKind::kFetched, first.values},
               {std::string(config::kTableNameField), FieldKind::kText}};
    Fingerprint fingerprint;
    fingerprint.add_text(type);
    fingerprint.add_number(first.row_bytes);
    fingerprint.add_number(first.values.dtype ? uint64_t{static_cast<uint8_t>(*first.values.dtype)} : UINT64_MAX);
    for (const int64_t size : *first.values.shape) fingerprint.add_number(static_cast<uint64_t>(size));
    for (size_t i = 0; i < files_.size(); ++i) {
      add_file(files_[i].rows);
      remarks_.add_all(files_[i].remarks);
      files_[i].remarks = {};
      fingerprint.add_text(file_name(i));
      fingerprint.add_number(files_[i].rows);
      fingerprint.add_number(files_[i].first_byte);
    }
    fingerprint_ = fingerprint.digits();
  }

  Locator locate(uint64_t sample, FieldId field) const override {
    if (field != 0) return {};
    const size_t number = file_of(sample);
    const RowsOfFile& file = files_[number];
    return {.path = file_path(number),
            .offset = file.first_byte + (sample - first_of(number)) * file.row_bytes,
            .length = static_cast<int64_t>(file.row_bytes),
            .object_bytes = file.file_bytes};
  }
  bool lacks(uint64_t, FieldId) const override { return false; }
  uint64_t memory_bytes() const override { return files_.capacity() * sizeof(RowsOfFile); }

 private:
  std::vector<RowsOfFile> files_;
};

std::string base_name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Up to `bytes` from the start of the file.
std::vector<uint8_t> read_start(int fd, const std::string& path, size_t bytes) {
  std::vector<uint8_t> start(bytes);
  size_t got = 0;
  while (got < bytes) {
    const ssize_t n = ::pread(fd, start.data() + got, bytes - got, static_cast<off_t>(got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw SetupError(setup_trouble(errno), path + " can't be read: " + error_words(errno) + ".");
    if (n == 0) break;
    got += static_cast<size_t>(n);
  }
  start.resize(got);
  return start;
}

[[noreturn]] void refuse_npy(const std::string& path, const std::string& clause) {
  throw SetupError(Trouble::kUsage, path + ": " + clause + ".");
}

RowsOfFile look_at_npy(int fd, const std::string& path, uint64_t file_bytes) {
  const Result<array::NpyStart> start = array::read_npy_start(read_start(fd, path, array::kNpyStartBytesMax));
  if (!start) refuse_npy(path, start.error().message);
  const array::Npy& npy = start->npy;
  if (npy.shape.empty()) refuse_npy(path, "it is a single number, which has no rows");
  if (npy.is_fortran && npy.shape.size() > 1)
    refuse_npy(path, "it is in Fortran's order; save numpy.ascontiguousarray of it");
  if (npy.is_big_endian && config::dtype_bytes(npy.dtype) > 1)
    refuse_npy(path, "its values are big-endian; save it as little-endian, with a.astype(a.dtype.newbyteorder('<'))");
  const auto wanted = array::data_bytes(npy);
  if (!wanted) refuse_npy(path, "its shape " + array::shape_text(npy.shape) + " is too large");
  RowsOfFile file{.rows = npy.shape.front(), .file_bytes = file_bytes, .first_byte = start->data_place};
  file.values = {npy.dtype, std::vector<int64_t>()};
  file.row_bytes = config::dtype_bytes(npy.dtype);
  for (size_t i = 1; i < npy.shape.size(); ++i) {
    file.values.shape->push_back(static_cast<int64_t>(npy.shape[i]));
    if (npy.shape[i] == 0) refuse_npy(path, "its rows have no values");
    // Below 2^64: with rows this is a part of `wanted`, and a row over the limit is refused.
    if (__builtin_mul_overflow(file.row_bytes, npy.shape[i], &file.row_bytes) || file.row_bytes > INT32_MAX)
      refuse_npy(path, "a row of it has more than 2 GiB");
  }
  const uint64_t has = file_bytes - std::min(file_bytes, file.first_byte);
  if (has < *wanted) {
    file.rows = has / file.row_bytes;
    file.remarks.add_missing(base_name_of(path) + " is cut: it has " + std::to_string(file.rows) + " of its " +
                             std::to_string(npy.shape.front()) + " rows.");
  } else if (has > *wanted) {
    refuse_npy(path, "it has " + std::to_string(has - *wanted) + " bytes behind its array");
  }
  return file;
}

RowsOfFile count_records(const std::string& path, uint64_t file_bytes, uint64_t header_bytes, uint64_t record_bytes) {
  const uint64_t behind = file_bytes - std::min(file_bytes, header_bytes), rest = behind % record_bytes;
  RowsOfFile file{behind / record_bytes, file_bytes, header_bytes, record_bytes};
  file.values.shape = {static_cast<int64_t>(record_bytes)};
  if (file_bytes < header_bytes)
    file.remarks.add_missing(base_name_of(path) + " has " + std::to_string(file_bytes) +
                             " bytes, fewer than its header.");
  if (rest != 0)
    file.remarks.add_missing(base_name_of(path) + ": its last " + std::to_string(rest) +
                             " bytes are a part of a record: it was cut, or its records have other sizes.");
  return file;
}

// Opens every file for look(fd, path, the file's bytes), on a few threads.
template <typename Look>
std::vector<RowsOfFile> look_at_files(const FoundArchives& found, const FileKind& kind, const TableOpening& opening,
                                      const Look& look) {
  std::vector<RowsOfFile> files(found.paths.size());
  std::atomic<uint64_t> done{0};
  run_parts(
      found.paths.size(),
      [&](uint64_t i) {
        check_stop(opening.stop);
        struct stat status;
        const UniqueFd fd = open_table_file(found.paths[i], opening.bounds, kind, status);
        files[i] = look(fd.get(), found.paths[i], static_cast<uint64_t>(status.st_size));
        ++done;
      },
      {"files", done, found.paths.size()}, opening.progress, opening.stop);
  opening.use.read = files.size();
  const bool is_empty = std::all_of(files.begin(), files.end(), [](const RowsOfFile& file) { return file.rows == 0; });
  if (is_empty)
    throw SetupError(Trouble::kUsage, config::uris_text(opening.spec) + " has no row" +
                                          (files.front().remarks.all().first.empty()
                                               ? "."
                                               : " (" + files.front().remarks.all().first.front() + ")."));
  return files;
}

}  // namespace

std::unique_ptr<Listing> open_npy(const TableOpening& opening) {
  FoundArchives found = find_archives(opening.uris, opening.stop, opening.bounds, kNpyFiles);
  std::vector<RowsOfFile> files = look_at_files(found, kNpyFiles, opening, look_at_npy);
  for (size_t i = 1; i < files.size(); ++i)
    if (files[i].values != files.front().values)
      refuse_npy(found.paths[i], "its rows have another dtype or shape than the rows of " + found.paths.front());
  return std::make_unique<FixedRows>(std::move(found), std::move(files), "npy", "array");
}

std::unique_ptr<Listing> open_records(const TableOpening& opening) {
  const auto record_bytes = static_cast<uint64_t>(std::max<int64_t>(opening.integer("record_bytes", 1), 1));
  const auto header_bytes = static_cast<uint64_t>(std::max<int64_t>(opening.integer("header_bytes", 0), 0));
  FoundArchives found = find_archives(opening.uris, opening.stop, opening.bounds, kRecordFiles);
  std::vector<RowsOfFile> files =
      look_at_files(found, kRecordFiles, opening, [&](int, const std::string& path, uint64_t file_bytes) {
        return count_records(path, file_bytes, header_bytes, record_bytes);
      });
  return std::make_unique<FixedRows>(std::move(found), std::move(files), "records", "record");
}

}  // namespace spdld::source
