// An index of lengths says what a decoder says of every picture, and never trusts what was kept of another file.
#include "daemon/rows/length_index.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "daemon/media/measure.h"
#include "daemon/store/packing.h"
#include "tests/source/made_listing.h"
#include "tests/source/temp_folder.h"
#include "tests/support/makers/jpeg_maker.h"
#include "tests/support/makers/png_maker.h"
#include "tests/support/makers/tar_writer.h"

namespace spdld::length_index_test {

using namespace spdld;
using namespace spdld::rows;
using namespace spdld::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

std::string text_of(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

std::string jpeg(int width, int height, int orientation = 0) {
  JpegOptions options;
  options.exif_orientation = orientation;
  return text_of(make_jpeg(width, height, options));
}

source::FieldId field_of(const source::Listing& listing, const std::string& name) {
  source::FieldId id = 0;
  REQUIRE(listing.find_field(name, &id));
  return id;
}

// As if the files had been changed long ago, each time at another moment.
void settle_all(const fs::path& folder) {
  static int64_t seconds = 1'000'000'000;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const struct timespec times[2] = {{0, UTIME_OMIT}, {++seconds, 0}};
    REQUIRE(::utimensat(AT_FDCWD, entry.path().c_str(), times, 0) == 0);
  }
}

// The only file in a folder.
fs::path only_file(const fs::path& folder) {
  REQUIRE(std::distance(fs::directory_iterator(folder), fs::directory_iterator()) == 1);
  return fs::directory_iterator(folder)->path();
}

std::unique_ptr<const LengthIndex> index_of(const source::Listing& listing, const std::string& field, Measure measure,
                                            const fs::path& kept = {}, IndexUse* use = nullptr) {
  return make_length_index(listing, field_of(listing, field), measure, {}, {}, kept, use);
}

// Its value has three bytes, and says that it may have more.
class ClaimedPacking final : public store::Packing {
 public:
  Result<Piece> find(std::span<const uint8_t> holder, uint32_t) const override {
    return Piece{holder.first(3), claimed, 0};
  }
  uint64_t claimed = 0;
};

}  // namespace

TEST_CASE("rows: an index of pictures has each one's height and width, upright or as stored") {
  const TempFolder folder;
  folder.file("data/a/1.jpg", jpeg(40, 30));
  folder.file("data/a/2.jpg", jpeg(40, 30, 6));
  folder.file("data/a/3.jpg", jpeg(40, 30, 3));
  folder.file("data/b/4.jpg", "no picture at all");
  folder.file("data/b/5.jpg", jpeg(17, 50));
  const auto listing = open("image-folder", folder / "data");

  const auto upright = index_of(*listing, "image", Measure::kUprightPicture);
  REQUIRE(upright->size() == 5);
  CHECK((upright->height(0) == 30 && upright->width(0) == 40));
  CHECK((upright->height(1) == 40 && upright->width(1) == 30));
  CHECK((upright->height(2) == 30 && upright->width(2) == 40));
  CHECK((*upright)[3] == 0);
  CHECK((*upright)[4] == 17 * 50);
  REQUIRE(upright->remarks().all().count == 1);
  CHECK_THAT(upright->remarks().all().first.front(), Contains("4.jpg") && Contains("gives no rows"));
  CHECK(upright->remarks().missing().count == 0);

  const auto stored = index_of(*listing, "image", Measure::kPicture);
  CHECK((stored->height(1) == 30 && stored->width(1) == 40));
  CHECK(stored->fingerprint() != upright->fingerprint());
  CHECK(stored->fingerprint() == index_of(*listing, "image", Measure::kPicture)->fingerprint());
}

TEST_CASE("rows: an index of bytes takes them from the archive's members or from the files") {
  const TempFolder folder;
  TarWriter tar;
  tar.file("a.txt", "12345");
  tar.file("a.cls", "1");
  tar.file("b.cls", "1");
  tar.file("c.txt", std::string(1000, 'x'));
  tar.end();
  folder.file("data.tar", tar.bytes());
  const auto archive = open("webdataset", folder / "data.tar");
  const auto of_archive = index_of(*archive, "txt", Measure::kBytes);
  CHECK((*of_archive)[0] == 5);
  CHECK((*of_archive)[1] == 0);
  CHECK((*of_archive)[2] == 1000);
  REQUIRE(of_archive->remarks().missing().count == 1);
  CHECK_THAT(of_archive->remarks().missing().first.front(), Contains("b") && Contains("txt"));

  folder.file("files/a/1.jpg", "123");
  folder.file("files/a/2.jpg", "");
  const auto files = open("image-folder", folder / "files");
  const auto of_files = index_of(*files, "image", Measure::kBytes);
  CHECK((*of_files)[0] == 3);
  CHECK((*of_files)[1] == 0);
  CHECK(of_files->remarks().all().count == 1);
}

TEST_CASE("rows: a packed value may say that it has as many bytes as a fetcher takes, and no byte more") {
  constexpr uint64_t kContentBytesMax = 1 << 30;
  House house;
  MadeListing listing(1);
  ClaimedPacking packing;
  listing.places = {house.at(0, 100)};
  listing.places.front().packing = &packing;
  for (const uint64_t beyond : {0, 1}) {
    packing.claimed = kContentBytesMax + beyond;
    const auto index = index_of(listing, "f0", Measure::kBytes);
    CHECK((*index)[0] == (beyond == 0 ? 3 : 0));
    CHECK(index->remarks().all().count == beyond);
  }
}

