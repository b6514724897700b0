// Files of rows that all have the same bytes: the rows of .npy files (numpy.lib.format), and raw records. Their places
// are counted, not held.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "config/catalogue.h"
#include "daemon/base/formats/npy.h"
#include "daemon/base/result.h"
#include "daemon/source/files/data_files.h"
#include "daemon/source/fingerprint.h"
#include "daemon/source/listings.h"
#include "daemon/source/tables/table_listing.h"

namespace spdld::source {
namespace {

constexpr FileKind kNpyFiles = {
    .noun = "array", .nouns = ".npy files", .endings = ".npy", .advice = "", .meant = "a .npy file"};
constexpr FileKind kRecordFiles = {
    .noun = "file", .nouns = "files of records", .endings = "", .advice = "", .meant = "a file of records"};

// The rows of one file.
struct RowsOfFile {
  uint64_t rows = 0;
  uint64_t first_byte = 0;  // of the first row
  uint64_t row_bytes = 0;
  config::RawValues values = {};  // of a row
  Remarks remarks = {};
};

class FixedRows final : public TableListing {
 public:
  FixedRows(DataFiles files, std::vector<RowsOfFile> rows, std::string_view type, std::string_view field)
      : TableListing(std::move(files)), rows_(std::move(rows)) {
    const RowsOfFile& first = rows_.front();
    fields_ = {{std::string(field), FieldKind::kFetched, first.values},
               {std::string(config::kTableNameField), FieldKind::kText}};
    Fingerprint fingerprint;
    fingerprint.add_text(type);
    fingerprint.add_number(first.row_bytes);
    fingerprint.add_number(first.values.dtype ? uint64_t{static_cast<uint8_t>(*first.values.dtype)} : UINT64_MAX);
    for (const int64_t size : *first.values.shape) fingerprint.add_number(static_cast<uint64_t>(size));
    for (size_t i = 0; i < rows_.size(); ++i) {
      add_file(rows_[i].rows);
      remarks_.add_all(rows_[i].remarks);
      rows_[i].remarks = {};
      fingerprint.add_text(file_name(i));
      fingerprint.add_number(rows_[i].rows);
      fingerprint.add_number(rows_[i].first_byte);
    }
    fingerprint_ = fingerprint.digits();
  }

  Locator locate(uint64_t sample, FieldId field) const override {
    if (field != 0) return {};
    const size_t number = file_of(sample);
    const RowsOfFile& rows = rows_[number];
    return place_in(number, rows.first_byte + (sample - first_of(number)) * rows.row_bytes, rows.row_bytes);
  }
  bool may_lack(uint64_t, FieldId) const override { return false; }
  bool lacks(uint64_t, FieldId) const override { return false; }
  uint64_t memory_bytes() const override { return rows_.capacity() * sizeof(RowsOfFile); }

