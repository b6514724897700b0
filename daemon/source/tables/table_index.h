// The index of one file of a table, made by reading the file once: where its rows lie, and the columns that a listing
// holds in memory. A value; one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/source/archive_search.h"
#include "daemon/source/listing.h"
#include "daemon/source/remarks.h"
#include "daemon/source/tables/columns.h"

namespace spdld::source {

inline constexpr size_t kTableColumnsMax = 1024;
inline constexpr uint64_t kTableRowBytesMax = uint64_t{1} << 30;  // as a fetcher's largest field

struct TableIndex {
  std::vector<std::string> columns;  // in the file's order, or in the order of their first appearance
  std::vector<uint8_t> kinds;        // of the columns, where the format has kinds; else empty
  std::vector<uint64_t> offsets;     // of each row, in the file
  std::vector<uint32_t> lengths;     // of each row; bytes
  std::vector<RowSet> absent;        // by column: rows without a value
  std::vector<TextColumn> texts;     // columns that are held, in the order in which they were asked for
  std::vector<std::string> classes;  // distinct texts, in the order of their first appearance
  std::vector<uint32_t> class_of;    // of each row; a place in `classes`
  std::string content;               // 32 hexadecimal digits of what the rows hold, or of how they lie
  Remarks remarks;

  void add_row(uint64_t offset, uint64_t length) {
    offsets.push_back(offset);
    lengths.push_back(static_cast<uint32_t>(length));
  }
  uint64_t rows() const { return offsets.size(); }
  void fit();  // gives back the memory that no further row will use
};

std::string kept_bytes_of(const TableIndex& index);
// None: the bytes are damaged, or rows lie beyond the file's bytes.
std::optional<TableIndex> index_in(std::string_view bytes, uint64_t file_bytes);

// Finds the files that a table's uris stand for, and indexes each: from the kept listing where it is unchanged, else by
// `read`, which may run on several threads at once.
struct TableFiles {
  FoundArchives found;
  std::vector<TableIndex> indexes;   // of found.paths
  std::vector<uint64_t> file_bytes;  // of the files as they were indexed
};
struct TableSource {
  const std::vector<std::string>& uris;  // paths as archive_search.h takes them
  FileKind kind;
  std::string key;        // the type and all parameters that an index depends on
  std::string_view what;  // as in Progress
  std::function<TableIndex(int fd, const std::string& path, std::atomic<uint64_t>& done)> read;
};
TableFiles index_files(const TableSource& source, const Progress& progress, const std::stop_token& stop,
                       const std::filesystem::path& kept, KeptUse& use, const Bounds* bounds);

}  // namespace spdld::source
