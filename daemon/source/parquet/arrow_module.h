// The module with all that is done with Arrow C++, which is loaded when a Parquet file is first read. It is loaded by
// itself because Arrow's libraries export symbols of others (OpenSSL's, simdjson's), which would take the place of the
// daemon's own.
#pragma once

#include "daemon/source/parquet/arrow_files.h"

namespace spdld::source::parquet {

struct ArrowFunctions {
  Footer (*read_footer)(store::View& view, const std::string& name, Statistics* statistics);
  Result<ColumnValues> (*decode_chunk)(const ChunkToDecode& what, std::span<const uint8_t> bytes);
};
inline constexpr char kArrowModule[] = "libspdld_arrow.so", kArrowSymbol[] = "spdld_arrow_functions";
using GetArrowFunctions = const ArrowFunctions* (*)();

namespace with_arrow {
Footer read_footer(store::View& view, const std::string& name, Statistics* statistics);
Result<ColumnValues> decode_chunk(const ChunkToDecode& what, std::span<const uint8_t> bytes);
}  // namespace with_arrow

}  // namespace spdld::source::parquet
