#include "daemon/source/tables/table_index.h"

#include <bit>
#include <utility>

#include "config/text/words.h"
#include "daemon/source/kept/kept_records.h"
#include "daemon/source/lists/weight_list.h"
#include "daemon/source/tables/kept_sets.h"

namespace spdld::source {
namespace {

void write_texts(KeptWriter& writer, const std::vector<std::string>& texts) {
  writer.number(texts.size());
  for (const std::string& text : texts) writer.text(text);
}

std::vector<std::string> read_texts(KeptReader& reader) {
  std::vector<std::string> texts;
  const uint64_t count = reader.number();
  for (uint64_t i = 0; i < count && reader.ok(); ++i) texts.emplace_back(reader.text());
  return texts;
}

bool read_rows(KeptReader& reader, TableIndex& index, uint64_t file_bytes) {
  uint64_t end = 0;
  for (uint64_t rows = reader.number(); rows > 0 && reader.ok(); --rows) {
    const uint64_t gap = reader.number(), length = reader.number();
    if (gap > file_bytes - end || length > file_bytes - end - gap || length > kTableRowBytesMax) return false;
    index.add_row(end + gap, length);
    end += gap + length;
  }
  return reader.ok();
}

bool read_absent(KeptReader& reader, TableIndex& index) {
  for (size_t column = 0; column < index.columns.size(); ++column)
    if (!read_set(reader, index.rows(), index.absent.emplace_back())) return false;
  return reader.ok();
}

bool read_text_columns(KeptReader& reader, TableIndex& index) {
  for (uint64_t count = reader.number(); count > 0 && reader.ok(); --count) {
    TextColumn& column = index.texts.emplace_back();
    if (!read_column(reader, column) || column.size() != index.rows()) return false;
  }
  return reader.ok();
}

bool read_classes(KeptReader& reader, TableIndex& index) {
  index.classes = read_texts(reader);
  const uint64_t count = reader.number();
  if (count != 0 && count != index.rows()) return false;
  for (uint64_t row = 0; row < count; ++row) {
    index.class_of.push_back(static_cast<uint32_t>(reader.number()));
    if (!reader.ok() || index.class_of.back() >= index.classes.size()) return false;
  }
  return reader.ok();
}

bool read_weights(KeptReader& reader, TableIndex& index) {
  const uint64_t count = reader.number();
  if (count != 0 && count != index.rows()) return false;
  for (uint64_t row = 0; row < count && reader.ok(); ++row) {
    const auto weight = std::bit_cast<double>(reader.number());
    if (weight != kNoWeight && !is_sample_weight(weight)) return false;
    index.weights.push_back(weight);
  }
  return reader.ok();
}

}  // namespace

void TableIndex::fit() {
  places.fit();
  class_of.shrink_to_fit();
  weights.shrink_to_fit();
  for (TextColumn& column : texts) column.fit();
}

uint64_t TableIndex::memory_bytes() const {
  uint64_t bytes = places.memory_bytes() + weights.capacity() * sizeof(double) + class_of.capacity() * sizeof(uint32_t);
  for (const RowSet& rows : absent) bytes += rows.memory_bytes();
  for (const TextColumn& column : texts) bytes += column.memory_bytes();
  return bytes;
}

std::string kept_bytes_of(const TableIndex& index) {
  KeptWriter writer;
  writer.number(static_cast<uint64_t>(index.compression));
  writer.number(index.unpacker_bytes);
  write_texts(writer, index.columns);
  writer.text({reinterpret_cast<const char*>(index.kinds.data()), index.kinds.size()});
  writer.number(index.rows());
  uint64_t end = 0;
  for (uint64_t row = 0; row < index.rows(); ++row) {
    const auto [offset, length] = index.places[row];
    writer.number(offset - end);  // the file's order: never before it
    writer.number(length);
    end = offset + length;
  }
  for (const RowSet& rows : index.absent) write_set(writer, rows);
  writer.number(index.texts.size());
  for (const TextColumn& column : index.texts) writer.text(column.texts());
  write_texts(writer, index.classes);
  writer.number(index.class_of.size());
  for (const uint32_t number : index.class_of) writer.number(number);
  writer.number(index.weights.size());
  for (const double weight : index.weights) writer.number(std::bit_cast<uint64_t>(weight));
  write_set(writer, index.untaken);
  writer.text(index.content);
  write_remarks(writer, index.remarks);
  return writer.take();
}

std::optional<TableIndex> index_in(std::string_view bytes, uint64_t file_bytes) {
  KeptReader reader(bytes);
  TableIndex index;
  const uint64_t compression = reader.number();
  if (compression > static_cast<uint64_t>(Compression::kZstd)) return std::nullopt;
  index.compression = static_cast<Compression>(compression);
  index.unpacker_bytes = reader.number();
  const uint64_t bytes_max = content_bytes_max(index.compression, file_bytes);
  index.columns = read_texts(reader);
  if (index.columns.size() > kTableColumnsMax) return std::nullopt;
  const std::string_view kinds = reader.text();
  index.kinds.assign(kinds.begin(), kinds.end());
  if (!read_rows(reader, index, bytes_max) || !read_absent(reader, index) || !read_text_columns(reader, index) ||
      !read_classes(reader, index) || !read_weights(reader, index) || !read_set(reader, index.rows(), index.untaken))
    return std::nullopt;
  index.content = reader.text();
  if (!read_remarks(reader, index.remarks) || !reader.rest().empty()) return std::nullopt;
  index.fit();
  return index;
}

IndexWay<TableIndex> table_way(decltype(IndexWay<TableIndex>::read) read) {
  return {std::move(read), [](const TableIndex& index) { return kept_bytes_of(index); },
          [](std::string_view bytes, const DataFile& file) { return index_in(bytes, file.bytes); }};
}

IndexWay<TableIndex> packed_table_way(decltype(IndexWay<TableIndex>::read) read, const std::stop_token& stop) {
  return table_way([read = std::move(read), &stop](store::View& view, const DataFile& file,
                                                   std::atomic<uint64_t>& done) {
    TableIndex index;
    Content content =
        read_content(view, file.name, done, stop,
                     [&](store::View& inside, std::atomic<uint64_t>& counted) { index = read(inside, file, counted); });
    index.compression = content.compression;
    index.unpacker_bytes = content.unpacker_bytes;
    if (!content.damage.empty())
      index.remarks.add_missing(config::printable(file.name.substr(file.name.rfind('/') + 1)) + ": " + content.damage +
                                ": the rows behind are lost.");
    return index;
  });
}

}  // namespace spdld::source
