// Tables whose files are compressed as a whole.
#include <catch2/catch.hpp>

#include "tests/source/tables/table_files.h"
#include "tests/support/makers/pack.h"

namespace spdld::packed_tables_test {
namespace {

using namespace spdld;
using namespace spdld::source;
using namespace spdld::test;
using Catch::Contains;

using Texts = std::vector<std::string>;

constexpr int kRows = 3000;

std::string text_of(int row) { return "text " + std::to_string(row) + std::string(static_cast<size_t>(row % 90), '.'); }

std::string csv_file() {
  std::string text = "image,text\n";
  for (int row = 0; row < kRows; ++row) text += "p/" + std::to_string(row % 3) + ".jpg,\"" + text_of(row) + "\"\n";
  return text;
}
std::string lines_file() {
  std::string text;
  for (int row = 0; row < kRows; ++row) text += R"({"text": ")" + text_of(row) + "\"}\n";
  return text;
}
std::string tf_file() {
  std::string records;
  for (int row = 0; row < kRows; ++row) records += tf_record({{"text", text_of(row)}});
  return records;
}
Texts all_texts() {
  Texts texts;
  for (int row = 0; row < kRows; ++row) texts.push_back(text_of(row));
  return texts;
}
// An index whose shard is compressed under this name.
std::string packed_index(const std::string& raw, const std::string& packed, const std::string& compression) {
  std::string index = mds_index({{raw, all_texts()}});
  const std::string before = R"("compression": null)";
  return index.replace(index.find(before), before.size(),
                       R"("compression": ")" + compression + R"(", "zip_data": {"basename": ")" + packed +
                           R"(", "bytes": 1, "hashes": {}})");
}

struct PackedTable {
  std::string type, uri;
  std::map<std::string, std::string> files;
};
std::vector<PackedTable> packed_tables() {
  return {{"manifest", "a.csv.gz", {{"a.csv.gz", gzip(csv_file())}}},
          {"manifest", "a.csv.zst", {{"a.csv.zst", zstd(csv_file())}}},
          {"manifest", "a.jsonl.zst", {{"a.jsonl.zst", zstd(lines_file())}}},
          {"manifest", "a.jsonl.gz", {{"a.jsonl.gz", gzip(lines_file())}}},
          {"manifest", "named.csv", {{"named.csv", gzip(csv_file())}}},  // gzip itself, whatever its name
          {"tfrecord", "r", {{"r/a.tfrecord.gz", gzip(tf_file())}}},
          {"tfrecord", "a.tfrecord", {{"a.tfrecord", zstd(tf_file())}}},
          {"mds",
           "m",
           {{"m/index.json", packed_index("s.mds", "s.mds.zstd", "zstd:7")},
            {"m/s.mds.zstd", zstd(mds_shard(all_texts()))}}},
          {"mds",
           "m",
           {{"m/index.json", packed_index("s.mds", "s.mds.gz", "gz")}, {"m/s.mds.gz", gzip(mds_shard(all_texts()))}}},
          // As Streaming leaves its local folder: the shard unpacked.
          {"mds",
           "m",
           {{"m/index.json", packed_index("s.mds", "s.mds.zstd", "zstd")}, {"m/s.mds", mds_shard(all_texts())}}}};
}

}  // namespace

