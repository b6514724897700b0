#include "daemon/source/parquet/arrow_files.h"

namespace spdld::source::parquet {

Footer read_footer(store::View&, const std::string& name) {
  throw SetupError(Trouble::kUnsupported,
                   name +
                       ": this spdld reads no Parquet, for it was built without Arrow C++; build it where pkg-config "
                       "finds arrow and parquet, or after deploy/install-arrow.");
}

Result<ColumnValues> decode_chunk(const ChunkToDecode&, std::span<const uint8_t>) {
  return Error{Trouble::kUnsupported, "can't be decoded, for this spdld was built without Arrow C++"};
}

}  // namespace spdld::source::parquet
