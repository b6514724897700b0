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

#include "daemon/source/files/content_read.h"
#include "daemon/source/files/data_files.h"
#include "daemon/source/remarks.h"
#include "daemon/source/tables/columns.h"
#include "daemon/source/tables/row_places.h"

namespace spdld::source {

inline constexpr size_t kTableColumnsMax = 1024;
inline constexpr uint64_t kTableRowBytesMax = uint64_t{1} << 30;  // as a fetcher's largest field

struct TableIndex {
  Compression compression = Compression::kNone;  // of the whole file: rows lie in what it holds
  uint64_t unpacker_bytes = 0;
  std::vector<std::string> columns;  // in the file's order, or in the order of their first appearance
  std::vector<uint8_t> kinds;        // of the columns, where the format has kinds; else empty
  RowPlaces places;                  // of each row, in the file
  std::vector<RowSet> absent;        // by column: rows without a value
  std::vector<TextColumn> texts;     // columns that are held, in the order in which they were asked for
  std::vector<std::string> classes;  // their names, in the order of their numbers here
  std::vector<uint32_t> class_of;    // of each row; a place in `classes`; empty: rows have no class of their own
  RowSet untaken;                    // rows that the source's condition does not take
  std::vector<double> weights;       // of each row, where a column of weights is wanted; kNoWeight: it has none
  std::string content;               // 32 hexadecimal digits of what the rows hold, or of how they lie
  Remarks remarks;

  void add_row(uint64_t offset, uint64_t length) { places.add(offset, static_cast<uint32_t>(length)); }
  uint64_t rows() const { return places.size(); }
  void fit();                     // gives back the memory that no further row will use
  uint64_t memory_bytes() const;  // of what grows with the rows
};

std::string kept_bytes_of(const TableIndex& index);
// None: the bytes are damaged, or rows lie beyond the file's bytes.
std::optional<TableIndex> index_in(std::string_view bytes, uint64_t file_bytes);

// How the files of a table are indexed by `read`.
IndexWay<TableIndex> table_way(decltype(IndexWay<TableIndex>::read) read);
// How files of a table are indexed that may be compressed as a whole: `read` is called with what a file holds. Where
// the file's compressed bytes are damaged, the rows up to the damage stay, and a remark says that the others are lost.
// Borrows `stop`.
IndexWay<TableIndex> packed_table_way(decltype(IndexWay<TableIndex>::read) read, const std::stop_token& stop);

}  // namespace spdld::source
