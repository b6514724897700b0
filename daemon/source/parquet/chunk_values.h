// The values of a column in one row group, for a listing: read and decoded at once. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/base/result.h"
#include "daemon/source/parquet/column_values.h"
#include "daemon/source/parquet/table.h"
#include "daemon/store/view.h"

namespace spdld::source::parquet {

inline constexpr uint64_t kJudgedRowsMax = uint64_t{1} << 30;  // of a file whose rows are looked at one by one

struct ChunkPlace {
  const std::string& name;  // of the file, for sentences
  const Footer& footer;
  size_t group, column;  // by their numbers in the footer
  uint64_t bytes_max;    // of the chunk, and of its values
};
// A null stays one. An error is the end of a sentence that begins with the place. Throws SetupError where the file
// can't be read.
Result<ColumnValues> chunk_values(store::View& view, const ChunkPlace& place);

// Throws SetupError where the file has more than kJudgedRowsMax rows, since a damaged file may claim any number of
// them. `key`: what wants to look at the rows.
void check_rows(const Footer& footer, const std::string& name, std::string_view key);

}  // namespace spdld::source::parquet