 private:
  std::vector<RowsOfFile> rows_;  // of each file
};

std::string base_name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

[[noreturn]] void refuse_npy(const std::string& path, const std::string& clause) {
  throw SetupError(Trouble::kUsage, path + ": " + clause + ".");
}

// `bytes`: of the file's start.
RowsOfFile look_at_npy(std::string_view bytes, const std::string& path, uint64_t file_bytes) {
  const Result<array::NpyStart> start =
      array::read_npy_start({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  if (!start) refuse_npy(path, start.error().message);
  const array::Npy& npy = start->npy;
  if (npy.shape.empty()) refuse_npy(path, "it is a single number, which has no rows");
  if (npy.is_fortran && npy.shape.size() > 1)
    refuse_npy(path, "it is in Fortran's order; save numpy.ascontiguousarray of it");
  if (npy.is_big_endian && config::dtype_bytes(npy.dtype) > 1)
    refuse_npy(path, "its values are big-endian; save it as little-endian, with a.astype(a.dtype.newbyteorder('<'))");
  const auto wanted = array::data_bytes(npy);
  if (!wanted) refuse_npy(path, "its shape " + array::shape_text(npy.shape) + " is too large");
  RowsOfFile file{.rows = npy.shape.front(), .first_byte = start->data_place};
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
  RowsOfFile file{behind / record_bytes, header_bytes, record_bytes};
  file.values.shape = {static_cast<int64_t>(record_bytes)};
  if (file_bytes < header_bytes)
    file.remarks.add_missing(base_name_of(path) + " has " + std::to_string(file_bytes) +
                             " bytes, fewer than its header.");
  if (rest != 0)
    file.remarks.add_missing(base_name_of(path) + ": its last " + std::to_string(rest) +
                             " bytes are a part of a record: it was cut, or its records have other sizes.");
  return file;
}

void refuse_empty(const std::vector<RowsOfFile>& files, const SourceOpening& opening) {
  if (std::any_of(files.begin(), files.end(), [](const RowsOfFile& file) { return file.rows != 0; })) return;
  const auto& said = files.front().remarks.all().first;
  throw SetupError(Trouble::kUsage,
                   config::uris_text(opening.spec) + " has no row" + (said.empty() ? "." : " (" + said.front() + ")."));
}

// As much of each file's start as its header may have; a header alone is kept.
std::vector<std::string> read_starts(DataFiles& files, const SourceOpening& opening) {
  const auto read = [&](store::View& view, const DataFile&, std::atomic<uint64_t>& done) {
    std::string start(std::min<uint64_t>(view.size(), array::kNpyStartBytesMax), '\0');
    const Result<uint64_t> got = view.read(0, {reinterpret_cast<uint8_t*>(start.data()), start.size()});
    if (!got) throw SetupError(got.error().trouble, got.error().message);
    start.resize(*got);
    done.fetch_add(view.size(), std::memory_order_relaxed);
    return start;
  };
  const auto keep = [](const std::string& start) {
    const auto npy = array::read_npy_start({reinterpret_cast<const uint8_t*>(start.data()), start.size()});
    return npy ? start.substr(0, npy->data_place) : std::string();
  };
  const auto take = [](std::string_view bytes, const DataFile&) {
    return bytes.empty() ? std::nullopt : std::optional(std::string(bytes));
  };
  return index_files<std::string>(files, opening.indexing(kNpyFiles, "npy", "bytes of .npy files"), {read, keep, take});
}

}  // namespace

std::unique_ptr<Listing> open_npy(const SourceOpening& opening) {
  DataFiles files = find_data_files(opening.uris, kNpyFiles, opening.places, opening.stop);
  const std::vector<std::string> starts = read_starts(files, opening);
  std::vector<RowsOfFile> rows;
  for (size_t i = 0; i < starts.size(); ++i) {
    rows.push_back(look_at_npy(starts[i], files.files[i].name, files.files[i].bytes));
    if (rows[i].values != rows.front().values)
      refuse_npy(files.files[i].name,
                 "its rows have another dtype or shape than the rows of " + files.files.front().name);
  }
  refuse_empty(rows, opening);
  return std::make_unique<FixedRows>(std::move(files), std::move(rows), "npy", "array");
}

std::unique_ptr<Listing> open_records(const SourceOpening& opening) {
  const auto record_bytes = static_cast<uint64_t>(std::max<int64_t>(opening.integer("record_bytes", 1), 1));
  const auto header_bytes = static_cast<uint64_t>(std::max<int64_t>(opening.integer("header_bytes", 0), 0));
  DataFiles files = find_data_files(opening.uris, kRecordFiles, opening.places, opening.stop);
  look_at_each(files, kRecordFiles, opening.places.bounds.get(), opening.stop);
  std::vector<RowsOfFile> rows;
  for (const DataFile& file : files.files)
    rows.push_back(count_records(file.name, file.bytes, header_bytes, record_bytes));
  opening.use.read = rows.size();
  refuse_empty(rows, opening);
  return std::make_unique<FixedRows>(std::move(files), std::move(rows), "records", "record");
}

}  // namespace spdld::source
