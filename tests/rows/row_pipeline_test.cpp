// Rows through whole pipelines: every row of every epoch beside a slow model of what it must be, over all ranks, from
// random places on, and whatever the cache keeps.
#include <algorithm>
#include <fstream>
#include <random>
#include <set>

#include "tests/rows/run.h"
#include "tests/source/temp_folder.h"
#include "tests/support/makers/jpeg_maker.h"
#include "tests/support/makers/png_maker.h"
#include "tests/support/makers/tar_writer.h"

namespace spdld::row_pipeline_test {

using namespace spdld;
using namespace spdld::test;
using Catch::Contains;

namespace {

constexpr size_t kCanvas = 128;  // pixels a side, at least as large as every picture

std::string text_of(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }

std::string head(const std::string& type, const std::string& uri, const std::string& order) {
  return "name = \"rows\"\nseed = 3\non_bad = \"fail\"\n[batch]\nsize = 6\n[source]\ntype = \"" + type +
         "\"\nuri = \"" + uri + "\"\n" + (type == "image-folder" ? "extensions = \"jpg,png\"\n" : "") + "[order]\n" +
         order + "\n";
}

const char* const kPicture = "[[output]]\nname = \"picture\"\nfrom = \"image\"\nops = [{ op = \"decode-image\" }, ";

std::string integer_output(const std::string& from) {
  return "[[output]]\nname = \"" + from + "\"\nfrom = \"" + from + "\"\n";
}

void make_pictures(const TempFolder& folder) {
  int number = 0;
  for (const auto& [width, height] : {std::pair{100, 70}, {33, 128}, {20, 20}, {64, 48}, {90, 31}}) {
    JpegOptions options = coded(number % 3, Subsampling::k420);
    options.exif_orientation = number % 2 ? 6 : 0;
    options.seed = static_cast<uint32_t>(number);
    folder.file("data/a/" + std::to_string(number++) + ".jpg", text_of(make_jpeg(width, height, options)));
  }
  folder.file("data/b/p.png", text_of(make_png(77, 55).bytes));
}

struct Picture {
  size_t height = 0, width = 0;
  Bytes canvas;  // NHWC, the picture in the middle as center-crop puts it there
  // A pixel's value; black outside.
  uint8_t at(size_t y, size_t x, size_t channel) const {
    if (y >= height || x >= width) return 0;
    return canvas[(((kCanvas - height) / 2 + y) * kCanvas + (kCanvas - width) / 2 + x) * 3 + channel];
  }
};

// All pictures, whole, by a pipeline without rows.
std::vector<Picture> whole_pictures(const std::string& uri, const std::vector<std::pair<size_t, size_t>>& sizes) {
  PipelineRun run(load_spec(head("image-folder", uri, "shuffle = false") + kPicture +
                            "{ op = \"center-crop\", size = 128 }, " + "{ op = \"convert\", layout = \"NHWC\" }]\n"));
  std::vector<Picture> pictures;
  for (auto& sample : run.take()) {
    const auto [height, width] = sizes.at(pictures.size());
    pictures.push_back({height, width, std::move(sample["picture"])});
  }
  return pictures;
}

// The tile at (y, x), as it must be.
Bytes tile_of(const Picture& picture, size_t y, size_t x, size_t height, size_t width) {
  Bytes tile;
  for (size_t row = y; row < y + height; row++)
    for (size_t column = x; column < x + width; column++)
      for (size_t channel = 0; channel < 3; channel++) tile.push_back(picture.at(row, column, channel));
  return tile;
}

using Members = std::vector<std::string>;  // the texts of records

void make_archive(const TempFolder& folder, const std::string& name, const Members& texts) {
  TarWriter tar;
  for (size_t i = 0; i < texts.size(); i++) {
    const std::string key = std::to_string(1000 + i);
    tar.file(key + ".txt", texts[i]);
    tar.file(key + ".cls", std::to_string(i));
  }
  tar.end();
  folder.file(name, tar.bytes());
}

Members random_texts(uint64_t seed, size_t count, size_t longest) {
  std::mt19937_64 random(seed);
  Members texts(count);
  for (std::string& text : texts)
    for (size_t i = 1 + random() % longest; i > 0; i--) text += static_cast<char>(1 + random() % 255);
  return texts;
}

std::string padded(std::string text, size_t length) {
  text.resize(length, '\0');
  return text;
}

// What all ranks of a job get, each from its own start; each sample as the text that `tell` makes of it.
std::multiset<std::string> of_all_ranks(PipelineRun& run, uint64_t world_size,
                                        const std::function<std::string(const std::map<std::string, Bytes>&)>& tell) {
  std::multiset<std::string> all;
  for (uint64_t rank = 0; rank < world_size; rank++)
    for (const auto& sample : run.take({}, rank, world_size)) all.insert(tell(sample));
  return all;
}

// The stream from a later place on is the rest of the stream from the beginning.
void check_resumed(PipelineRun& run, const PipelineRun::Samples& all, uint64_t epochs) {
  std::mt19937_64 random(9);
  const uint64_t size = run.pipeline->spec().batch.size, rows = run.pipeline->samples();
  for (int trial = 0; trial < 5; trial++) {
    const uint64_t epoch = random() % epochs, step = random() % ((rows + size - 1) / size);
    const PipelineRun::Samples rest = run.take({epoch, step});
    const auto skipped = static_cast<std::ptrdiff_t>(epoch * rows + step * size);
    REQUIRE(rest == PipelineRun::Samples(all.begin() + skipped, all.end()));
  }
}

}  // namespace

TEST_CASE("rows: the tiles of an epoch are the whole pictures again, whatever the cache keeps") {
  const TempFolder folder;
  make_pictures(folder);
  const std::string uri = folder / "data";
  const auto pictures = whole_pictures(uri, {{70, 100}, {33, 128}, {20, 20}, {64, 48}, {31, 90}, {55, 77}});
  REQUIRE(pictures.size() == 6);
  for (const std::string cache : {"off", "encoded", "decoded"}) {
    for (const std::string partial : {"keep", "drop"}) {
      INFO(cache << ' ' << partial);
      PipelineRun run(
          load_spec("cache = \"" + cache + "\"\n" + head("image-folder", uri, "epochs = 2") +
                    "[rows]\nkind = \"tiles\"\nfrom = \"image\"\nsize = [24, 32]\nstride = [24, 20]\npartial = \"" +
                    partial + "\"\n" + kPicture + "{ op = \"tile\" }, { op = \"convert\", layout = \"NHWC\" }]\n" +
                    integer_output("row.record") + integer_output("row.y") + integer_output("row.x") +
                    integer_output("row.part")));
      const PipelineRun::Samples all = run.take();
      REQUIRE(all.size() == 2 * run.pipeline->samples());
      std::set<std::vector<int64_t>> seen;
      for (size_t i = 0; i < all.size(); i++) {
        const auto record = static_cast<size_t>(integer_of(all[i], "row.record"));
        const int64_t y = integer_of(all[i], "row.y"), x = integer_of(all[i], "row.x");
        seen.insert({static_cast<int64_t>(i / run.pipeline->samples()), static_cast<int64_t>(record), y, x});
        REQUIRE(all[i].at("picture") ==
                tile_of(pictures.at(record), static_cast<size_t>(y), static_cast<size_t>(x), 24, 32));
      }
      REQUIRE(seen.size() == all.size());
      // Every pixel is in some tile of each epoch, where none is dropped.
      size_t tiles = 0;
      for (const Picture& picture : pictures) {
        const auto parts = [&](size_t side, size_t size, size_t stride) {
          size_t count = 0;
          for (size_t start = 0; start + size <= side; start += stride) count++;
          const bool is_covered = count > 0 && (count - 1) * stride + size >= side;
          return count + (partial == "keep" && !is_covered ? 1 : 0);
        };
        tiles += parts(picture.height, 24, 24) * parts(picture.width, 32, 20);
      }
      REQUIRE(tiles == run.pipeline->samples());
      check_resumed(run, all, 2);
      const auto shelves = run.pipeline->caching().report();
      REQUIRE(shelves.empty() == (cache == "off"));
      if (!shelves.empty()) CHECK(shelves[0].memory_entries == (partial == "keep" ? 6 : 5));  // one is too small
    }
  }
}

TEST_CASE("rows: a picture that is kept decoded is decoded once for all its tiles") {
  const TempFolder folder;
  folder.file("data/a/0.jpg", text_of(make_jpeg(120, 120)));
  PipelineRun run(
      load_spec("cache = \"decoded\"\n" + head("image-folder", folder / "data", "shuffle = false") +
                "[rows]\nkind = \"tiles\"\nfrom = \"image\"\nsize = 10\n" + kPicture + "{ op = \"tile\" }]\n"),
      1);
  const uint64_t tiles = run.take().size();
  REQUIRE(tiles == 144);
  const auto report = run.pipeline->caching().report().at(0);
  CHECK(report.memory_entries == 1);
  // Tiles that are on their way while the first one is decoded miss the cache, and no later ones do.
  CHECK(report.misses < 40);
  CHECK(report.memory_hits + report.misses == tiles);
}

TEST_CASE("rows: windows of documents, shuffled, over ranks and epochs") {
  const TempFolder folder;
  const Members texts = random_texts(4, 40, 90);
  make_archive(folder, "data.tar", texts);
  for (const bool keeps : {true, false}) {
    PipelineRun run(
        load_spec(head("webdataset", folder / "data.tar", "epochs = 2") +
                  "[rows]\nkind = \"windows\"\nfrom = \"txt\"\nlength = 16\nstride = 12\npartial = \"" +
                  (keeps ? "keep" : "drop") + "\"\n[[output]]\nname = \"text\"\nfrom = \"txt\"\n" +
                  "ops = [{ op = \"pad-bytes\", length = 16 }]\n[[output]]\nname = \"label\"\nfrom = \"cls\"\n" +
                  "dtype = \"int64\"\n" + integer_output("row.record") + integer_output("row.first")));
    const auto tell = [](const std::map<std::string, Bytes>& sample) {
      CHECK(integer_of(sample, "label") == integer_of(sample, "row.record"));
      return std::to_string(integer_of(sample, "row.record")) + '@' + std::to_string(integer_of(sample, "row.first")) +
             ' ' + text_of(sample.at("text"));
    };
    std::multiset<std::string> model;
    for (size_t record = 0; record < texts.size(); record++) {
      const std::string& text = texts[record];
      for (size_t first = 0; first == 0 || first + 4 < text.size(); first += 12) {  // 4: what neighbours share
        if (!keeps && first + 16 > text.size()) continue;
        const std::string row =
            std::to_string(record) + '@' + std::to_string(first) + ' ' + padded(text.substr(first, 16), 16);
        model.insert(row), model.insert(row);  // two epochs
      }
    }
    REQUIRE(2 * run.pipeline->samples() == model.size());
    CHECK(of_all_ranks(run, 1, tell) == model);
    CHECK(of_all_ranks(run, 3, tell) == model);
    check_resumed(run, run.take(), 2);
  }
}

TEST_CASE("rows: packed rows hold the documents one after the other") {
  const TempFolder folder;
  const Members texts = random_texts(5, 60, 40);
  make_archive(folder, "data.tar", texts);
  for (const int separator : {-1, 0, 255}) {
    std::string stream;
    for (const std::string& text : texts) stream += separator < 0 ? text : text + static_cast<char>(separator);
    for (const size_t length : {size_t{1}, size_t{7}, size_t{100}, stream.size(), stream.size() + 5}) {
      PipelineRun run(
          load_spec(head("webdataset", folder / "data.tar", "shuffle = true") +
                    "[rows]\nkind = \"packed\"\nfrom = \"txt\"\nlength = " + std::to_string(length) +
                    (separator < 0 ? "" : "\nseparator = " + std::to_string(separator)) +
                    "\n[[output]]\nname = \"text\"\nfrom = \"txt\"\nops = [{ op = \"pad-bytes\", length = " +
                    std::to_string(length) + " }]\n"));
      std::multiset<std::string> model;
      for (size_t first = 0; first < stream.size(); first += length)
        model.insert(std::to_string(first / length) + ' ' + padded(stream.substr(first, length), length));
      const auto tell = [](const std::map<std::string, Bytes>& sample) {
        return std::to_string(integer_of(sample, "sample_id")) + ' ' + text_of(sample.at("text"));
      };
      CHECK(of_all_ranks(run, 1, tell) == model);
      if (length == 7) {
        CHECK(of_all_ranks(run, 4, tell) == model);
        check_resumed(run, run.take(), 1);
      }
    }
  }
}

TEST_CASE("rows: a mix gives rows of each of its sources") {
  const TempFolder folder;
  const Members first = random_texts(6, 20, 50), second = random_texts(7, 9, 80);
  make_archive(folder, "first.tar", first);
  make_archive(folder, "second.tar", second);
  for (const std::string rule : {"kind = \"windows\"\nlength = 10\n", "kind = \"packed\"\nlength = 10\n"}) {
    PipelineRun run(
        load_spec("name = \"mix\"\non_bad = \"fail\"\n[batch]\nsize = 5\n[[sources]]\nname = \"a\"\ntype = "
                  "\"webdataset\"\nuri = \"" +
                  folder / "first.tar" + "\"\n[[sources]]\nname = \"b\"\ntype = \"webdataset\"\nuri = \"" +
                  folder / "second.tar" + "\"\n[rows]\nfrom = \"txt\"\n" + rule +
                  "[[output]]\nname = \"text\"\nfrom = \"txt\"\nops = [{ op = \"pad-bytes\", length = 10 }]\n"));
    std::multiset<std::string> model;
    for (const Members& texts : {first, second}) {
      std::string stream;
      for (const std::string& text : texts) {
        stream += text;
        if (rule.find("windows") == std::string::npos) continue;
        for (size_t at = 0; at < text.size(); at += 10) model.insert(padded(text.substr(at, 10), 10));
      }
      if (rule.find("packed") == std::string::npos) continue;
      for (size_t at = 0; at < stream.size(); at += 10) model.insert(padded(stream.substr(at, 10), 10));
    }
    CHECK(of_all_ranks(run, 2, [](const auto& sample) { return text_of(sample.at("text")); }) == model);
  }
}

TEST_CASE("rows: lists name records and take all their rows, and `first` counts rows") {
  const TempFolder folder;
  make_archive(folder, "data.tar", {"aaaabbbb", "cccc", "ddddeeeeffff"});
  folder.file("list.txt", "data.tar:1000\ndata.tar:1002\n");
  folder.file("weights.txt", "data.tar:1000,0\ndata.tar:1001,0\ndata.tar:1002,2\n");
  const auto rows_with = [&](const std::string& order) {
    PipelineRun run(
        load_spec(head("webdataset", folder / "data.tar", order) +
                  "[rows]\nkind = \"windows\"\nfrom = \"txt\"\nlength = 4\n[[output]]\nname = \"text\"\nfrom = "
                  "\"txt\"\nops = [{ op = \"pad-bytes\", length = 4 }]\n"));
    std::string texts;
    for (const auto& sample : run.take()) texts += text_of(sample.at("text")).substr(0, 1);
    return texts;
  };
  CHECK(rows_with("shuffle = false") == "abcdef");
  std::string weighted = rows_with("weights = \"" + folder / "weights.txt" + "\"\nreplacement = false");
  std::sort(weighted.begin(), weighted.end());
  CHECK(weighted == "def");
  CHECK(rows_with("shuffle = false\ninclude = \"" + folder / "list.txt" + "\"") == "abdef");
  CHECK(rows_with("shuffle = false\nexclude = \"" + folder / "list.txt" + "\"") == "c");
  CHECK(rows_with("shuffle = false\nfirst = 4") == "abcd");
}

TEST_CASE("rows: a record that was replaced is bad content, and a new index another run") {
  const TempFolder folder;
  folder.file("data/a/0.jpg", text_of(make_jpeg(40, 40)));
  const std::string tiles = head("image-folder", folder / "data", "shuffle = false") +
                            "[rows]\nkind = \"tiles\"\nfrom = \"image\"\nsize = 20\n" + kPicture +
                            "{ op = \"tile\" }]\n";
  const std::string windows =
      head("image-folder", folder / "data", "shuffle = false") +
      "[rows]\nkind = \"packed\"\nfrom = \"image\"\nlength = 50\n[[output]]\nname = \"b\"\nfrom "
      "= \"image\"\nops = [{ op = \"pad-bytes\", length = 50 }]\n";
  PipelineRun of_tiles(load_spec(tiles)), of_bytes(load_spec(windows));
  const std::string before = of_tiles.pipeline->fingerprint(6), bytes_before = of_bytes.pipeline->fingerprint(6);
  CHECK(of_tiles.pipeline->samples() == 4);
  CHECK(PipelineRun(load_spec(tiles)).pipeline->fingerprint(6) == before);
  folder.file("data/a/0.jpg", text_of(make_jpeg(60, 40)));
  // Several threads try its tiles, and any of them may be the first to fail.
  CHECK_THAT(of_tiles.failed(), Contains("another size than the 40 x 40 pixels") && Contains("a/0.jpg["));
  CHECK_THAT(of_bytes.failed(), Contains("when its rows were counted: was it replaced?"));
  PipelineRun again(load_spec(tiles));
  CHECK(again.pipeline->samples() == 6);
  CHECK(again.pipeline->fingerprint(6) != before);
  CHECK(PipelineRun(load_spec(windows)).pipeline->fingerprint(6) != bytes_before);
}

TEST_CASE("rows: what gives no row is told, and nothing at all is refused") {
  const TempFolder folder;
  make_archive(folder, "data.tar", {"aaaa", "b", "cccc"});
  const auto spec = load_spec(head("webdataset", folder / "data.tar", "") +
                              "[rows]\nkind = \"windows\"\nfrom = \"txt\"\nlength = 4\npartial = \"drop\"\n[[output]]\n"
                              "name = \"text\"\nfrom = \"txt\"\nops = [{ op = \"pad-bytes\", length = 4 }]\n");
  const auto listing = list(spec);
  CHECK(listing->size() == 2);
  CHECK(listing->record_count() == 3);
  CHECK(listing->name(1) == "data.tar:1002[0]");
  REQUIRE(listing->remark_count() == 1);
  CHECK_THAT(listing->remarks().front(), Contains("1 sample is smaller than a row") && Contains("data.tar:1001"));
  auto packed = spec.rows;
  packed.kind = config::RowKind::kPacked;
  const auto of_all = std::make_shared<rows::LengthIndex>(rows::Measure::kBytes, std::vector<uint64_t>{4, 1, 4});
  source::FieldId field = 0;
  auto records = open("webdataset", folder / "data.tar");
  REQUIRE(records->find_field("txt", &field));
  const auto packed_rows = rows::list_rows(packed, std::move(records), field, of_all);
  CHECK(packed_rows->size() == 2);
  REQUIRE(packed_rows->remark_count() == 1);
  CHECK_THAT(packed_rows->remarks().front(), Contains("the last 1 bytes fill no row"));
  make_archive(folder, "data.tar", {"a", "b"});
  CHECK_THROWS_WITH(list(spec), Contains("no record gives a row"));
  TarWriter tar;
  tar.file("1.txt", "aaaa");
  tar.file("2.cls", "0");
  tar.end();
  folder.file("data.tar", tar.bytes());
  CHECK_THROWS_WITH(list(spec), Contains("2") && Contains("txt"));
}

}  // namespace spdld::row_pipeline_test
