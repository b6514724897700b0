// All that is done with Arrow C++: footers are read, and columns are decoded. Where the part with Arrow can't be loaded
// (arrow_module.h), both say so. Any thread. The bytes are not trusted.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "config/condition/comparison.h"
#include "daemon/base/result.h"
#include "daemon/source/parquet/column_values.h"
#include "daemon/source/parquet/table.h"
#include "daemon/store/view.h"

namespace spdld::source::parquet {

// Statistics of row groups, of some columns.
struct Statistics {
  std::span<const std::string> columns;      // that are asked for
  std::vector<config::Extent> extents = {};  // of the first group in the order of `columns`, then of the next group
};

// Reads the footer of the file that `view` shows. Throws SetupError with a sentence that begins with `name`: it is no
// Parquet file, it is damaged or encrypted, or it can't be read.
Footer read_footer(store::View& view, const std::string& name, Statistics* statistics = nullptr);

// Decodes a column of a row group. `bytes`: of the chunk as they lie in the file. kContent: they are damaged, or they
// hold more than `bytes_max` bytes of values; the message is the end of a sentence that begins with the place. Throws
// std::bad_alloc.
struct ChunkToDecode {
  const Column& column;
  const Chunk& chunk;
  uint64_t rows;
  uint64_t bytes_max;
  const Nulls& nulls;
  RawBytes* memory = nullptr;  // that the values may take
};
Result<ColumnValues> decode_chunk(const ChunkToDecode& what, std::span<const uint8_t> bytes);

}  // namespace spdld::source::parquet
