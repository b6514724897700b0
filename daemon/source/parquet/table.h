// The shape of a data set of Parquet files: their columns, their row groups, and where each column of a group lies.
// Plain values, without Arrow; constant once they are made. https://parquet.apache.org/docs/file-format/
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/text/dtype.h"
#include "daemon/source/files/data_files.h"
#include "daemon/source/tables/columns.h"

namespace spdld::source::parquet {

// The bytes of a field are one of these.
enum class Conversion : uint8_t {
  kBytes,    // a text or a binary value, as it is
  kNumbers,  // numbers whose lowest bytes are taken as they are, of `dtype`
  kBool,     // a byte that is 0 or 1
  kDecimal,  // a float64
  kInt96,    // a time as Impala writes it: an int64, in ns since 1970
  kBase64,   // a list of binary values, which is a list of texts in base64
};
inline constexpr uint8_t kConversions = 6;

// A leaf of the schema. A list's values follow one another, and lists in lists are flattened. A list of texts is a text
// in JSON: ["a","b"]; so is a list of binary values, in base64.
struct Column {
  std::string name;         // a.b for the leaf b of the struct a; lists add nothing
  uint8_t physical = 0;     // as parquet::Type::type
  int32_t type_length = 0;  // of fixed-length bytes
  int16_t definition = 0;   // the definition level of a value
  int16_t repetition = 0;   // the highest repetition level; 0: it is no list
  int16_t in_list = 0;      // the definition level from which on the outermost list has an entry
  int16_t in_inner = 0;     // the same for the innermost list
  Conversion conversion = Conversion::kBytes;
  config::DType dtype = config::DType::kUint8;          // of numbers
  int32_t scale = 0;                                    // of decimals
  std::optional<std::vector<int64_t>> list_shape = {};  // of lists whose sizes the schema fixes
  friend bool operator==(const Column&, const Column&) = default;

  bool is_list() const { return repetition > 0; }
  bool is_numeric() const { return conversion != Conversion::kBytes && conversion != Conversion::kBase64; }
  bool is_nullable() const { return definition > repetition; }
  size_t width() const { return is_numeric() ? config::dtype_bytes(dtype) : 0; }  // of a value; 0: they differ
};

// A column of a row group, in its file.
struct Chunk {
  uint64_t offset = 0, bytes = 0;
  uint64_t unpacked_bytes = 0;                   // as its writer says
  uint64_t values = 0;                           // nulls are among them
  uint8_t codec = 0;                             // as parquet's Compression::type
  bool is_absent() const { return bytes == 0; }  // the file lacks the column
  friend bool operator==(const Chunk&, const Chunk&) = default;
};

// A column whose numbers are classes, as the file's writer says.
struct ClassLabels {
  std::string column;
  std::vector<std::string> names;
  friend bool operator==(const ClassLabels&, const ClassLabels&) = default;
};

// The footer of one file.
struct Footer {
  std::vector<Column> columns;
  std::vector<uint64_t> group_rows;
  std::vector<Chunk> chunks;          // of the first group in the columns' order, then of the next group
  std::vector<std::string> left_out;  // leaves that have no form here, with the reason
  // Of a file that was read with a condition (condition_rows.h).
  RowSet untaken = {};                 // rows that the condition does not take, by their numbers in the file
  uint64_t groups_spared = 0;          // that the condition took or left as their statistics say, unread
  std::vector<std::string> lost = {};  // row groups whose rows the condition can't judge, with the reason
  TextColumn groups = {};              // of each row (group_column.h); empty: they are not wanted
  std::string features;                // as the writer describes them in JSON, until `classes` are made of them
  std::vector<ClassLabels> classes;
  friend bool operator==(const Footer&, const Footer&) = default;
};
inline constexpr uint64_t kFooterBytesMax = 64 << 20;
inline constexpr size_t kColumnsMax = 1 << 14, kGroupsMax = 1 << 20;

struct Group {
  uint32_t file = 0, number = 0;  // `number`: in the file
  uint64_t first_row = 0, rows = 0;
};

struct ParquetTable {
  std::vector<Column> columns;
  std::vector<DataFile> files;
  std::vector<Group> groups;
  std::vector<Chunk> chunks;  // as Footer has them, for all groups
  uint64_t rows = 0;

  const Chunk& chunk(size_t group, size_t column) const { return chunks[group * columns.size() + column]; }
  // Of a row below `rows`.
  size_t group_of(uint64_t row) const;
  // For sentences: "/data/a.parquet, row 17, column text".
  std::string place_of(uint64_t row, size_t column) const;
};

}  // namespace spdld::source::parquet
