// 2,000 damaged files of each family of videos and sounds: each is bad content with a reason, or gives what was asked
// for, within its CPU time and without memory that stays.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "daemon/base/system/cpu.h"
#include "daemon/media/ffmpeg/pictures/video_decoder.h"
#include "daemon/media/ffmpeg/pictures/video_index.h"
#include "daemon/media/ffmpeg/sound/audio_decoder.h"
#include "daemon/media/ffmpeg/sound/audio_index.h"
#include "tests/support/makers/video_maker.h"
#include "tests/support/rounds.h"
#include "tests/support/temp_dir.h"

namespace spdld::damage_test {
namespace {

using namespace spdld::test;
using Bytes = std::vector<uint8_t>;
using Random = std::mt19937_64;

constexpr media::DecodeLimits kLimits{.cpu_ms_max = 2000, .bytes_max = 256 << 20};
// The work between two looks at the clock may go beyond the limit.
constexpr uint64_t kCpuNsMax = 2 * kLimits.cpu_ms_max * 1'000'000;
constexpr uint64_t kMemoryGrowthMax = 64 << 20;

struct Family {
  std::string file, encoding;
};

const std::vector<Family> kVideos = {{"h264.mp4", "-c:v libx264 -g 12 -bf 2 -pix_fmt yuv420p"},
                                     {"h264.mkv", "-c:v libx264 -g 12 -pix_fmt yuv422p10le"},
                                     {"hevc.ts", "-c:v libx265 -x265-params log-level=none -pix_fmt yuv420p"},
                                     {"vp8.webm", "-c:v libvpx -g 20 -auto-alt-ref 1 -lag-in-frames 10"},
                                     {"vp9.webm", "-c:v libvpx-vp9 -g 20 -deadline realtime -cpu-used 8"},
                                     {"av1.mp4", "-c:v libaom-av1 -g 20 -cpu-used 8 -usage realtime"},
                                     {"mpeg4.avi", "-c:v mpeg4 -g 12 -bf 2"},
                                     {"mpeg2.mpg", "-c:v mpeg2video -g 12 -bf 2"},
                                     {"mjpeg.mov", "-c:v mjpeg -pix_fmt yuvj420p"},
                                     {"prores.mov", "-c:v prores_ks -pix_fmt yuv422p10le"},
                                     {"still.gif", ""}};
const std::vector<Family> kSounds = {{"a.wav", ""},         {"a.flac", ""}, {"a.mp3", ""}, {"a.aac", ""},
                                     {"a.m4a", ""},         {"a.opus", ""}, {"a.ogg", ""}, {"a.webm", "-c:a libopus"},
                                     {"a.mkv", "-c:a flac"}};

// The place of a byte that is damaged: anywhere, or within the headers at the start or the end.
size_t place_in(const Bytes& file, Random& random) {
  constexpr size_t kHead = 400;
  const size_t reach = std::min(kHead, file.size());
  switch (random() % 3) {
    case 0:
      return random() % reach;
    case 1:
      return file.size() - 1 - random() % reach;
    default:
      return random() % file.size();
  }
}

// A bit that is turned, a number that lies, or bytes that are lost, moved or cut off.
void damage(Bytes& file, Random& random) {
  const size_t at = place_in(file, random), length = std::min<size_t>(1 + random() % 64, file.size() - at);
  const auto begin = file.begin() + static_cast<ptrdiff_t>(at), end = begin + static_cast<ptrdiff_t>(length);
  switch (random() % 6) {
    case 0:
      file[at] ^= static_cast<uint8_t>(1u << random() % 8);
      return;
    case 1:
      std::fill(begin, std::min(end, begin + 4), random() % 2 == 0 ? uint8_t{0xff} : uint8_t{0});
      return;
    case 2:
      std::generate(begin, end, [&] { return static_cast<uint8_t>(random()); });
      return;
    case 3:
      file.erase(begin, end);
      return;
    case 4:
      std::rotate(file.begin() + static_cast<ptrdiff_t>(random() % (at + 1)), begin, end);
      return;
    default:
      file.resize(std::max<size_t>(at, 1));
  }
}

uint64_t memory_bytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Runs `take` on damaged copies, which says what is wrong with one of them.
template <typename Take>
void check_family(const std::string& name, const Bytes& whole, Take&& take) {
  INFO(name);
  REQUIRE(take(whole));
  Random random(11);
  const int all = rounds(2000);
  int bad = 0;
  uint64_t early_bytes = 0, slowest_ns = 0;
  for (int i = 0; i < all; ++i) {
    Bytes file = whole;
    for (uint64_t count = 1 + random() % 4; count > 0; --count) damage(file, random);
    const uint64_t began_ns = thread_cpu_ns();
    const Status done = take(file);
    slowest_ns = std::max(slowest_ns, thread_cpu_ns() - began_ns);
    if (i == all / 4) early_bytes = memory_bytes();
    if (done) continue;
    ++bad;
    if (done.error().trouble == Trouble::kContent && !done.error().message.empty()) continue;
    FAIL("file " << i << ": " << done.error().message);
  }
  CHECK(bad > 0);
  CHECK(bad < all);
  CHECK(slowest_ns < kCpuNsMax);
  if (!kSanitized) CHECK(memory_bytes() < early_bytes + kMemoryGrowthMax);
}

Status take_video(const Bytes& file, ffmpeg::VideoDecoder& decoder, Random& random) {
  const Result<ffmpeg::VideoIndex> index = ffmpeg::index_video(file, kLimits);
  if (!index) return index.error();
  const uint64_t stride = 1 + random() % 6;
  std::vector<uint32_t> wanted;
  for (uint64_t at = random() % index->frames.size(); at < index->frames.size() && wanted.size() < 4; at += stride)
    wanted.push_back(static_cast<uint32_t>(at));
  size_t given = 0;
  PixelRows rows;
  const Status decoded = decoder.decode(*index, file, wanted, [&](uint32_t, ffmpeg::VideoFrame& frame) {
    ++given;
    return frame.planes() ? Status(Done{}) : frame.rgb(false, rows);
  });
  if (decoded) CHECK(given == wanted.size());
  return decoded;
}

TEST_CASE("damaged videos give frames or a reason", "[damage]") {
  const TempDir folder;
  for (const Family& family : kVideos) {
    make_video(folder.path() / family.file, "96x64", "15", 2, family.encoding);
    ffmpeg::VideoDecoder decoder(kLimits);
    Random random(5);
    check_family(family.file, bytes_of(folder.path() / family.file),
                 [&](const Bytes& file) { return take_video(file, decoder, random); });
  }
}

Status take_sound(const Bytes& file, ffmpeg::AudioDecoder& decoder, Random& random) {
  const Result<ffmpeg::AudioIndex> index = ffmpeg::index_audio(file, kLimits);
  if (!index) return index.error();
  const uint64_t first = random() % index->samples, count = std::min<uint64_t>(index->samples - first, 30'000);
  std::vector<float> planes(count * static_cast<size_t>(index->channels));
  return decoder.decode(*index, file, first, count, planes.data(), count);
}

TEST_CASE("damaged sounds give samples or a reason", "[damage]") {
  const TempDir folder;
  for (const Family& family : kSounds) {
    const auto path = folder.path() / family.file;
    run_ffmpeg(words_of("-f lavfi -i aevalsrc=sin(900*t*t)*0.4|random(1)*0.2:s=44100:d=1 " + family.encoding + " " +
                        path.string()));
    ffmpeg::AudioDecoder decoder(kLimits);
    Random random(5);
    check_family(family.file, bytes_of(path), [&](const Bytes& file) { return take_sound(file, decoder, random); });
  }
}

}  // namespace
}  // namespace spdld::damage_test
