#include "daemon/media/ffmpeg/pictures/kept_frames.h"

#include <cstring>

#include "daemon/media/ffmpeg/libraries/decoder_pool.h"
#include "daemon/media/ffmpeg/libraries/enumerations.h"
#include "daemon/media/ffmpeg/libraries/handles.h"

namespace spdld::ffmpeg {
namespace {

constexpr int kFormAlignment = 64;  // of planes and of their rows
constexpr uint64_t kFormSlackBytes = 64;
constexpr uint64_t kMagic = 0x315f'6d72'665f'6c64;  // "dl_frm_1"
constexpr uint64_t kFormBytesMax = uint64_t{4} << 30;

struct Head {
  uint64_t magic;
  uint64_t index_bytes, fields_at, frames_at, frame_bytes, frames;
  int32_t format, width, height;
  int32_t aspect_across, aspect_down;
  int32_t space, range, primaries, transfer, location;  // of colours
};
constexpr uint8_t kIsInterlaced = 1, kBeginsWithEvenLines = 2;  // of a frame, a byte each from fields_at on

uint64_t aligned(uint64_t bytes) { return (bytes + kFormAlignment - 1) / kFormAlignment * kFormAlignment; }

void tell_looks(const AVFrame& frame, Head& head) {
  head.format = frame.format;
  head.width = frame.width;
  head.height = frame.height;
  head.aspect_across = frame.sample_aspect_ratio.num;
  head.aspect_down = frame.sample_aspect_ratio.den;
  head.space = frame.colorspace;
  head.range = frame.color_range;
  head.primaries = frame.color_primaries;
  head.transfer = frame.color_trc;
  head.location = AVCHROMA_LOC_UNSPECIFIED;  // nobody asks for it
}

std::optional<Head> head_for(const VideoIndex& index, std::string_view packed, const AVFrame& frame) {
  const auto format = static_cast<AVPixelFormat>(frame.format);
  const int bytes = lib::av_image_get_buffer_size(format, frame.width, frame.height, kFormAlignment);
  if (bytes <= 0) return std::nullopt;
  Head head{};
  head.magic = kMagic;
  head.index_bytes = packed.size();
  head.fields_at = sizeof head + packed.size();
  head.frames_at = aligned(head.fields_at + index.frames.size());
  head.frame_bytes = aligned(static_cast<uint64_t>(bytes));
  head.frames = index.frames.size();
  tell_looks(frame, head);
  return head;
}

// Whether all of its numbers are values of FFmpeg's enumerations.
bool is_known(const Head& head) {
  return enumeration_of<AVPixelFormat>(head.format) && enumeration_of<AVColorSpace>(head.space) &&
         enumeration_of<AVColorRange>(head.range) && enumeration_of<AVColorPrimaries>(head.primaries) &&
         enumeration_of<AVColorTransferCharacteristic>(head.transfer) &&
         enumeration_of<AVChromaLocation>(head.location);
}

uint64_t form_bytes(const Head& head) { return head.frames_at + head.frames * head.frame_bytes + kFormSlackBytes; }

Head read_head(const uint8_t* memory) {
  Head head;
  std::memcpy(&head, memory, sizeof head);
  return head;
}

void fill_planes(const Head& head, const uint8_t* memory, uint32_t number, AVFrame& frame) {
  lib::av_image_fill_arrays(frame.data, frame.linesize, memory + head.frames_at + number * head.frame_bytes,
                            static_cast<AVPixelFormat>(head.format), head.width, head.height, kFormAlignment);
}

// FFmpeg had the flags as members of their own before libavutil 58.7.
void set_fields(uint8_t fields, AVFrame& frame) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
  if ((fields & kIsInterlaced) != 0) frame.flags |= AV_FRAME_FLAG_INTERLACED;
  if ((fields & kBeginsWithEvenLines) != 0) frame.flags |= AV_FRAME_FLAG_TOP_FIELD_FIRST;
#else
  frame.interlaced_frame = (fields & kIsInterlaced) != 0;
  frame.top_field_first = (fields & kBeginsWithEvenLines) != 0;
#endif
}

}  // namespace

