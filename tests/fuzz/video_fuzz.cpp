// Arbitrary bytes as a video: demuxing, the index, and frames that the first bytes choose. The pixels of a damaged
// video may depend on where its decoding began, so that they are not compared.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "daemon/media/ffmpeg/video_decoder.h"
#include "daemon/media/ffmpeg/video_index.h"
#include "tests/fuzz/pictures.h"

using namespace spdld;

namespace {

constexpr media::DecodeLimits kLimits{.cpu_ms_max = 500, .bytes_max = 64 << 20};
constexpr size_t kFramesMax = 300;

// Looks at what a frame promises: bytes that may be read behind its planes, and its RGB.
void look_at(ffmpeg::VideoFrame& frame) {
  if (const auto planes = frame.planes()) {
    uint64_t sum = 0;
    for (size_t i = 0; i < (planes->is_grey ? 1 : 3); ++i) {
      const int down = i == 0 ? 1 : planes->chroma_down, across = i == 0 ? 1 : planes->chroma_across;
      const auto rows = static_cast<size_t>((planes->picture.height + down - 1) / down);
      const auto width = static_cast<size_t>((planes->picture.width + across - 1) / across);
      for (size_t x = 0; x < 64; ++x) sum += planes->plane[i][planes->stride_bytes[i] * (rows - 1) + width + x];
    }
    if (sum > uint64_t{3} * 64 * 255) std::abort();
  }
  static PixelRows rows;
  if (!frame.rgb(false, rows)) return;
  fuzz::check_rows(rows, {0, 0, rows.picture.width, rows.picture.height});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  constexpr size_t kChoice = 3;
  if (size < kChoice) return 0;
  static ffmpeg::VideoDecoder decoder(kLimits);
  const std::span file(bytes + kChoice, size - kChoice);
  const Result<ffmpeg::VideoIndex> index = ffmpeg::index_video(file, kLimits);
  if (!index) {
    if (index.error().message.empty()) std::abort();
    return 0;
  }
  const size_t count = index->frames.size();
  if (count == 0) std::abort();
  if (count > kFramesMax || fuzz::is_too_large(index->picture)) return 0;
  for (size_t i = 0; i < count; ++i)
    if (index->start_of(i) > index->frames[i].packet) std::abort();
  std::vector<uint32_t> wanted;
  for (size_t i = bytes[0] % count; i < count && wanted.size() < 6; i += 1 + bytes[1] % 8)
    wanted.push_back(static_cast<uint32_t>(i));
  const size_t chosen = bytes[2] % wanted.size();
  size_t given = 0;
  const Status decoded = decoder.decode(*index, file, wanted, [&](uint32_t number, ffmpeg::VideoFrame& frame) {
    if (number != wanted[given++]) std::abort();
    look_at(frame);
    return Status(Done{});
  });
  if (!decoded) return 0;
  if (given != wanted.size()) std::abort();
  const uint32_t one[] = {wanted[chosen]};
  given = 0;
  const Status alone = decoder.decode(*index, file, one, [&](uint32_t, ffmpeg::VideoFrame& frame) {
    ++given;
    look_at(frame);
    return Status(Done{});
  });
  if (alone && given != 1) std::abort();
  return 0;
}