TEST_CASE("compressed tables have the rows of plain ones, in any order, local and in a store") {
  for (const PackedTable& table : packed_tables()) {
    INFO(table.type << ' ' << table.files.rbegin()->first);
    TableFolder folder;
    for (const auto& [name, content] : table.files) folder.file(name, content);
    const auto local = folder.local(table.type, table.uri), remote = folder.remote(table.type, table.uri);
    CHECK(local->fingerprint() == remote->fingerprint());
    for (const auto* listing : {local.get(), remote.get()}) {
      REQUIRE(listing->size() == kRows);
      CHECK(listing->missing_count() == 0);
      CHECK((listing->streaming() != nullptr) == !table.files.contains("m/s.mds"));
      if (listing->streaming() != nullptr) CHECK(listing->streaming()->goes_forward);
      CHECK(listing->unchanged());
      size_t wrong = 0;
      for (uint64_t i = 0; i < kRows; i += 100) {
        listing->expect(i, i, 100);
        wrong += contents(*listing, i, {"text"}) != Texts{text_of(static_cast<int>(i))};
      }
      for (const uint64_t row : {2999, 0, 1717})
        wrong += contents(*listing, row, {"text"}) != Texts{text_of(static_cast<int>(row))};
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("the index of a compressed table is kept, and read anew where the file changes") {
  for (const PackedTable& table : packed_tables()) {
    INFO(table.type << ' ' << table.files.rbegin()->first);
    TableFolder folder;
    for (const auto& [name, content] : table.files) folder.file(name, content);
    KeptUse use;
    const auto first = folder.remote(table.type, table.uri, {}, &use);
    const size_t reads = folder.store->count("read");
    const auto second = folder.remote(table.type, table.uri, {}, &use);
    CHECK(folder.store->count("read") == reads);
    CHECK(use.taken > 0);
    CHECK(second->fingerprint() == first->fingerprint());
    CHECK(contents(*second, 2000, {"text"}) == Texts{text_of(2000)});
    if (table.type != "manifest" || !table.files.contains("a.csv.gz")) continue;
    folder.file("a.csv.gz", gzip("image,text\np/1.jpg,other\n"));
    CHECK_FALSE(second->unchanged());
    CHECK(folder.remote(table.type, table.uri, {}, &use)->size() == 1);
  }
}

TEST_CASE("a damaged or cut table loses the rows behind, and says so") {
  TableFolder folder;
  const std::string whole = gzip(csv_file());
  folder.file("cut.csv.gz", whole.substr(0, whole.size() / 2));
  const auto cut = folder.local("manifest", "cut.csv.gz");
  CHECK(cut->size() > 100);
  CHECK(cut->size() < kRows);
  REQUIRE(cut->missing_count() > 0);
  CHECK_THAT(cut->missing()[cut->missing_count() - 1], Contains("cut.csv.gz: its gzip data is cut at byte"));
  CHECK(contents(*cut, 50, {"text"}) == Texts{text_of(50)});
  std::string wrong_sum = whole;
  wrong_sum[wrong_sum.size() - 6] ^= 1;
  folder.file("sum.csv.gz", wrong_sum);
  CHECK_THAT(folder.refusal("manifest", "sum.csv.gz").message, Contains("a checksum or a size is wrong"));
  folder.file("none.csv.gz", std::string("\x1f\x8b\x08\x00", 4) + "nothing");
  CHECK_THAT(folder.refusal("manifest", "none.csv.gz").message, Contains("none.csv.gz: its gzip data is"));
  folder.file("a.csv.xz", std::string("\xfd"
                                      "7zXZ\0",
                                      6) +
                              "...");
  CHECK_THAT(folder.refusal("manifest", "a.csv.xz").message, Contains("is compressed by xz, which is not read"));
  std::string index = packed_index("s.mds", "s.mds.zstd", "zstd");
  folder.file("m/index.json", index);
  CHECK_THAT(folder.refusal("mds", "m").message, Contains("s.mds.zstd does not exist"));
  folder.file("m/s.mds.zstd", zstd(mds_shard({"another", "shard"})));
  CHECK_THAT(folder.refusal("mds", "m").message, Contains("is no whole shard"));
}

TEST_CASE("a table that unpacks to far more than it has is cut off with its reason") {
  TableFolder folder;
  const std::string packed = zstd("a\n" + std::string(200 << 20, '\n'));
  REQUIRE(packed.size() * 1024 + (64 << 20) < (200 << 20));
  folder.file("bomb.csv.zst", packed);
  CHECK_THAT(folder.refusal("manifest", "bomb.csv.zst").message,
             Contains("its zstd data unpacks to more than 1024 times its size"));
}

TEST_CASE("a compressed manifest of files may be shuffled, since names are in memory") {
  TableFolder folder;
  folder.file("a.csv.gz", gzip(csv_file()));
  for (const char* name : {"0", "1", "2"})
    folder.file("p/" + std::string(name) + ".jpg", "picture " + std::string(name));
  const auto with = [&](const Texts& wanted) {
    return open_listing(folder.spec_of("manifest", folder.temp / "a.csv.gz", {{"files", std::string("image")}}), {}, {},
                        {}, nullptr, {nullptr, folder.stores}, wanted);
  };
  const auto pictures = with({"image"});
  CHECK(pictures->streaming() == nullptr);
  CHECK(contents(*pictures, 2, {"image"}) == Texts{"picture 2"});
  CHECK(with({"image", "text"})->streaming() != nullptr);
  CHECK(with({"none;text"})->streaming() != nullptr);
}

}  // namespace spdld::packed_tables_test