TEST_CASE("rows: the head of a JPEG says what its decoder says, or nothing") {
  media::Workspace workspace;
  for (int coding = 0; coding < kCodings; coding++) {
    for (int orientation = 0; orientation <= 8; orientation++) {
      JpegOptions options = coded(coding, Subsampling::k420);
      options.exif_orientation = orientation;
      const std::vector<uint8_t> bytes = make_jpeg(61, 37, options);
      for (const bool upright : {false, true}) {
        const auto whole = media::measure_picture(bytes, upright, workspace);
        REQUIRE(whole);
        const bool turned = upright && orientation >= 5;
        CHECK(*whole == (turned ? media::PictureSides{61, 37} : media::PictureSides{37, 61}));
        bool was_told = false;
        for (size_t size = 0; size <= bytes.size(); size += size < 1000 ? 1 : 97) {
          const auto sides = media::sides_in_head(std::span(bytes).first(size), upright);
          if (sides) CHECK(*sides == *whole);
          CHECK((!was_told || sides));  // once the head tells it, a longer one does
          was_told |= sides.has_value();
        }
        CHECK(was_told);
      }
    }
  }
}

TEST_CASE("rows: a kept index is taken for unchanged files alone, and damage to it costs time alone") {
  const TempFolder folder;
  const fs::path kept = folder.path() / "kept";
  for (int i = 0; i < 300; i++) folder.file("data/a/" + std::to_string(1000 + i) + ".jpg", jpeg(8 + i % 50, 9));
  folder.file("data/a/large.png", text_of(make_png(33, 44).bytes));
  settle_all(folder.path() / "data");
  config::Parameters parameters;
  parameters["extensions"] = std::string("jpg,png");
  const auto listing = open("image-folder", folder / "data", parameters);
  IndexUse use;
  const auto first = index_of(*listing, "image", Measure::kUprightPicture, kept, &use);
  CHECK((use.taken == 0 && use.read == 301 && use.trouble.empty()));
  CHECK((first->height(300) == 44 && first->width(300) == 33));

  const auto again = index_of(*listing, "image", Measure::kUprightPicture, kept, &use);
  CHECK((use.taken == 301 && use.read == 0));
  CHECK(again->fingerprint() == first->fingerprint());

  SECTION("a file that changed is measured again") {
    folder.file("data/a/1005.jpg", jpeg(100, 200));
    settle_all(folder.path() / "data/a/..");
    index_of(*listing, "image", Measure::kUprightPicture, kept, &use);  // all have new times
    CHECK(use.read == 301);
    folder.file("data/a/1007.jpg", jpeg(300, 200));
    const auto changed = index_of(*listing, "image", Measure::kUprightPicture, kept, &use);
    CHECK((use.taken == 300 && use.read == 1));
    CHECK((changed->height(7) == 200 && changed->width(7) == 300));
    CHECK(changed->fingerprint() != first->fingerprint());
  }
  SECTION("another measure has an index of its own") {
    index_of(*listing, "image", Measure::kPicture, kept, &use);
    CHECK(use.read == 301);
  }
  SECTION("records that begin with the same file have an index of their own") {
    parameters["extensions"] = std::string("jpg");
    const auto fewer = open("image-folder", folder / "data", parameters);
    index_of(*fewer, "image", Measure::kUprightPicture, kept, &use);
    CHECK((use.taken == 0 && use.read == 300));
    index_of(*listing, "image", Measure::kUprightPicture, kept, &use);
    CHECK((use.taken == 301 && use.read == 0));
  }
  SECTION("a damaged index counts as absent") {
    const fs::path file = only_file(kept);
    std::string bytes(fs::file_size(file), '\0');
    std::ifstream(file, std::ios::binary).read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    for (const size_t cut : {bytes.size() - 1, bytes.size() / 2, size_t{40}, size_t{0}}) {
      std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes.substr(0, cut);
      const auto made = index_of(*listing, "image", Measure::kUprightPicture, kept, &use);
      CHECK((use.taken == 0 && made->fingerprint() == first->fingerprint()));
    }
    bytes[bytes.size() / 2] ^= 1;
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
    CHECK(index_of(*listing, "image", Measure::kUprightPicture, kept, &use)->fingerprint() == first->fingerprint());
    CHECK(use.taken == 0);
  }
}

TEST_CASE("rows: a header that claims more pixels than are decoded gives no rows") {
  const TempFolder folder;
  std::string bytes = jpeg(40, 30);
  for (size_t at = 2; at + 9 < bytes.size(); at++) {
    if (bytes[at] != '\xff' || bytes[at + 1] != '\xc0') continue;
    for (int i = 0; i < 4; i++) bytes[at + 5 + static_cast<size_t>(i)] = '\xff';  // height and width
    break;
  }
  folder.file("data/a/1.jpg", bytes);
  const auto listing = open("image-folder", folder / "data");
  const auto index = index_of(*listing, "image", Measure::kUprightPicture);
  CHECK((*index)[0] == 0);
  CHECK(index->remarks().all().count == 1);
}

TEST_CASE("rows: making an index can be stopped") {
  const TempFolder folder;
  folder.file("data/a/1.jpg", jpeg(8, 8));
  const auto listing = open("image-folder", folder / "data");
  std::stop_source stop;
  stop.request_stop();
  CHECK_THROWS_WITH(make_length_index(*listing, field_of(*listing, "image"), Measure::kPicture, {}, stop.get_token()),
                    Contains("stopped"));
}

}  // namespace spdld::length_index_test
