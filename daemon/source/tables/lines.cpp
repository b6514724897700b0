// Text files as a data set: each line is a row with one field.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/spec.h"
#include "daemon/source/fingerprint.h"
#include "daemon/source/listings.h"
#include "daemon/source/tables/indexed_rows.h"
#include "daemon/source/tables/reading/block_reader.h"

namespace spdld::source {
namespace {

constexpr FileKind kTexts = {.noun = "text file",
                             .nouns = "text files",
                             .endings = ".txt .txt.gz .txt.zst",
                             .advice = " (where they are named in another way, write a wildcard, such as /*)",
                             .meant = "a text file",
                             .may_be_packed = true};
constexpr uint64_t kLineBytesMax = 128 << 20;

// A line as it lies in its file, without its end.
class Line final : public store::Packing {
 public:
  Result<Piece> find(std::span<const uint8_t> line, uint32_t) const override {
    if (!line.empty() && line.back() == '\n') {
      line = line.first(line.size() - 1);
      if (!line.empty() && line.back() == '\r') line = line.first(line.size() - 1);
    }
    return Piece{.bytes = line, .bytes_max = line.size()};
  }
};

// The bytes of the line at the front of the text, with its end; 0: there is none. More than kLineBytesMax: it is longer
// than a line may be, and was not read to its end.
uint64_t next_line(BlockReader& reader) {
  for (size_t from = 0;;) {
    const size_t end = reader.text().find('\n', from);
    if (end != std::string_view::npos) return end + 1;
    from = reader.text().size();
    if (from > kLineBytesMax || !reader.more()) return reader.text().size();
  }
}

TableIndex index_lines(store::View& view, const std::string& path, std::atomic<uint64_t>& done,
                       const std::stop_token& stop) {
  BlockReader reader(view, done, stop);
  reader.drop_byte_order_mark();
  TableIndex index;
  Fingerprint content;
  for (uint64_t bytes = next_line(reader); bytes != 0; bytes = next_line(reader)) {
    if (bytes > kLineBytesMax) {
      index.remarks.add_missing(path.substr(path.rfind('/') + 1) + ": the line at byte " +
                                std::to_string(reader.offset()) + " has more than " + std::to_string(kLineBytesMax) +
                                " bytes: the rest of the file is lost.");
      break;
    }
    index.add_row(reader.offset(), bytes);
    content.add(reader.text().substr(0, bytes));
    reader.drop(bytes);
  }
  index.content = content.digits();
  index.fit();
  return index;
}

}  // namespace

std::unique_ptr<Listing> open_lines(const SourceOpening& opening) {
  DataFiles files = find_data_files(opening.uris, kTexts, opening.places, opening.stop);
  const auto read = [&](store::View& view, const DataFile& file, std::atomic<uint64_t>& done) {
    return index_lines(view, file.name, done, opening.stop);
  };
  std::vector<TableIndex> indexes = index_files(files, opening.indexing(kTexts, "lines 1", "bytes of text files"),
                                                packed_table_way(read, opening.stop));
  return std::make_unique<IndexedRows>(std::move(files), std::move(indexes),
                                       std::vector<Field>{{"text", FieldKind::kFetched}}, std::make_unique<Line>(),
                                       "lines", config::uris_text(opening.spec), Remarks(), opening.access(kTexts));
}

}  // namespace spdld::source