std::optional<uint64_t> kept_frames_bytes(const VideoIndex& index, std::string_view packed, const VideoFrame& frame) {
  const auto head = head_for(index, packed, frame.frame_);
  if (!head || head->frames > kFormBytesMax / head->frame_bytes) return std::nullopt;
  return form_bytes(*head);
}

KeptFramesWriter::KeptFramesWriter(const VideoIndex& index, std::string_view packed, const VideoFrame& frame,
                                   uint8_t* memory)
    : memory_(memory) {
  const Head head = *head_for(index, packed, frame.frame_);
  std::memcpy(memory, &head, sizeof head);
  std::memcpy(memory + sizeof head, packed.data(), packed.size());
  std::memset(memory + head.fields_at, 0, head.frames_at - head.fields_at);
  std::memset(memory + form_bytes(head) - kFormSlackBytes, 0, kFormSlackBytes);
}

bool KeptFramesWriter::put(uint32_t number, const VideoFrame& video) {
  const AVFrame& frame = video.frame_;
  const Head head = read_head(memory_);
  Head own = head;
  tell_looks(frame, own);
  if (std::memcmp(&own, &head, sizeof own) != 0) return false;
  memory_[head.fields_at + number] = static_cast<uint8_t>((video.is_interlaced() ? kIsInterlaced : 0) |
                                                          (video.begins_with_even_lines() ? kBeginsWithEvenLines : 0));
  uint8_t* const at = memory_ + head.frames_at + number * head.frame_bytes;
  return lib::av_image_copy_to_buffer(at, static_cast<int>(head.frame_bytes), frame.data, frame.linesize,
                                      static_cast<AVPixelFormat>(head.format), head.width, head.height,
                                      kFormAlignment) >= 0;
}

std::optional<KeptFrames> KeptFrames::open(std::span<const uint8_t> bytes) {
  if (bytes.size() < sizeof(Head)) return std::nullopt;
  const Head head = read_head(bytes.data());
  const bool is_whole =
      head.magic == kMagic && head.frame_bytes > 0 && head.frames <= kFormBytesMax / head.frame_bytes &&
      head.index_bytes <= bytes.size() && head.fields_at == sizeof head + head.index_bytes &&
      head.frames_at == aligned(head.fields_at + head.frames) && form_bytes(head) == bytes.size() && is_known(head);
  if (!is_whole) return std::nullopt;
  const int planes =
      lib::av_image_get_buffer_size(static_cast<AVPixelFormat>(head.format), head.width, head.height, kFormAlignment);
  if (planes <= 0 || aligned(static_cast<uint64_t>(planes)) != head.frame_bytes) return std::nullopt;
  return KeptFrames(bytes);
}

std::span<const uint8_t> KeptFrames::packed_index() const {
  return bytes_.subspan(sizeof(Head), read_head(bytes_.data()).index_bytes);
}

Status KeptFrames::give(uint32_t number, FrameMemory& memory, const VideoSink& sink) const {
  const Head head = read_head(bytes_.data());
  if (number >= head.frames) return Error{Trouble::kContent, "the kept video has no frame " + std::to_string(number)};
  const FrameHandle frame(allocated(lib::av_frame_alloc()));
  fill_planes(head, bytes_.data(), number, *frame);
  frame->format = head.format;
  frame->width = head.width;
  frame->height = head.height;
  frame->colorspace = static_cast<AVColorSpace>(head.space);
  frame->color_range = static_cast<AVColorRange>(head.range);
  frame->color_primaries = static_cast<AVColorPrimaries>(head.primaries);
  frame->color_trc = static_cast<AVColorTransferCharacteristic>(head.transfer);
  frame->chroma_location = static_cast<AVChromaLocation>(head.location);
  frame->sample_aspect_ratio = {head.aspect_across, head.aspect_down};
  set_fields(bytes_[head.fields_at + number], *frame);
  // Tells the kernels how far they may read. Nobody writes to it.
  frame->buf[0] = allocated(lib::av_buffer_create(
      const_cast<uint8_t*>(bytes_.data()), bytes_.size(), [](void*, uint8_t*) {}, nullptr, AV_BUFFER_FLAG_READONLY));
  VideoFrame video(*frame, memory);
  return sink(number, video);
}

}  // namespace spdld::ffmpeg
