#include "daemon/source/parquet/kept_footer.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "daemon/base/formats/kept_bytes.h"
#include "daemon/source/tables/kept_sets.h"

namespace spdld::source::parquet {
namespace {

constexpr uint64_t kDimensionsMax = 64;

// Signed numbers of few bits, as numbers that KeptWriter takes.
uint64_t packed(int32_t value) { return static_cast<uint32_t>(value); }
int32_t unpacked(uint64_t value) { return static_cast<int32_t>(static_cast<uint32_t>(value)); }
int16_t level(uint64_t value) { return static_cast<int16_t>(std::min<uint64_t>(value, INT16_MAX)); }

void write(KeptWriter& writer, const Column& column) {
  writer.text(column.name);
  writer.number(column.physical);
  writer.number(packed(column.type_length));
  for (const int16_t one : {column.definition, column.repetition, column.in_list, column.in_inner})
    writer.number(static_cast<uint64_t>(one));
  writer.number(static_cast<uint64_t>(column.conversion));
  writer.number(static_cast<uint64_t>(column.dtype));
  writer.number(packed(column.scale));
  writer.number(column.list_shape ? column.list_shape->size() + 1 : 0);
  if (!column.list_shape) return;
  for (const int64_t size : *column.list_shape) writer.number(static_cast<uint64_t>(size));
}

bool read(KeptReader& reader, Column& column) {
  column.name = reader.text();
  column.physical = static_cast<uint8_t>(reader.number());
  column.type_length = unpacked(reader.number());
  for (int16_t* one : {&column.definition, &column.repetition, &column.in_list, &column.in_inner})
    *one = level(reader.number());
  const uint64_t conversion = reader.number(), dtype = reader.number();
  column.scale = unpacked(reader.number());
  const uint64_t dimensions = reader.number();
  if (!reader.ok() || conversion >= kConversions || dtype >= config::kDTypeCount || dimensions > kDimensionsMax ||
      column.type_length < 0)
    return false;
  column.conversion = static_cast<Conversion>(conversion);
  column.dtype = static_cast<config::DType>(dtype);
  if (dimensions == 0) return true;
  column.list_shape.emplace();
  for (uint64_t i = 1; i < dimensions; ++i) column.list_shape->push_back(static_cast<int64_t>(reader.number()));
  return reader.ok();
}

}  // namespace

std::string kept_bytes_of(const Footer& footer) {
  KeptWriter writer;
  writer.number(footer.columns.size());
  for (const Column& column : footer.columns) write(writer, column);
  writer.number(footer.group_rows.size());
  for (const uint64_t rows : footer.group_rows) writer.number(rows);
  for (const Chunk& chunk : footer.chunks)
    for (const uint64_t one : {chunk.offset, chunk.bytes, chunk.unpacked_bytes, chunk.values, uint64_t{chunk.codec}})
      writer.number(one);
  writer.number(footer.left_out.size());
  for (const std::string& sentence : footer.left_out) writer.text(sentence);
  write_set(writer, footer.untaken);
  writer.number(footer.groups_spared);
  writer.number(footer.lost.size());
  for (const std::string& sentence : footer.lost) writer.text(sentence);
  writer.number(footer.classes.size());
  for (const ClassLabels& labels : footer.classes) {
    writer.text(labels.column);
    writer.number(labels.names.size());
    for (const std::string& name : labels.names) writer.text(name);
  }
  writer.text(footer.groups.texts());
  return writer.take();
}

std::optional<Footer> footer_in(std::string_view bytes, uint64_t file_bytes) {
  KeptReader reader(bytes);
  Footer footer;
  const uint64_t columns = reader.number();
  if (columns > kColumnsMax) return std::nullopt;
  for (uint64_t i = 0; i < columns; ++i)
    if (!read(reader, footer.columns.emplace_back())) return std::nullopt;
  const uint64_t groups = reader.number();
  if (groups > kGroupsMax) return std::nullopt;
  for (uint64_t i = 0; i < groups && reader.ok(); ++i) footer.group_rows.push_back(reader.number());
  for (uint64_t i = 0; i < groups * columns && reader.ok(); ++i) {
    Chunk& chunk = footer.chunks.emplace_back();
    for (uint64_t* one : {&chunk.offset, &chunk.bytes, &chunk.unpacked_bytes, &chunk.values}) *one = reader.number();
    chunk.codec = static_cast<uint8_t>(reader.number());
    if (chunk.offset > file_bytes || chunk.bytes > file_bytes - chunk.offset) return std::nullopt;
  }
  const uint64_t left_out = reader.number();
  for (uint64_t i = 0; i < left_out && reader.ok(); ++i) footer.left_out.emplace_back(reader.text());
  const uint64_t rows = std::accumulate(footer.group_rows.begin(), footer.group_rows.end(), uint64_t{0});
  if (!read_set(reader, rows, footer.untaken)) return std::nullopt;
  footer.groups_spared = reader.number();
  for (uint64_t lost = reader.number(); lost > 0 && reader.ok(); --lost) footer.lost.emplace_back(reader.text());
  const uint64_t classes = reader.number();
  for (uint64_t i = 0; i < classes && reader.ok(); ++i) {
    ClassLabels& labels = footer.classes.emplace_back();
    labels.column = reader.text();
    const uint64_t names = reader.number();
    for (uint64_t k = 0; k < names && reader.ok(); ++k) labels.names.emplace_back(reader.text());
  }
  const bool has_groups =
      read_column(reader, footer.groups) && (footer.groups.size() == 0 || footer.groups.size() == rows);
  if (!has_groups || !reader.ok() || !reader.rest().empty()) return std::nullopt;
  return footer;
}

}  // namespace spdld::source::parquet
