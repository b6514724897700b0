// Arbitrary bytes as a video: demuxing, the index, and frames that the first bytes choose. The pixels of a damaged
// video may depend on where its decoding began, so that they are not compared.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "daemon/media/ffmpeg/kept_index.h"
#include "daemon/media/ffmpeg/libraries/load.h"
#include "daemon/media/ffmpeg/pictures/kept_frames.h"
#include "daemon/media/ffmpeg/pictures/video_decoder.h"
#include "daemon/media/ffmpeg/pictures/video_index.h"
#include "daemon/media/ffmpeg/pictures/video_stretches.h"
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

std::span<const uint8_t> bytes_in(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// The parts of a file, as they are asked for.
struct Parts {
  explicit Parts(std::span<const uint8_t> of) : file(of) {}
  void read(std::vector<ByteRange> wanted) {
    ranges = std::move(wanted);
    for (ByteRange& range : ranges) {
      range.offset = std::min<uint64_t>(range.offset, file.size());
      range.bytes = std::min<uint64_t>(range.bytes, file.size() - range.offset);
    }
    join_ranges(ranges, 0);
    bytes.clear();
    for (const ByteRange& range : ranges) {
      const std::span<const uint8_t> part = file.subspan(range.offset, range.bytes);
      bytes.insert(bytes.end(), part.begin(), part.end());
    }
  }
  ByteParts parts() const { return {file.size(), ranges, bytes}; }

  std::span<const uint8_t> file;
  std::vector<ByteRange> ranges;
  std::vector<uint8_t> bytes;
};

// The same video from parts of its file, as a pipeline reads them.
void decode_parts(std::span<const uint8_t> file, ffmpeg::VideoDecoder& decoder, std::span<const uint8_t> choice) {
  Parts parts(file);
  parts.read({{0, 256}});
  std::vector<ByteRange> unread;
  Result<ffmpeg::VideoIndex> index = ffmpeg::index_video(parts.parts(), kLimits, &unread);
  for (int round = 0; !index && index.error().trouble == Trouble::kUnread; ++round) {
    if (unread.empty() || round > 12) std::abort();
    if (round > 8) unread = {{0, UINT64_MAX}};
    parts.read(std::move(unread));
    unread.clear();
    index = ffmpeg::index_video(parts.parts(), kLimits, &unread);
  }
  if (!index || index->frames.size() > kFramesMax || fuzz::is_too_large(index->picture)) return;
  const uint32_t wanted[] = {static_cast<uint32_t>(choice[0] % index->frames.size())};
  parts.read(ffmpeg::VideoStretches(*index, parts.parts()).ranges_of(wanted));
  (void)decoder.decode(*index, parts.parts(), wanted, [](uint32_t, ffmpeg::VideoFrame& frame) {
    look_at(frame);
    return Status(Done{});
  });
}

// What is kept of an index is the index, and foreign bytes are none or are in bounds.
void check_kept(const ffmpeg::VideoIndex& index) {
  const std::string packed = ffmpeg::packed(index);
  const auto kept = ffmpeg::unpacked_video(bytes_in(packed));
  if (kept && ffmpeg::packed(*kept) != packed) std::abort();
}

void read_foreign(std::span<const uint8_t> file) {
  if (const auto index = ffmpeg::unpacked_video(file))
    for (const ffmpeg::VideoPacket& packet : index->packets) (void)index->data_of(packet, file);
  static ffmpeg::FrameMemory memory;
  if (const auto frames = ffmpeg::KeptFrames::open(file))
    (void)frames->give(0, memory, [](uint32_t, ffmpeg::VideoFrame&) { return Status(Done{}); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  constexpr size_t kChoice = 3;
  if (size < kChoice) return 0;
  static ffmpeg::VideoDecoder decoder(kLimits);
  const std::span file(bytes + kChoice, size - kChoice);
  ffmpeg::load_libraries();
  read_foreign(file);
  decode_parts(file, decoder, {bytes, kChoice});
  const Result<ffmpeg::VideoIndex> index = ffmpeg::index_video(file, kLimits);
  if (!index) {
    if (index.error().message.empty()) std::abort();
    return 0;
  }
  const size_t count = index->frames.size();
  if (count == 0) std::abort();
  check_kept(*index);
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
