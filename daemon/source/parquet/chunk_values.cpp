#include "daemon/source/parquet/chunk_values.h"

#include <utility>

#include "daemon/source/parquet/arrow_files.h"

namespace spdld::source::parquet {

Result<ColumnValues> chunk_values(store::View& view, const ChunkPlace& place) {
  const Footer& footer = place.footer;
  const Chunk& chunk = footer.chunks[place.group * footer.columns.size() + place.column];
  if (chunk.bytes > place.bytes_max || chunk.unpacked_bytes > place.bytes_max)
    return Error{Trouble::kContent,
                 "it needs more than the " + std::to_string(place.bytes_max >> 20) + " MiB of source.stream_bytes_max"};
  RawBytes bytes;
  bytes.resize(chunk.bytes);
  const Result<uint64_t> got = view.read(chunk.offset, bytes.bytes());
  if (!got) throw SetupError(got.error().trouble, got.error().message);
  if (*got < chunk.bytes) throw SetupError(Trouble::kContent, place.name + " became shorter while it was read.");
  const Nulls nulls;
  return decode_chunk({footer.columns[place.column], chunk, footer.group_rows[place.group], place.bytes_max, nulls},
                      std::as_const(bytes).bytes());
}

void check_rows(const Footer& footer, const std::string& name, std::string_view key) {
  uint64_t rows = 0;
  for (const uint64_t more : footer.group_rows) {
    rows += more;
    if (rows > kJudgedRowsMax)
      throw SetupError(Trouble::kLimit, name + " has more than " + std::to_string(kJudgedRowsMax) +
                                            " rows, the limit of a file beside " + std::string(key) + ".");
  }
}

}  // namespace spdld::source::parquet
