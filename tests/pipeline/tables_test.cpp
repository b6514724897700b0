// Tables through a plan: what their fields become in a batch, and what is refused before the first step.
#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>

#include "config/checks/load.h"
#include "daemon/pipeline/plan.h"
#include "daemon/rows/length_index.h"
#include "daemon/rows/row_listing.h"
#include "daemon/source/opening/opening.h"
#include "tests/source/fetch_once.h"
#include "tests/support/makers/npy_maker.h"
#include "tests/support/temp_dir.h"

namespace spdld::tables_test {

using namespace spdld;
using Catch::Contains;

namespace {

class Table : public test::TempDir {
 public:
  void file(const std::string& name, const std::string& content) const {
    std::ofstream(path() / name, std::ios::binary) << content;
  }

  // A pipeline of this source; `outputs` are its tables.
  config::PipelineSpec spec(const std::string& source, const std::string& outputs) const {
    auto loaded = config::load_pipeline_toml("name = \"t\"\n[source]\n" + source + "\n[batch]\nsize = 1\n" + outputs,
                                             "t.toml", path());
    INFO(loaded.sentences());
    REQUIRE(loaded);
    return *loaded.value;
  }

  // The first tensor of a sample, or why there is none.
  template <typename T>
  std::vector<T> tensor(const config::PipelineSpec& spec, uint64_t sample) const {
    const auto listing = source::open_listing(spec.sources[0], {}, {});
    const pipeline::Plan plan(spec, *listing);
    const batch::Layout layout(plan.tensors(), 1, 1 << 20);
    std::vector<uint8_t> slot(layout.slot_bytes(), 0xff);
    source::LocalFetcher fetcher(1);
    source::FetchRequest request;
    request.listing = listing.get();
    request.sample = sample;
    for (const auto& use : plan.fetched()) request.fields.push_back({.field = use.field});
    test::fetch_once(fetcher, request);
    INFO(request.error.message);
    REQUIRE(request.ok);
    std::vector<pipeline::FieldBytes> fields(request.fields.size());
    for (size_t i = 0; i < fields.size(); ++i) fields[i].bytes = request.bytes[i].bytes();
    pipeline::DecodeContext context;
    const Status status = plan.run({*listing, sample, fields}, {}, context, {layout, slot.data(), 0});
    INFO((status ? "" : status.error().message));
    REQUIRE(status);
    std::vector<T> values(plan.tensors()[0].sample_bytes / sizeof(T));
    std::memcpy(values.data(), layout.sample_at(slot.data(), 0, 0), values.size() * sizeof(T));
    return values;
  }

