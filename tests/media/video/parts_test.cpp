// The parts of a file that several outputs of it want, read in rounds.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/media/video/clips.h"
#include "tests/support/makers/video_maker.h"
#include "tests/support/temp_dir.h"

namespace spdld::parts_test {
namespace {

using namespace spdld::test;

constexpr uint64_t kSample = 9;

// A file that is read in parts, as a pipeline with its indexes reads it. Each round has the parts that were wanted in
// the round before, and no other ones.
class PartedFile {
 public:
  PartedFile(const Bytes& file, const std::vector<Clips*>& outputs) : file_(file) {
    media::Field whole{.bytes = file};
    for (const Clips* const output : outputs)
      if (whole.index_of(output->index_id()) == nullptr)
        whole.indexes.push_back({.id = output->index_id(), .is_kept = true, .bytes = {}, .made = {}});
    media::Workspace workspace;
    for (const Clips* const output : outputs) REQUIRE(output->announce(whole, workspace, kSample));
    for (media::KeptIndex& index : whole.indexes) {
      field_.indexes.push_back({.id = index.id, .is_kept = true, .bytes = {}, .made = {}});
      field_.indexes.back().set(std::move(index.made));
    }
    read({});
  }

  // Whether every output has the parts that it needs.
  bool announce(const std::vector<Clips*>& outputs) {
    field_.wanted.clear();
    field_.is_begun = false;
    bool is_read = true;
    for (const Clips* const output : outputs) {
      const Status announced = output->announce(field_, workspace_, kSample);
      if (!announced) REQUIRE(announced.error().trouble == Trouble::kUnread);
      is_read = is_read && announced;
    }
    return is_read;
  }

  void read_wanted() { read(field_.wanted); }

  void run(Clips& output) {
    const Status done = output.run(field_, workspace_, kSample);
    INFO((done ? "" : done.error().message));
    REQUIRE(done);
  }

 private:
  void read(std::vector<ByteRange> ranges) {
    join_ranges(ranges, 0);
    ranges_ = std::move(ranges);
    bytes_.clear();
    for (const ByteRange& range : ranges_)
      bytes_.insert(bytes_.end(), file_.begin() + static_cast<ptrdiff_t>(range.offset),
                    file_.begin() + static_cast<ptrdiff_t>(range.end()));
    field_.parts.emplace(file_.size(), ranges_, bytes_);
  }

  const Bytes& file_;
  std::vector<ByteRange> ranges_;
  Bytes bytes_;
  media::Field field_;
  media::Workspace workspace_;
};

TEST_CASE("an output that has its parts keeps them while another output's are read", "[video]") {
  const TempDir folder;
  const auto path = folder.path() / "test.mp4";
  run_ffmpeg(
      words_of("-f lavfi -i testsrc2=size=160x96:rate=15:duration=4 -f lavfi -i sine=frequency=440:duration=4 "
               "-c:v libx264 -g 12 -bf 2 -pix_fmt yuv420p -c:a aac " +
               path.string()));
  const Bytes file = bytes_of(path);
  const std::string resized = "\" }, { op = \"resize\", size = [32, 32] }";
  Clips first("{ op = \"decode-video\", frames = 2, pick = \"start" + resized);
  Clips second("{ op = \"decode-video\", frames = 2, pick = \"center" + resized);
  Clips sound("{ op = \"decode-audio\", rate = 8000, samples = 4000, pick = \"center\" }");
  for (const std::vector<Clips*>& outputs :
       {std::vector{&first, &second}, std::vector{&second, &first}, std::vector{&first, &sound},
        std::vector{&sound, &first}, std::vector{&sound, &second, &first}}) {
    PartedFile parted(file, outputs);
    REQUIRE(!parted.announce({outputs.front()}));
    parted.read_wanted();
    REQUIRE(parted.announce({outputs.front()}));
    // Now the first output has its parts and the others lack theirs: one round is enough for all of them.
    REQUIRE(!parted.announce(outputs));
    parted.read_wanted();
    REQUIRE(parted.announce(outputs));
    for (Clips* const output : outputs) {
      parted.run(*output);
      const Bytes of_parts = output->tensor();
      CHECK(of_parts == output->clip(file, kSample));
    }
  }
}

}  // namespace
}  // namespace spdld::parts_test
