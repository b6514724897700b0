// Lengths of videos in an index of lengths: they are measured once, by demuxing alone.
#include <fcntl.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "daemon/rows/length_index.h"
#include "tests/source/temp_folder.h"
#include "tests/support/makers/video_maker.h"

namespace spdld::video_length_test {

using namespace spdld;
using namespace spdld::rows;
using namespace spdld::test;
using Catch::Contains;

TEST_CASE("rows: an index of videos has their frames or their durations, and is kept") {
  const TempFolder folder;
  folder.file("data/a/0.mkv", "no video");
  make_video(folder.path() / "data/a/1.mp4", "64x48", "10", 2.5, "-c:v libx264 -g 5 -bf 2 -pix_fmt yuv420p");
  make_video(folder.path() / "data/a/2.mkv", "64x48", "25", 1, "-c:v ffv1");
  for (const auto& entry : std::filesystem::directory_iterator(folder.path() / "data/a")) {
    const struct timespec times[2] = {{0, UTIME_OMIT}, {1'000'000'000, 0}};  // files that were changed long ago
    REQUIRE(::utimensat(AT_FDCWD, entry.path().c_str(), times, 0) == 0);
  }
  config::Parameters parameters;
  parameters["extensions"] = std::string("mkv,mp4");
  const auto listing = open("image-folder", folder / "data", parameters);
  source::FieldId field = 0;
  REQUIRE(listing->find_field("image", &field));
  IndexUse use;
  const auto made = [&](Measure measure) {
    return make_length_index(*listing, field, measure, {}, {}, folder.path() / "kept", &use);
  };

  const auto frames = made(Measure::kFrames);
  CHECK(use.read == 3);
  CHECK(((*frames)[0] == 0 && (*frames)[1] == 25 && (*frames)[2] == 25));
  REQUIRE(frames->remarks().all().count == 1);
  CHECK_THAT(frames->remarks().all().first.front(), Contains("0.mkv") && Contains("gives no rows"));
  const auto again = made(Measure::kFrames);
  CHECK((use.taken == 2 && use.read == 1));  // what can't be measured is tried again
  CHECK(again->fingerprint() == frames->fingerprint());

  const auto durations = made(Measure::kDuration);
  CHECK(use.read == 3);
  CHECK((*durations)[1] == 2'500'000'000);
  CHECK((*durations)[2] == 1'000'000'000);
  CHECK(durations->fingerprint() != frames->fingerprint());
}

}  // namespace spdld::video_length_test