  std::string refused(const config::PipelineSpec& spec) const {
    const auto listing = source::open_listing(spec.sources[0], {}, {});
    try {
      const pipeline::Plan plan(spec, *listing);
    } catch (const SetupError& error) {
      return error.what();
    }
    return "";
  }
};

std::string output(const std::string& from, const std::string& ops) {
  return "[[output]]\nname = \"x\"\nfrom = \"" + from + "\"\n" + (ops.empty() ? "" : "ops = [" + ops + "]\n");
}

}  // namespace

TEST_CASE("a manifest's columns are numbers, lists, classes and values in JSON") {
  const Table table;
  table.file("t.csv", "n,list,label,meta\n7,\"1, 2.5\",b,\"{\"\"a\"\": [3, {\"\"b\"\": 4}]}\"\n8,\"3, 4\",a,{}\n");
  const std::string source = "type = \"manifest\"\nuri = \"t.csv\"\nclass = \"label\"";
  const auto of = [&](const std::string& from, const std::string& ops) {
    return table.spec(source, output(from, ops));
  };
  CHECK(table.tensor<int64_t>(of("n", "{ op = \"parse-int\" }"), 1) == std::vector<int64_t>{8});
  CHECK(table.tensor<float>(of("list", "{ op = \"parse-list\", dtype = \"float32\", length = 2 }"), 0) ==
        std::vector<float>{1, 2.5});
  CHECK(table.tensor<int64_t>(of("class", ""), 0) == std::vector<int64_t>{1});
  CHECK(table.tensor<int64_t>(of("meta:a[1].b", "{ op = \"parse-int\" }"), 0) == std::vector<int64_t>{4});
  CHECK(table.tensor<char>(of("__key__", "{ op = \"pad-bytes\", length = 7 }"), 1) ==
        std::vector<char>{'t', '.', 'c', 's', 'v', ':', '1'});
  CHECK_THAT(table.refused(of("none", "{ op = \"parse-int\" }")), Contains("n, list, label, meta, class, __key__"));
}

TEST_CASE("a column's bytes are measured, and can't be cut") {
  const Table table;
  table.file("t.csv", "caption,b\n\"a \"\"b\"\"\",YWJj\nlonger,YQ==\n");
  const auto spec = table.spec("type = \"manifest\"\nuri = \"t.csv\"\nbase64 = \"b\"",
                               output("caption", "{ op = \"pad-bytes\", length = 9 }"));
  const auto listing = source::open_listing(spec.sources[0], {}, {});
  const auto captions = rows::make_length_index(*listing, 0, rows::Measure::kBytes, {}, {});
  CHECK((*captions)[0] == 5);
  CHECK((*captions)[1] == 6);
  const auto contents = rows::make_length_index(*listing, 1, rows::Measure::kBytes, {}, {});
  CHECK((*contents)[0] == 3);
  CHECK((*contents)[1] == 1);
  const auto windows =
      table.spec("type = \"manifest\"\nuri = \"t.csv\"\n[rows]\nkind = \"windows\"\nfrom = \"caption\"\nlength = 2",
                 output("caption", "{ op = \"pad-bytes\", length = 9 }"));
  CHECK_THROWS_WITH(
      rows::list_rows(windows, windows.sources[0], source::open_listing(windows.sources[0], {}, {}), {}, {}, {}),
      Contains("are a part of a table's row, which can't be cut"));
}

TEST_CASE("rows of an array, and parts of records") {
  const Table table;
  table.file("a.npy",
             test::make_npy("<i4", "(2, 3)", std::string("\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5\0\0\0\6\0\0\0", 24)));
  const auto array = [&](const std::string& ops) {
    return table.spec("type = \"npy\"\nuri = \"a.npy\"", output("array", ops));
  };
  CHECK(table.tensor<int32_t>(array("{ op = \"raw\", dtype = \"int32\", shape = 3 }"), 1) ==
        std::vector<int32_t>{4, 5, 6});
  CHECK(table.tensor<int32_t>(array("{ op = \"raw\", dtype = \"int32\", offset = 4 }"), 0) == std::vector<int32_t>{2});
  CHECK_THAT(table.refused(array("{ op = \"raw\", dtype = \"float32\", shape = 3 }")),
             Contains("output 'x': ops[0] wants float32 [3], and the field's values are int32 [3]"));
  CHECK_THAT(table.refused(array("{ op = \"raw\", dtype = \"int32\", shape = [3, 1] }")), Contains("are int32 [3]"));
  table.file("r.bin", std::string("head\1abc\2def", 12));
  const auto record = [&](const std::string& ops) {
    return table.spec("type = \"records\"\nuri = \"r.bin\"\nrecord_bytes = 4\nheader_bytes = 4", output("record", ops));
  };
  CHECK(table.tensor<char>(record("{ op = \"raw\", dtype = \"uint8\", shape = 3, offset = 1 }"), 1) ==
        std::vector<char>{'d', 'e', 'f'});
  CHECK(table.tensor<int64_t>(record("{ op = \"raw-int\", dtype = \"uint8\", offset = 0 }"), 1) ==
        std::vector<int64_t>{2});
  CHECK_THAT(table.refused(record("{ op = \"raw\", dtype = \"uint8\", shape = 5 }")), Contains("the field has 4"));
}

}  // namespace spdld::tables_test
