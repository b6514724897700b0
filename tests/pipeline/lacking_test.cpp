// Samples without a member that an output is made from: refused, or left out.
#include "daemon/pipeline/order/lacking.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <set>
#include <string>

#include "daemon/pipeline/order/choice.h"
#include "daemon/pipeline/plan.h"
#include "daemon/source/opening/opening.h"
#include "tests/support/makers/tar_writer.h"
#include "tests/support/temp_dir.h"

namespace spdld::lacking_test {

using namespace spdld;
using Catch::Contains;

namespace {

// Samples 0 to 9; 3 and 7 have no number.
struct Archive {
  explicit Archive(config::OnMissing on_missing) {
    test::TarWriter tar;
    for (int i = 0; i < 10; ++i) {
      tar.file(std::to_string(i) + ".txt", "t");
      if (i != 3 && i != 7) tar.file(std::to_string(i) + ".cls", "1");
    }
    tar.end().save(dir.path() / "a.tar");
    spec.name = "p";
    spec.sources[0].type = "webdataset";
    spec.sources[0].uris = {(dir.path() / "a.tar").string()};
    spec.sources[0].on_missing = on_missing;
    spec.batch.size = 1;
    spec.outputs = {{"value", "cls", {{"parse-int", {}, {}}}, {}}};
    listing = source::open_listings(spec.sources, {}, {});
  }
  pipeline::Choice choose() const {
    const pipeline::Plan plan(spec, *listing);
    return pipeline::choose(spec, *listing, {}, plan.fetched());
  }
  std::string refused() const {
    try {
      choose();
    } catch (const SetupError& error) {
      CHECK(error.trouble() == Trouble::kContent);
      return error.what();
    }
    return {};
  }
  void exclude(const std::string& ids) {
    spec.order.exclude = (dir.path() / "exclude").string();
    std::ofstream(spec.order.exclude) << ids;
  }
  std::set<uint64_t> taken(const pipeline::Choice& choice) const {
    const auto& subset = choice.mix.sources().front().order.subset();
    std::set<uint64_t> ids;
    for (uint64_t number = 0; number < subset.size(); ++number) ids.insert(subset[number]);
    return ids;
  }
  test::TempDir dir;
  config::PipelineSpec spec;
  std::unique_ptr<source::Listing> listing;
};

}  // namespace

TEST_CASE("a sample that lacks a member is refused by its name, with how to go on") {
  Archive archive(config::OnMissing::kRefuse);
  CHECK_THAT(archive.refused(),
             Contains("a.tar:3 has no \"cls\"") && Contains("a.tar:7") && Contains("on_missing = \"warn\""));
  archive.exclude("3\n");
  CHECK_THAT(archive.refused(), !Contains("a.tar:3") && Contains("a.tar:7"));
  archive.exclude("3\n7\n");
  CHECK(archive.refused() == "");
  archive.spec.order.exclude.clear();
  archive.spec.order.first = 3;  // 0, 1, 2: what is not taken may lack what it likes
  CHECK(archive.refused() == "");
  archive.spec.order.first = 0;
  archive.spec.outputs[0] = {"text", "txt", {{"pad-bytes", {{"length", int64_t{4}}}, {}}}, {}};
  CHECK(archive.refused() == "");  // nor is a member missed that nothing is made from
}

TEST_CASE("with on_missing = warn the rest is taken, and nothing stands in for what is missing") {
  Archive archive(config::OnMissing::kWarn);
  const pipeline::Choice all = archive.choose();
  CHECK(archive.taken(all) == std::set<uint64_t>{0, 1, 2, 4, 5, 6, 8, 9});
  CHECK(all.lacking.missing().count == 2);
  CHECK_THAT(all.lacking.missing().first[1], Contains("a.tar:7"));
  CHECK(all.fingerprint != archive.listing->fingerprint());
  archive.spec.order.first = 5;  // others take the place of those left out
  CHECK(archive.taken(archive.choose()) == std::set<uint64_t>{0, 1, 2, 4, 5});
  archive.spec.order.first = 0;
  archive.exclude("0\n1\n2\n4\n5\n6\n8\n9\n");
  CHECK_THAT(archive.refused(), Contains("every sample"));
  archive.spec.order.exclude.clear();
  archive.spec.order.shuffle = config::Shuffle::kClient;  // ids are the listing's: all stay
  CHECK(archive.taken(archive.choose()).size() == 10);
  CHECK(archive.choose().lacking.missing().count == 2);
}

TEST_CASE("where no sample can lack a field, none is looked at, however many there are") {
  constexpr uint64_t kRows = uint64_t{1} << 40;  // a look at each would take hours
  const test::TempDir dir;
  const auto file = dir.path() / "sparse.bin";
  std::ofstream(file).put('x');
  std::filesystem::resize_file(file, kRows);
  config::PipelineSpec spec;
  spec.name = "p";
  spec.sources[0].type = "records";
  spec.sources[0].uris = {file.string()};
  spec.sources[0].parameters = {{"record_bytes", int64_t{1}}};
  spec.batch.size = 1;
  spec.outputs = {{"value", "record", {{"pad-bytes", {{"length", int64_t{1}}}, {}}}, {}}};
  const auto listing = source::open_listings(spec.sources, {}, {});
  const pipeline::Plan plan(spec, *listing);
  const pipeline::Choice choice = pipeline::choose(spec, *listing, {}, plan.fetched());
  CHECK(choice.mix.epoch_samples() == kRows);
  CHECK(listing->memory_bytes() < 4096);
}

TEST_CASE("a source whose samples lack nothing says nothing of the source behind it") {
  const test::TempDir dir;
  std::filesystem::create_directories(dir.path() / "folder/a");
  std::ofstream(dir.path() / "folder/a/x.bin").put('x');
  test::TarWriter tar;
  for (int i = 0; i < 10; ++i) tar.file(std::to_string(i) + (i == 5 ? ".txt" : ".image"), "1");
  tar.end().save(dir.path() / "a.tar");
  config::PipelineSpec spec;
  spec.name = "p";
  spec.sources.resize(2);
  spec.sources[0].name = "one";
  spec.sources[0].type = "image-folder";
  spec.sources[0].uris = {(dir.path() / "folder").string()};
  spec.sources[0].parameters = {{"extensions", std::string("bin")}};
  spec.sources[1].name = "two";
  spec.sources[1].type = "webdataset";
  spec.sources[1].uris = {(dir.path() / "a.tar").string()};
  spec.sources[1].on_missing = config::OnMissing::kWarn;
  spec.batch.size = 1;
  spec.outputs = {{"value", "image", {{"pad-bytes", {{"length", int64_t{4}}}, {}}}, {}}};
  const auto listing = source::open_listings(spec.sources, {}, {});
  const pipeline::Plan plan(spec, *listing);
  const pipeline::Choice choice = pipeline::choose(spec, *listing, {}, plan.fetched());
  CHECK(choice.lacking.missing().count == 1);
  CHECK(choice.mix.sources()[1].order.subset().size() == 9);
}

TEST_CASE("of several sources each is looked at by its own rule") {
  Archive archive(config::OnMissing::kWarn);
  archive.spec.sources.push_back(archive.spec.sources[0]);
  archive.spec.sources[0].name = "one", archive.spec.sources[1].name = "two";
  archive.listing = source::open_listings(archive.spec.sources, {}, {});
  const pipeline::Choice both = archive.choose();
  CHECK(both.lacking.missing().count == 4);
  CHECK_THAT(both.lacking.missing().first[2], Contains("two/a.tar:3"));
  for (const auto& source : both.mix.sources()) CHECK(source.order.subset().size() == 8);
  archive.spec.sources[1].on_missing = config::OnMissing::kRefuse;
  CHECK_THAT(archive.refused(), Contains("two/a.tar:3"));

  // A source behind another has its own samples, which lack other members.
  test::TarWriter tar;
  for (int i = 0; i < 10; ++i) tar.file(std::to_string(i) + (i == 5 ? ".txt" : ".cls"), "1");
  tar.end().save(archive.dir.path() / "b.tar");
  archive.spec.sources[1].uris = {(archive.dir.path() / "b.tar").string()};
  archive.spec.sources[1].on_missing = config::OnMissing::kWarn;
  archive.listing = source::open_listings(archive.spec.sources, {}, {});
  const pipeline::Choice others = archive.choose();
  CHECK(others.lacking.missing().count == 3);
  CHECK_THAT(others.lacking.missing().first[2], Contains("two/b.tar:5"));
  const auto& subset = others.mix.sources()[1].order.subset();
  for (uint64_t number = 0; number < subset.size(); ++number) CHECK(subset[number] != 5);
}

}  // namespace spdld::lacking_test
