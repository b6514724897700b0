// Parquet files that tests write in memory, with Arrow's own writer.
#pragma once

#include <arrow/io/memory.h>
#include <parquet/api/writer.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "daemon/source/parquet/arrow_files.h"
#include "daemon/source/parquet/chunk_reader.h"
#include "daemon/source/parquet/table.h"
#include "tests/support/bytes_view.h"

namespace spdld::test::parquet {

using namespace source::parquet;

struct Written {
  std::string bytes;
  uint64_t rows = 0;
};

inline std::string text_of(uint64_t row) { return "text " + std::to_string(row) + std::string(row % 50, '.'); }
inline int32_t number_of(uint64_t row) { return static_cast<int32_t>(row * 7 - 100); }
inline bool has_text(uint64_t row) { return row % 10 != 3; }

// `groups` row groups of `rows` each, with the columns text (a text, null in every tenth row), number (an int32) and
// list (of row % 4 int32, each the row's number).
inline Written write_file(uint64_t groups, uint64_t rows, uint64_t first_row = 0,
                          ::parquet::Compression::type codec = ::parquet::Compression::SNAPPY,
                          const std::string& writer_name = "spdld's tests") {
  using namespace ::parquet;
  using schema::GroupNode;
  using schema::PrimitiveNode;
  const auto element = PrimitiveNode::Make("element", Repetition::REQUIRED, Type::INT32);
  const auto repeated = GroupNode::Make("list", Repetition::REPEATED, {element});
  const auto root = std::static_pointer_cast<GroupNode>(
      GroupNode::Make("schema", Repetition::REQUIRED,
                      {PrimitiveNode::Make("text", Repetition::OPTIONAL, LogicalType::String(), Type::BYTE_ARRAY),
                       PrimitiveNode::Make("number", Repetition::REQUIRED, Type::INT32),
                       GroupNode::Make("list", Repetition::REQUIRED, {repeated}, LogicalType::List())}));
  const auto sink = ::arrow::io::BufferOutputStream::Create().ValueOrDie();
  const auto writer = ParquetFileWriter::Open(
      sink, root, WriterProperties::Builder().compression(codec)->created_by(writer_name)->build());
  for (uint64_t group = 0; group < groups; ++group) {
    RowGroupWriter* const out = writer->AppendRowGroup();
    const uint64_t start = first_row + group * rows;
    auto* const texts = static_cast<ByteArrayWriter*>(out->NextColumn());
    for (uint64_t row = start; row < start + rows; ++row) {
      const int16_t level = has_text(row) ? 1 : 0;
      const std::string text = text_of(row);
      const ByteArray value(static_cast<uint32_t>(text.size()), reinterpret_cast<const uint8_t*>(text.data()));
      texts->WriteBatch(1, &level, nullptr, &value);
    }
    auto* const numbers = static_cast<Int32Writer*>(out->NextColumn());
    for (uint64_t row = start; row < start + rows; ++row) {
      const int32_t value = number_of(row);
      numbers->WriteBatch(1, nullptr, nullptr, &value);
    }
    auto* const lists = static_cast<Int32Writer*>(out->NextColumn());
    for (uint64_t row = start; row < start + rows; ++row) {
      const auto value = static_cast<int32_t>(row);
      for (int16_t i = 0; i < static_cast<int16_t>(std::max<uint64_t>(row % 4, 1)); ++i) {
        const int16_t repetition = i == 0 ? 0 : 1, definition = row % 4 == 0 ? 0 : 1;
        lists->WriteBatch(1, &definition, &repetition, &value);
      }
    }
  }
  writer->Close();
  return {sink->Finish().ValueOrDie()->ToString(), groups * rows};
}

// A file with one column, "a", whose values are written as they are, whatever its type says of them.
template <typename Writer, typename Value>
std::string write_column(const ::parquet::schema::NodePtr& column, const std::vector<Value>& values, bool as_list) {
  using namespace ::parquet;
  const auto root =
      std::static_pointer_cast<schema::GroupNode>(schema::GroupNode::Make("schema", Repetition::REQUIRED, {column}));
  const auto sink = ::arrow::io::BufferOutputStream::Create().ValueOrDie();
  const auto writer = ParquetFileWriter::Open(sink, root, WriterProperties::Builder().build());
  auto* const out = static_cast<Writer*>(writer->AppendRowGroup()->NextColumn());
  for (const Value& value : values) {
    const int16_t definition = 1, repetition = 0;
    out->WriteBatch(1, as_list ? &definition : nullptr, as_list ? &repetition : nullptr, &value);
  }
  writer->Close();
  return sink->Finish().ValueOrDie()->ToString();
}

// Numbers of 32 bits in a column that claims so many, or lists of one number each.
inline std::string write_numbers(const std::vector<int32_t>& numbers, int bits, bool is_signed, bool as_list) {
  using namespace ::parquet;
  const auto number = [&](const std::string& name) {
    return schema::PrimitiveNode::Make(name, Repetition::REQUIRED, LogicalType::Int(bits, is_signed), Type::INT32);
  };
  schema::NodePtr column = number("a");
  if (as_list)
    column = schema::GroupNode::Make("a", Repetition::REQUIRED,
                                     {schema::GroupNode::Make("list", Repetition::REPEATED, {number("element")})},
                                     LogicalType::List());
  return write_column<Int32Writer>(column, numbers, as_list);
}

inline std::string write_times(const std::vector<::parquet::Int96>& times) {
  using namespace ::parquet;
  return write_column<Int96Writer>(schema::PrimitiveNode::Make("a", Repetition::REQUIRED, Type::INT96), times, false);
}

inline ParquetTable table_of(const std::vector<std::string>& files) {
  ParquetTable table;
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string name = "f" + std::to_string(i);
    BytesView view(files[i]);
    Footer footer = read_footer(view, name);
    table.columns = footer.columns;
    table.files.push_back({.name = name, .bytes = files[i].size(), .identity = {files[i].size(), 1}});
    for (size_t group = 0; group < footer.group_rows.size(); ++group) {
      table.groups.push_back(
          {static_cast<uint32_t>(i), static_cast<uint32_t>(group), table.rows, footer.group_rows[group]});
      table.rows += footer.group_rows[group];
    }
    table.chunks.insert(table.chunks.end(), footer.chunks.begin(), footer.chunks.end());
  }
  return table;
}

inline std::string list_bytes(uint64_t row) {
  const std::vector<int32_t> values(row % 4, static_cast<int32_t>(row));
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int32_t)};
}
inline std::string number_bytes(uint64_t row) {
  const int32_t value = number_of(row);
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

}  // namespace spdld::test::parquet
