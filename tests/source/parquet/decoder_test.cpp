#include <catch2/catch.hpp>
#include <limits>
#include <optional>

#include "daemon/source/parquet/kept_footer.h"
#include "tests/source/parquet/written.h"

namespace spdld::source::parquet::decoder_test {
namespace {

using test::parquet::write_file;

constexpr uint64_t kBytesMax = 64 << 20;

Result<ColumnValues> decoded(const ParquetTable& table, const std::string& file, size_t group, size_t column,
                             const Nulls& nulls = {}, uint64_t bytes_max = kBytesMax) {
  const Chunk& chunk = table.chunk(group, column);
  return decode_chunk({table.columns[column], chunk, table.groups[group].rows, bytes_max, nulls},
                      {reinterpret_cast<const uint8_t*>(file.data()) + chunk.offset, chunk.bytes});
}

std::string text_at(const ColumnValues& values, uint64_t row) {
  const auto bytes = values[row];
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST_CASE("a footer tells the columns, their types, and where their chunks lie") {
  const auto file = write_file(3, 100);
  const ParquetTable table = test::parquet::table_of({file.bytes});
  REQUIRE(table.columns.size() == 3);
  CHECK(table.columns[0].name == "text");
  CHECK_FALSE(table.columns[0].is_numeric());
  CHECK(table.columns[0].is_nullable());
  CHECK(table.columns[1].dtype == config::DType::kInt32);
  CHECK_FALSE(table.columns[1].is_nullable());
  CHECK(table.columns[2].name == "list");
  CHECK(table.columns[2].is_list());
  CHECK(table.rows == 300);
  REQUIRE(table.groups.size() == 3);
  CHECK(table.groups[2].first_row == 200);
  CHECK(table.group_of(199) == 1);
  CHECK(table.group_of(200) == 2);
  CHECK(table.place_of(217, 0) == "f0, row 217, column text");
}

TEST_CASE("a column's values are what was written: texts, numbers, lists, in every codec") {
  const auto codec = GENERATE(::parquet::Compression::UNCOMPRESSED, ::parquet::Compression::SNAPPY,
                              ::parquet::Compression::GZIP, ::parquet::Compression::ZSTD);
  const auto file = write_file(2, 5000, 0, codec);
  const ParquetTable table = test::parquet::table_of({file.bytes});
  size_t wrong = 0;
  for (size_t group = 0; group < 2; ++group) {
    const auto texts = decoded(table, file.bytes, group, 0), numbers = decoded(table, file.bytes, group, 1),
               lists = decoded(table, file.bytes, group, 2);
    REQUIRE(texts);
    REQUIRE(numbers);
    REQUIRE(lists);
    REQUIRE(texts->rows() == 5000);
    for (uint64_t i = 0; i < 5000; ++i) {
      const uint64_t row = group * 5000 + i;
      wrong += texts->is_null(i) == test::parquet::has_text(row);
      wrong += test::parquet::has_text(row) && text_at(*texts, i) != test::parquet::text_of(row);
      wrong += text_at(*numbers, i) != test::parquet::number_bytes(row);
      wrong += text_at(*lists, i) != test::parquet::list_bytes(row);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("a null has the value that was asked for, and stays known as one") {
  const auto file = write_file(1, 20);
  const ParquetTable table = test::parquet::table_of({file.bytes});
  const Nulls nulls{.are_bad = false, .number = 0, .text = "none"};
  const auto texts = decoded(table, file.bytes, 0, 0, nulls);
  REQUIRE(texts);
  CHECK(text_at(*texts, 3) == "none");
  CHECK(texts->is_null(3));
  CHECK(text_at(*texts, 4) == test::parquet::text_of(4));
}

TEST_CASE("a number for nulls is as near to what was asked for as its type has it") {
  Column column{.name = "c", .definition = 1, .conversion = Conversion::kNumbers};
  const Chunk absent;
  const auto value = [&](config::DType dtype, double number) {
    column.dtype = dtype;
    const auto values = decode_chunk({column, absent, 1, kBytesMax, {.are_bad = false, .number = number}}, {});
    REQUIRE(values);
    CHECK(values->is_null(0));
    const auto bytes = (*values)[0];
    return std::vector<uint8_t>(bytes.begin(), bytes.end());
  };
  using config::DType;
  CHECK(value(DType::kUint8, 300) == std::vector<uint8_t>{255});
  CHECK(value(DType::kInt8, -300) == std::vector<uint8_t>{0x80});
  CHECK(value(DType::kInt16, -1) == std::vector<uint8_t>{0xff, 0xff});
  CHECK(value(DType::kInt32, std::numeric_limits<double>::quiet_NaN()) == std::vector<uint8_t>{0, 0, 0, 0});
  CHECK(value(DType::kInt64, 1e300) == std::vector<uint8_t>{255, 255, 255, 255, 255, 255, 255, 0x7f});
  CHECK(value(DType::kFloat16, 1.5) == std::vector<uint8_t>{0, 0x3e});
  CHECK(value(DType::kFloat32, -2) == std::vector<uint8_t>{0, 0, 0, 0xc0});
  CHECK(value(DType::kFloat64, 1) == std::vector<uint8_t>{0, 0, 0, 0, 0, 0, 0xf0, 0x3f});
}

TEST_CASE("a number that its type can't hold is no value, and its neighbours stay what they are") {
  using test::parquet::write_numbers;
  const std::vector<int32_t> numbers = {0, -128, 127, 128, -129, 255, 256, 32767, 32768, -1, 65535, 65536};
  const auto [bits, is_signed, least, most] = GENERATE(table<int, bool, int32_t, int32_t>(
      {{8, true, -128, 127},
       {8, false, 0, 255},
       {16, true, -32768, 32767},
       {16, false, 0, 65535},
       {32, true, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()}}));
  const bool as_list = GENERATE(false, true);
  CAPTURE(bits, is_signed, as_list);
  const std::string file = write_numbers(numbers, bits, is_signed, as_list);
  const ParquetTable table = test::parquet::table_of({file});
  const auto values = decoded(table, file, 0, 0);
  REQUIRE(values);
  REQUIRE(values->rows() == numbers.size());
  for (uint64_t row = 0; row < numbers.size(); ++row) {
    const int32_t number = numbers[row];
    CHECK(values->is_beyond(row) == (number < least || number > most));
    CHECK_FALSE(values->is_null(row));
    if (values->is_beyond(row)) continue;
    const std::string wanted(reinterpret_cast<const char*>(&number), static_cast<size_t>(bits / 8));
    CHECK(text_at(*values, row) == wanted);
  }
}

TEST_CASE("a time of Impala's is the nanoseconds since 1970, or none that 64 bits hold") {
  constexpr int64_t kDay = 86'400'000'000'000, kMost = std::numeric_limits<int64_t>::max(),
                    kLeast = std::numeric_limits<int64_t>::min();
  struct Case {
    int64_t day, of_day;  // since 1970, and ns
    std::optional<int64_t> ns;
  };
  const std::vector<Case> cases = {{0, 0, 0},
                                   {-1, kDay - 1, -1},
                                   {kMost / kDay, kMost % kDay, kMost},
                                   {kMost / kDay, kMost % kDay + 1, std::nullopt},
                                   {kLeast / kDay - 1, kDay + kLeast % kDay, kLeast},
                                   {kLeast / kDay - 1, kDay + kLeast % kDay - 1, std::nullopt},
                                   {105'201'000, 0, std::nullopt},
                                   {-2'440'588, 0, std::nullopt},
                                   {5, -3 * kDay, 2 * kDay},
                                   {-7, kMost, kMost - 7 * kDay},
                                   {0, kMost, kMost}};
  std::vector<::parquet::Int96> times;
  for (const Case& one : cases) {
    const auto of_day = static_cast<uint64_t>(one.of_day);
    times.push_back({{static_cast<uint32_t>(of_day), static_cast<uint32_t>(of_day >> 32),
                      static_cast<uint32_t>(one.day + 2'440'588)}});
  }
  const std::string file = test::parquet::write_times(times);
  const ParquetTable table = test::parquet::table_of({file});
  const auto values = decoded(table, file, 0, 0);
  REQUIRE(values);
  for (uint64_t row = 0; row < cases.size(); ++row) {
    CAPTURE(row);
    CHECK(values->is_beyond(row) == !cases[row].ns);
    if (!cases[row].ns) continue;
    const std::string wanted(reinterpret_cast<const char*>(&*cases[row].ns), 8);
    CHECK(text_at(*values, row) == wanted);
  }
}

TEST_CASE("values that are more than the limit are refused, whatever the file says of their size") {
  const auto file = write_file(1, 5000);
  ParquetTable table = test::parquet::table_of({file.bytes});
  table.chunks[0].unpacked_bytes = 1;
  const auto values = decoded(table, file.bytes, 0, 0, {}, 10'000);
  REQUIRE_FALSE(values);
  CHECK(values.error().trouble == Trouble::kContent);
}

TEST_CASE("a column that has another number of rows than its row group is refused") {
  const auto file = write_file(1, 500);
  ParquetTable table = test::parquet::table_of({file.bytes});
  for (size_t column = 0; column < 3; ++column) {
    for (const uint64_t rows : {1, 499, 501, 5'000}) {
      CAPTURE(column, rows);
      table.groups[0].rows = rows;
      const auto values = decoded(table, file.bytes, 0, column);
      REQUIRE_FALSE(values);
      CHECK(values.error().trouble == Trouble::kContent);
    }
    table.groups[0].rows = 500;
    CHECK(decoded(table, file.bytes, 0, column));
  }
}

TEST_CASE("a damaged file is refused, or gives values: any byte may be another") {
  const auto file = write_file(1, 60);
  size_t refused = 0;
  for (size_t at = 0; at < file.bytes.size(); ++at) {
    std::string bytes = file.bytes;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << at % 8));
    try {
      const ParquetTable table = test::parquet::table_of({bytes});
      for (size_t group = 0; group < table.groups.size(); ++group)
        for (size_t column = 0; column < table.columns.size(); ++column)
          if (!decoded(table, bytes, group, column)) ++refused;
    } catch (const SetupError&) {
      ++refused;
    }
  }
  CHECK(refused > 50);
}

TEST_CASE("a file that is cut, encrypted or no Parquet at all says so") {
  const auto file = write_file(1, 10);
  const auto refusal = [](const std::string& bytes) -> std::string {
    test::BytesView view(bytes);
    try {
      read_footer(view, "f");
    } catch (const SetupError& error) {
      return error.what();
    }
    return "nothing";
  };
  CHECK(refusal(file.bytes) == "nothing");
  CHECK(refusal("PAR1") == "f is no Parquet file: it is too short.");
  CHECK(refusal(file.bytes.substr(0, file.bytes.size() - 1)) ==
        "f is no Parquet file, or it was cut: its last bytes are not PAR1.");
  std::string locked = file.bytes;
  locked.replace(locked.size() - 4, 4, "PARE");
  CHECK(refusal(locked) == "f is encrypted: write it without encryption.");
  std::string lying = file.bytes;
  lying.replace(lying.size() - 8, 4, "\xff\xff\xff\x7f");
  CHECK(refusal(lying) == "f is damaged: its footer is longer than the file.");
}

TEST_CASE("a column whose size lacks the dictionary's header, as old parquet-mr writes it, is read whole") {
  // As in PARQUET-816: the footer's sizes are taken down, in the numbers of Thrift's compact protocol.
  const auto shrunk = [](std::string file, uint64_t size, uint64_t by) {
    const auto packed = [](uint64_t number) {
      std::string bytes;
      for (number *= 2; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
      return bytes += static_cast<char>(number);
    };
    const std::string before = packed(size), after = packed(size - by);
    REQUIRE(before.size() == after.size());
    uint64_t length = 0;
    std::memcpy(&length, file.data() + file.size() - 8, 4);
    size_t changed = 0;
    for (size_t at = file.size() - 8 - length; (at = file.find(before, at)) != std::string::npos; at += after.size())
      file.replace(at, after.size(), after), ++changed;
    REQUIRE(changed > 0);
    return file;
  };
  const std::string old =
      write_file(1, 5000, 0, ::parquet::Compression::UNCOMPRESSED, "parquet-mr version 1.2.8").bytes;
  const uint64_t text_bytes =
      test::parquet::table_of({write_file(1, 5000, 0, ::parquet::Compression::UNCOMPRESSED).bytes}).chunk(0, 0).bytes;
  const std::string file = shrunk(old, text_bytes, 15);
  const ParquetTable table = test::parquet::table_of({file});
  CHECK(table.chunk(0, 0).bytes == text_bytes - 15 + 100);
  const auto texts = decoded(table, file, 0, 0);
  REQUIRE(texts);
  REQUIRE(texts->rows() == 5000);
  size_t wrong = 0;
  for (uint64_t row = 0; row < 5000; ++row)
    wrong += test::parquet::has_text(row) && text_at(*texts, row) != test::parquet::text_of(row);
  CHECK(wrong == 0);
  // The last column's spare bytes end with the file, and a new writer's sizes are taken at their word.
  CHECK(table.chunk(0, 2).offset + table.chunk(0, 2).bytes <= file.size());
  const std::string lying = shrunk(write_file(1, 5000, 0, ::parquet::Compression::UNCOMPRESSED).bytes, text_bytes, 15);
  CHECK_FALSE(decoded(test::parquet::table_of({lying}), lying, 0, 0));
}

TEST_CASE("a kept footer is the footer, and a damaged one is none") {
  const auto file = write_file(4, 10);
  test::BytesView view(file.bytes);
  Footer footer = read_footer(view, "f");
  footer.columns[2].list_shape = std::vector<int64_t>{2, 3};
  footer.columns[1].scale = -3;
  footer.left_out = {"a sentence"};
  footer.untaken.add_all(2, 9);
  footer.groups_spared = 1;
  footer.lost = {"another sentence"};
  footer.classes = {{"label", {"cat", ""}}, {"other", {}}};
  const std::string kept = kept_bytes_of(footer);
  const auto again = footer_in(kept, file.bytes.size());
  REQUIRE(again);
  CHECK(*again == footer);
  CHECK_FALSE(footer_in(kept, 100));  // columns beyond the file
  for (size_t size = 0; size < kept.size(); ++size) CHECK_FALSE(footer_in(kept.substr(0, size), file.bytes.size()));
}

}  // namespace spdld::source::parquet::decoder_test
