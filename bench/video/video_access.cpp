// The cost of a video's index, and of a frame and a clip at a random place, beside the length of its groups of
// pictures.
//
//   video_access FOLDER [TIMES]
//
// The program reads every FOLDER/**/*.mp4 into memory. For each length of a group, with and without frames that are
// decoded before they are shown, it prints the medians, over the videos and TIMES (20) places in each: the time to make
// an index of the whole file and of the parts that tell of frames, the size of those parts and of the kept index for a
// minute of video, the time to read a kept index, and the CPU time, the packets and the bytes of one frame and of a
// clip of 16 frames that lie 4 frames apart.
#include <algorithm>
#include <compare>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/video/measured.h"
#include "daemon/media/ffmpeg/kept_index.h"
#include "daemon/media/ffmpeg/libraries/load.h"
#include "daemon/media/ffmpeg/pictures/video_decoder.h"
#include "daemon/media/ffmpeg/pictures/video_stretches.h"

using namespace spdld;
using namespace spdld::bench;

namespace {

using Numbers = std::map<std::string, std::vector<double>>;  // by what they tell

uint64_t bytes_of(const std::vector<ByteRange>& ranges) {
  uint64_t bytes = 0;
  for (const ByteRange& range : ranges) bytes += range.bytes;
  return bytes;
}

// The index from the parts of the file that tell of frames; returns the bytes of these parts.
uint64_t index_parts(const Bytes& file) {
  std::vector<ByteRange> ranges = {{0, std::min<uint64_t>(64 << 10, file.size())}};
  for (;;) {
    Bytes bytes;
    for (const ByteRange& range : ranges)
      bytes.insert(bytes.end(), file.begin() + static_cast<ptrdiff_t>(range.offset),
                   file.begin() + static_cast<ptrdiff_t>(range.end()));
    std::vector<ByteRange> unread;
    const auto index = ffmpeg::index_video(ByteParts(file.size(), ranges, bytes), {}, &unread);
    if (index) return bytes_of(ranges);
    if (index.error().trouble != Trouble::kUnread) throw std::runtime_error(index.error().message);
    ranges = std::move(unread);
  }
}

void measure_index(const Bytes& file, const ffmpeg::VideoIndex& index, Numbers& numbers) {
  const double minutes = index.duration_s() / 60;
  const std::string packed = ffmpeg::packed(index);
  const std::span<const uint8_t> kept(reinterpret_cast<const uint8_t*>(packed.data()), packed.size());
  uint64_t read_bytes = 0;
  numbers["index, whole file: ms"].push_back(ms_of([&] { (void)ffmpeg::index_video(file); }));
  numbers["index, parts: ms"].push_back(ms_of([&] { read_bytes = index_parts(file); }));
  numbers["index, parts: share of the file"].push_back(static_cast<double>(read_bytes) /
                                                       static_cast<double>(file.size()));
  numbers["kept index: KB a minute"].push_back(static_cast<double>(packed.size()) / 1e3 / minutes);
  numbers["kept index: ms to read"].push_back(ms_of([&] { (void)ffmpeg::unpacked_video(kept); }));
}

void measure_access(const Bytes& file, const ffmpeg::VideoIndex& index, const std::string& name, uint32_t frames,
                    uint32_t stride, uint32_t first, ffmpeg::VideoDecoder& decoder, Numbers& numbers) {
  std::vector<uint32_t> wanted;
  for (uint32_t i = 0; i < frames; ++i) wanted.push_back(first + i * stride);
  const uint64_t before = decoder.packets_sent();
  numbers[name + ": ms"].push_back(ms_of([&] {
    const Status decoded =
        decoder.decode(index, file, wanted, [](uint32_t, ffmpeg::VideoFrame&) { return Status(Done{}); });
    if (!decoded) throw std::runtime_error(decoded.error().message);
  }));
  numbers[name + ": packets"].push_back(static_cast<double>(decoder.packets_sent() - before));
  const ByteParts whole(file);
  const uint64_t bytes = bytes_of(ffmpeg::VideoStretches(index, whole).ranges_of(wanted));
  numbers[name + ": KB read"].push_back(static_cast<double>(bytes) / 1e3);
}

struct Coding {
  size_t group_frames;  // of the longest group
  bool is_reordered;    // it has B-frames
  auto operator<=>(const Coding&) const = default;
};

size_t longest_group(const ffmpeg::VideoIndex& index) {
  size_t longest = 0, begun = 0;
  for (size_t i = 1; i <= index.packets.size(); ++i) {
    if (i < index.packets.size() && !index.packets[i].is_key) continue;
    longest = std::max(longest, i - begun);
    begun = i;
  }
  return longest;
}

void measure(const Bytes& file, int times, std::map<Coding, Numbers>& codings) {
  const auto index = ffmpeg::index_video(file);
  if (!index) throw std::runtime_error(index.error().message);
  const auto count = static_cast<uint32_t>(index->frames.size());
  Numbers& numbers = codings[{longest_group(*index), index->reordered > 0}];
  static ffmpeg::VideoDecoder decoder({});
  std::mt19937 random(1);
  for (int i = 0; i < times; ++i) {
    measure_index(file, *index, numbers);
    measure_access(file, *index, "one frame", 1, 1, static_cast<uint32_t>(random() % count), decoder, numbers);
    measure_access(file, *index, "a clip", 16, 4, static_cast<uint32_t>(random() % (count - 60)), decoder, numbers);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "video_access FOLDER [TIMES]\n");
    return 2;
  }
  ffmpeg::load_libraries();
  std::map<Coding, Numbers> codings;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[1]))
    if (entry.path().extension() == ".mp4") measure(read(entry.path()), argc > 2 ? std::atoi(argv[2]) : 20, codings);
  for (const auto& [coding, numbers] : codings) {
    std::printf("groups of %zu frames, %s B-frames\n", coding.group_frames, coding.is_reordered ? "with" : "without");
    for (const auto& [name, all] : numbers) std::printf("  %-34s %10.3f\n", name.c_str(), median(all));
  }
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "video_access: %s\n", e.what());
  return 1;
}
