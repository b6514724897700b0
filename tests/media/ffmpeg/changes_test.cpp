// Videos that change their header, their size or their pixels on the way: each frame is what the ffmpeg program makes
// of its part alone, scaled to the first frame's size and format, in any clip.
#include <catch2/catch.hpp>
#include <fstream>

#include "daemon/media/sample_memory.h"
#include "tests/media/ffmpeg/movie_writer.h"
#include "tests/media/ffmpeg/raw_frames.h"
#include "tests/support/temp_dir.h"

namespace spdld::changes_test {
namespace {

using namespace spdld::test;

// What libavcodec makes of the change where it decodes the video in one go.
enum class InOneGo : uint8_t { kRight, kWrong };

struct Change {
  std::string name, first, second;  // the encodings of two parts
  Raw raw;                          // of the first part
  std::string second_size = "128x96";
  InOneGo in_one_go = InOneGo::kRight;
  std::string scaling = {};  // further options of the filter "scale"
};

constexpr Size kSize = {176, 144};
const Raw kPlain = {kSize, "yuv420p"};
const std::string kX264 = "-c:v libx264 -g 6 -bf 2 -pix_fmt yuv420p";
const std::string kX264Open = "-c:v libx264 -x264-params keyint=6:open-gop=1:bframes=2:scenecut=0 -pix_fmt yuv420p";
const std::string kX265 = "-c:v libx265 -x265-params keyint=6:bframes=2:repeat-headers=1:log-level=none -pix_fmt ";
const std::string kVp8 = "-c:v libvpx -g 6 -b:v 300k";
const std::string kVp9 = "-c:v libvpx-vp9 -g 6 -deadline realtime -cpu-used 8 -pix_fmt ";
const std::string kAv1 = "-c:v libaom-av1 -g 6 -cpu-used 8 -usage realtime -pix_fmt yuv420p";
const std::string kMpeg2 = "-c:v mpeg2video -g 6 -bf 2";
const std::string kFields = "-c:v mpeg2video -g 6 -bf 0 -flags +ildct+ilme -top 1";
const std::string kMjpeg = "-c:v mjpeg -q:v 3 -pix_fmt ";

const std::vector<Change> kChanges = {
    {"h264.mkv", kX264, kX264, kPlain},
    {"h264.ts", kX264, kX264, kPlain},
    {"h264.mp4", kX264, kX264, kPlain},
    {"h264-open.ts", kX264Open, kX264Open, kPlain},
    {"h264-422.ts", kX264, "-c:v libx264 -g 6 -pix_fmt yuv422p", kPlain, "176x144"},
    {"h264-10.ts", kX264, "-c:v libx264 -g 6 -pix_fmt yuv420p10le", kPlain, "176x144"},
    {"h264-8.mkv", "-c:v libx264 -g 6 -pix_fmt yuv422p10le", kX264, {kSize, "yuv422p10le"}},
    {"h264-444.mkv", "-c:v libx264 -g 6 -pix_fmt yuv444p", kX264, {kSize, "yuv444p"}, "320x240"},
    {"hevc.mkv", kX265 + "yuv420p", kX265 + "yuv420p", kPlain},
    {"hevc.ts", kX265 + "yuv420p", kX265 + "yuv420p", kPlain},
    {"hevc.mp4", kX265 + "yuv420p", kX265 + "yuv420p", kPlain},
    {"hevc-10.mkv", kX265 + "yuv420p", kX265 + "yuv420p10le", kPlain, "176x144"},
    {"vp8.webm", kVp8, kVp8, kPlain},
    {"vp9.webm", kVp9 + "yuv420p", kVp9 + "yuv420p", kPlain},
    {"vp9-444.webm", kVp9 + "yuv420p", kVp9 + "yuv444p", kPlain},
    {"av1.mkv", kAv1, kAv1, kPlain},
    // The decoder loses the frame that it holds.
    {"mpeg2.ts", kMpeg2, kMpeg2, kPlain, "128x96", InOneGo::kWrong},
    // The decoder overlooks the change.
    {"mpeg2-422.ts", kMpeg2, kMpeg2 + " -pix_fmt yuv422p", kPlain, "176x144", InOneGo::kWrong},
    {"mpeg2-fields.ts", kFields, kFields, kPlain, "128x96", InOneGo::kWrong, ":interl=1"},
    {"mpeg4.avi", "-c:v mpeg4 -g 6", "-c:v mpeg4 -g 6", kPlain},
    {"mjpeg.avi", kMjpeg + "yuvj420p", kMjpeg + "yuvj420p", {kSize, "yuvj420p"}},
    {"mjpeg-422.avi", kMjpeg + "yuvj420p", kMjpeg + "yuvj422p", {kSize, "yuvj420p"}},
    {"png.mov", "-c:v png -pix_fmt rgb24", "-c:v png -pix_fmt rgb24", {kSize, "rgb24"}},
};

void append(const std::vector<Bytes>& from, std::vector<Bytes>& to) { to.insert(to.end(), from.begin(), from.end()); }

// Makes two parts of 0.6 s in these files, and returns the frames of the first, the second and the first again.
std::vector<Bytes> make_parts(const Change& change, const std::filesystem::path& first,
                              const std::filesystem::path& second) {
  make_video(first, "176x144", "25", 0.6, change.first);
  make_video(second, change.second_size, "25", 0.6, change.second + " -vf hflip");
  const std::vector<Bytes> part = frames_by_ffmpeg(first, change.raw);
  std::vector<Bytes> frames = part;
  append(frames_by_ffmpeg(
             second, change.raw,
             std::string("-vf scale=176:144:flags=") + kFlags + change.scaling + ",format=" + change.raw.pixels),
         frames);
  append(part, frames);
  REQUIRE(frames.size() == 45);
  return frames;
}

TEST_CASE("a video that changes its size or its pixels has the frames of its parts, scaled, in any clip", "[changes]") {
  const TempDir folder;
  for (const Change& change : kChanges) {
    DYNAMIC_SECTION(change.name) {
      const std::string ending = change.name.substr(change.name.rfind('.')), piece = ending == ".mp4" ? ".mkv" : ending;
      const std::vector<Bytes> whole = make_parts(change, folder.path() / ("a" + piece), folder.path() / ("b" + piece));
      std::ofstream(folder.path() / "list.txt")
          << "file a" << piece << "\nfile b" << piece << "\nfile a" << piece << "\n";
      const auto path = folder.path() / change.name;
      run_ffmpeg(
          words_of("-f concat -safe 0 -i " + (folder.path() / "list.txt").string() + " -c copy " + path.string()));
      const bool is_ffmpegs = frames_by_ffmpeg(path, change.raw) == whole;
      CHECK(is_ffmpegs == (change.in_one_go == InOneGo::kRight));
      const Bytes file = bytes_of(path);
      check_video(file, whole, change.raw, rounds(60));
      CHECK(check_kept_frames(*ffmpeg::index_video(file), file, whole));
    }
  }
}

// An MP4 file of these parts, each with a description of its own.
Bytes described(const std::vector<std::filesystem::path>& parts) {
  MovieWriter writer;
  for (const auto& part : parts) {
    const Bytes file = bytes_of(part);
    const auto index = ffmpeg::index_packets(file);
    REQUIRE(index);
    std::vector<MovieWriter::Packet> packets;
    for (const ffmpeg::VideoPacket& packet : index->packets)
      packets.push_back({index->data_of(packet, file), packet.is_key});
    writer.add(MovieWriter::description_in(file), packets);
  }
  return writer.file();
}

const std::vector<Change> kDescriptions = {
    {"h264", "-c:v libx264 -g 6 -bf 0 -pix_fmt yuv420p", "-c:v libx264 -g 4 -bf 0 -pix_fmt yuv420p", kPlain},
    {"h264-coding", "-c:v libx264 -g 6 -bf 0 -coder ac -pix_fmt yuv420p",
     "-c:v libx264 -g 6 -bf 0 -coder vlc -refs 1 -pix_fmt yuv420p", kPlain, "176x144"},
    {"hevc", "-c:v libx265 -x265-params keyint=6:bframes=0:log-level=none -pix_fmt yuv420p",
     "-c:v libx265 -x265-params keyint=6:bframes=0:log-level=none -pix_fmt yuv422p", kPlain},
    // Its decoder overlooks new headers.
    {"mpeg4", "-c:v mpeg4 -g 6", "-c:v mpeg4 -g 6 -flags +qpel -mpeg_quant 1", kPlain, "128x96", InOneGo::kWrong},
};

TEST_CASE("each description of an MP4 file counts for its own frames, in any clip", "[changes]") {
  const TempDir folder;
  for (const Change& change : kDescriptions) {
    DYNAMIC_SECTION(change.name) {
      const auto first = folder.path() / "a.mp4", second = folder.path() / "b.mp4", path = folder.path() / "ab.mp4";
      const std::vector<Bytes> whole = make_parts(change, first, second);
      const Bytes file = described({first, second, first});
      folder.write("ab.mp4", std::string_view(reinterpret_cast<const char*>(file.data()), file.size()));
      const bool is_ffmpegs = frames_by_ffmpeg(path, change.raw) == whole;
      CHECK(is_ffmpegs == (change.in_one_go == InOneGo::kRight));
      check_video(file, whole, change.raw, rounds(60));
      CHECK(check_kept_frames(*ffmpeg::index_video(file), file, whole));
    }
  }
}

// The tags of FLV files behind one another, each file's as many milliseconds later. A file begins with the header of
// its codec, as a tag.
Bytes joined_tags(const std::vector<Bytes>& files, uint32_t step_ms) {
  constexpr size_t kFileHead = 13, kTagHead = 11;
  Bytes all(files.front().begin(), files.front().begin() + kFileHead);
  uint32_t from_ms = 0;
  for (const Bytes& file : files) {
    for (size_t at = kFileHead; at + kTagHead < file.size();) {
      const size_t bytes = kTagHead + (size_t{file[at + 1]} << 16 | size_t{file[at + 2]} << 8 | file[at + 3]) + 4;
      Bytes tag(file.begin() + static_cast<ptrdiff_t>(at), file.begin() + static_cast<ptrdiff_t>(at + bytes));
      const uint32_t time_ms = from_ms + (uint32_t{tag[4]} << 16 | uint32_t{tag[5]} << 8 | tag[6]);
      tag[4] = static_cast<uint8_t>(time_ms >> 16), tag[5] = static_cast<uint8_t>(time_ms >> 8);
      tag[6] = static_cast<uint8_t>(time_ms);
      const bool is_video = tag[0] == 9;
      if (is_video) all.insert(all.end(), tag.begin(), tag.end());
      at += bytes;
    }
    from_ms += step_ms;
  }
  return all;
}

// Streams without a container, the first part, the second and the first again.
Bytes raw_stream(const std::filesystem::path& first, const std::filesystem::path& second) {
  Bytes stream;
  for (const auto& part : {first, second, first}) {
    const Bytes bytes = bytes_of(part);
    stream.insert(stream.end(), bytes.begin(), bytes.end());
  }
  return stream;
}

TEST_CASE("streams without a container that change on the way have the frames of their parts", "[changes]") {
  const TempDir folder;
  for (const Change& change : std::vector<Change>{{"v.h264", kX264, kX264, kPlain},
                                                  {"v.hevc", kX265 + "yuv420p", kX265 + "yuv420p", kPlain}}) {
    DYNAMIC_SECTION(change.name) {
      const std::string ending = change.name.substr(1);
      const auto first = folder.path() / ("a" + ending), second = folder.path() / ("b" + ending);
      const std::vector<Bytes> whole = make_parts(change, first, second);
      check_video(raw_stream(first, second), whole, change.raw, rounds(20));
    }
  }
}

// Its frames have no times, so that nobody knows which of them the decoder lost at the change.
TEST_CASE("frames that a decoder lost are not called damaged", "[changes]") {
  const TempDir folder;
  const Change change = {"v.m2v", kMpeg2, kMpeg2, kPlain};
  const auto first = folder.path() / "a.m2v", second = folder.path() / "b.m2v", path = folder.path() / "joined.m2v";
  make_parts(change, first, second);
  const Bytes file = raw_stream(first, second);
  folder.write("joined.m2v", std::string_view(reinterpret_cast<const char*>(file.data()), file.size()));
  const std::vector<Bytes> whole = frames_by_ffmpeg(path, kPlain);
  REQUIRE(whole.size() == 43);
  const auto index = ffmpeg::index_video(file);
  REQUIRE(index);
  ffmpeg::VideoDecoder decoder({});
  std::vector<uint32_t> wanted(whole.size());
  std::iota(wanted.begin(), wanted.end(), 0U);
  check_frames(decoded(decoder, *index, file, file, wanted), wanted, whole, "whole");
  const std::vector<uint32_t> last = {44};
  const Status done = decoder.decode(*index, file, last, [](uint32_t, ffmpeg::VideoFrame&) { return Status(Done{}); });
  REQUIRE_FALSE(done);
  CHECK_THAT(done.error().message, Catch::Contains("FFmpeg gives 43 frames for the 45 of its container"));
}

TEST_CASE("a further header in a stream of FLV counts from there on, in any clip", "[changes]") {
  const TempDir folder;
  const Change change = {"h264.flv", "-c:v libx264 -g 6 -bf 0 -pix_fmt yuv420p",
                         "-c:v libx264 -g 4 -bf 0 -coder vlc -pix_fmt yuv420p", kPlain};
  const auto first = folder.path() / "a.flv", second = folder.path() / "b.flv";
  const std::vector<Bytes> whole = make_parts(change, first, second);
  const Bytes file = joined_tags({bytes_of(first), bytes_of(second), bytes_of(first)}, 600);
  const auto index = ffmpeg::index_video(file);
  REQUIRE(index);
  CHECK_FALSE(index->changes.of(ffmpeg::ChangeKind::kHeader, 15).empty());
  check_video(file, whole, kPlain, rounds(60));
  CHECK(check_kept_frames(*index, file, whole));
}

// The packet without its parameter sets, whose units have lengths of 4 bytes.
Bytes without_sets(std::span<const uint8_t> packet, bool is_hevc) {
  Bytes kept;
  for (size_t at = 0; at + 4 < packet.size();) {
    size_t bytes = 4;
    for (size_t i = 0; i < 4; ++i) bytes += size_t{packet[at + i]} << 8 * (3 - i);
    const int type = is_hevc ? packet[at + 4] >> 1 & 63 : packet[at + 4] & 31;
    const bool is_set = is_hevc ? type >= 32 && type <= 34 : type == 7 || type == 8;
    if (!is_set) kept.insert(kept.end(), packet.begin() + at, packet.begin() + at + bytes);
    at += bytes;
  }
  return kept;
}

// The file's description is another video's, and only its first packet has the sets of its own.
TEST_CASE("sets that the first packet brings count for all key frames", "[changes]") {
  const TempDir folder;
  const auto first = folder.path() / "a.mp4", other = folder.path() / "b.mp4";
  const std::string codec = GENERATE("h264", "hevc");
  const bool is_hevc = codec == "hevc";
  const std::string encoding =
      is_hevc ? "-c:v libx265 -x265-params keyint=6:open-gop=0:bframes=0:log-level=none:repeat-headers="
              : "-c:v libx264 -x264-params keyint=6:bframes=0:scenecut=0:repeat-headers=";
  make_video(first, "176x144", "25", 1, encoding + "1 -pix_fmt yuv420p");
  make_video(other, "128x96", "25", 1, encoding + "0 -pix_fmt yuv420p");
  const Bytes file = bytes_of(first);
  const auto index = ffmpeg::index_packets(file);
  REQUIRE(index);
  std::vector<Bytes> stripped;
  for (const ffmpeg::VideoPacket& packet : index->packets) {
    const auto data = index->data_of(packet, file);
    stripped.push_back(stripped.empty() ? Bytes(data.begin(), data.end()) : without_sets(data, is_hevc));
  }
  std::vector<MovieWriter::Packet> packets;
  for (size_t i = 0; i < stripped.size(); ++i) packets.push_back({stripped[i], index->packets[i].is_key});
  MovieWriter writer;
  writer.add(MovieWriter::description_in(bytes_of(other)), packets);
  check_video(writer.file(), frames_by_ffmpeg(first, kPlain), kPlain, rounds(60));
}

TEST_CASE("descriptions that say the same are no change", "[changes]") {
  const TempDir folder;
  const auto path = folder.path() / "a.mp4";
  make_video(path, "176x144", "25", 0.6, "-c:v libx264 -g 250 -bf 0 -pix_fmt yuv420p");
  const Bytes file = described({path, path});
  const auto index = ffmpeg::index_video(file);
  REQUIRE(index);
  for (uint32_t packet = 0; packet < 30; ++packet)
    CHECK(index->changes.at(ffmpeg::ChangeKind::kHeader, packet).empty());
}

struct Lender final : media::SampleMemory::Lender {
  bool lend(uint64_t bytes) override { return bytes <= most; }
  uint64_t most = 0;
};

// The frame behind the change has a quarter of the pixels, and is converted to the size of the first one.
TEST_CASE("the memory of a converted frame is asked for", "[changes]") {
  const TempDir folder;
  const auto first = folder.path() / "a.ts", second = folder.path() / "b.ts", path = folder.path() / "ab.ts";
  make_video(first, "640x480", "25", 0.2, kX264);
  make_video(second, "320x240", "25", 0.2, kX264);
  std::ofstream(folder.path() / "list.txt") << "file a.ts\nfile b.ts\n";
  run_ffmpeg(words_of("-f concat -safe 0 -i " + (folder.path() / "list.txt").string() + " -c copy " + path.string()));
  const Bytes file = bytes_of(path), alone = bytes_of(second);
  const auto needed_for = [&](const Bytes& video, uint32_t frame, uint64_t most) {
    media::SampleMemory memory(0);
    Lender lender;
    lender.most = most;
    memory.begin(&lender, 0);
    const auto index = ffmpeg::index_video(video);
    REQUIRE(index);
    ffmpeg::VideoDecoder decoder({.memory = &memory});
    const std::vector<uint32_t> wanted = {frame};
    const Status done =
        decoder.decode(*index, video, wanted, [](uint32_t, ffmpeg::VideoFrame&) { return Status(Done{}); });
    CHECK(static_cast<bool>(done) == !memory.lacks_room());
    return memory.needed_bytes();
  };
  constexpr uint64_t kFrameBytes = 640 * 480 * 3 / 2;
  const uint64_t plain = needed_for(alone, 1, UINT64_MAX), converted = needed_for(file, 6, UINT64_MAX);
  CHECK(converted >= plain + kFrameBytes);
  CHECK(needed_for(file, 6, plain + kFrameBytes / 2) > plain + kFrameBytes / 2);
}

}  // namespace
}  // namespace spdld::changes_test
