// Feeds arbitrary bytes to the reader of Parquet files. The first byte says to which part: 0: a whole file, whose
// columns are decoded; 1: a footer as a kept listing has it.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "daemon/source/parquet/arrow_files.h"
#include "daemon/source/parquet/kept_footer.h"
#include "tests/support/bytes_view.h"

namespace {

using namespace spdld;
using namespace spdld::source::parquet;

constexpr uint64_t kBytesMax = 8 << 20, kRowsMax = 1 << 20;

void read_file(std::span<const uint8_t> bytes) {
  test::BytesView view(bytes);
  const Footer footer = read_footer(view, "fuzz");
  const auto again = footer_in(kept_bytes_of(footer), bytes.size());
  if (!again || !(*again == footer)) std::abort();
  const size_t columns = footer.columns.size();
  for (size_t i = 0; i < footer.chunks.size(); ++i) {
    const Chunk& chunk = footer.chunks[i];
    if (chunk.offset > bytes.size() || chunk.bytes > bytes.size() - chunk.offset) std::abort();
    const uint64_t rows = footer.group_rows[i / columns];
    if (rows > kRowsMax) continue;
    const Nulls nulls{.are_bad = i % 2 == 0, .number = 1, .text = "x"};
    const auto values = decode_chunk({footer.columns[i % columns], chunk, rows, kBytesMax, nulls},
                                     bytes.subspan(chunk.offset, chunk.bytes));
    if (!values) continue;
    if (values->rows() != rows) std::abort();
    uint64_t size = 0;
    for (uint64_t row = 0; row < rows; ++row) size += (*values)[row].size();
    if (size != values->size()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size == 0) return 0;
  const std::span<const uint8_t> rest(bytes + 1, size - 1);
  try {
    if (bytes[0] == 0) read_file(rest);
    if (bytes[0] == 1) {
      const auto footer = footer_in({reinterpret_cast<const char*>(rest.data()), rest.size()}, 1 << 20);
      if (footer && footer->chunks.size() != footer->group_rows.size() * footer->columns.size()) std::abort();
    }
  } catch (const SetupError& error) {  // a sentence is an answer, but not that there is no Arrow
    if (error.trouble() == Trouble::kUnsupported) std::abort();
  }
  return 0;
}
