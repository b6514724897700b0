#include "daemon/media/ffmpeg/pictures/video_frame.h"

#include <algorithm>
#include <cstring>

#include "daemon/media/ffmpeg/libraries/handles.h"
#include "daemon/media/ffmpeg/packets/deinterlace.h"
#include "daemon/media/ffmpeg/pictures/scaler.h"

namespace spdld::ffmpeg {
namespace {

constexpr size_t kSlackBytes = 64;
constexpr size_t kAlignment = 64;

// Samples of more bits become 8, rounded.
void narrow_row(const uint8_t* from, size_t count, int bits, uint8_t* to) {
  const int shift = bits - 8, half = 1 << (shift - 1);
  for (size_t i = 0; i < count; ++i) {
    uint16_t sample;
    std::memcpy(&sample, from + 2 * i, sizeof sample);
    to[i] = static_cast<uint8_t>(std::min((sample + half) >> shift, 255));
  }
}

// Whether kernels may read behind the last sample of this plane of the frame.
bool has_slack(const AVFrame& frame, int plane, const uint8_t* end) {
  const AVBufferRef* const buffer = lib::av_frame_get_plane_buffer(const_cast<AVFrame*>(&frame), plane);
  return buffer != nullptr && buffer->data + buffer->size >= end + kSlackBytes;
}

// The samples of a format whose planes are whole bytes or whole words; none: it has others.
std::optional<Samples> samples_of(const AVPixFmtDescriptor& about) {
  constexpr uint64_t kOthers = AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_HWACCEL |
                               AV_PIX_FMT_FLAG_BE | AV_PIX_FMT_FLAG_FLOAT | AV_PIX_FMT_FLAG_BAYER;
  if (about.flags & kOthers || about.nb_components == 0) return std::nullopt;
  const int top = about.comp[0].shift + about.comp[0].depth;  // the bit above the highest
  for (int i = 0; i < about.nb_components; ++i) {
    const AVComponentDescriptor& part = about.comp[i];
    const bool is_even = part.offset % 2 == 0 && part.step % 2 == 0;
    if (part.shift + part.depth != top || part.depth < 8 || top > 16 || (top > 8 && !is_even)) return std::nullopt;
  }
  return top > 8 ? Samples{2, (1 << top) - 1} : Samples{};
}

int planes_in(const AVPixFmtDescriptor& about) {
  int last = 0;
  for (int i = 0; i < about.nb_components; ++i) last = std::max(last, about.comp[i].plane);
  return last + 1;
}

int height_of(const AVFrame& frame, const AVPixFmtDescriptor& about, int plane) {
  const bool is_chroma = (plane == 1 || plane == 2) && !(about.flags & AV_PIX_FMT_FLAG_RGB);
  const int shift = is_chroma ? about.log2_chroma_h : 0;
  return (frame.height + (1 << shift) - 1) >> shift;
}

}  // namespace

struct FrameMemory::Inside {
  std::array<ByteBuffer, 3> planes;
  std::array<ByteBuffer, 4> fields;  // planes whose lines were interpolated
  ScalerKey key;
  Scaler scaler;
};

FrameMemory::FrameMemory() : inside_(std::make_unique<Inside>()) {}
FrameMemory::~FrameMemory() = default;

void FrameMemory::shrink(size_t bytes_max) {
  for (ByteBuffer& plane : inside_->planes) plane.shrink(bytes_max);
  for (ByteBuffer& field : inside_->fields) field.shrink(bytes_max);
}

VideoFrame::VideoFrame(const AVFrame& frame, FrameMemory& memory) : frame_(frame), memory_(memory) {
  std::copy_n(frame.data, lines_.size(), lines_.begin());
  std::copy_n(frame.linesize, stride_bytes_.size(), stride_bytes_.begin());
}

Size VideoFrame::picture() const { return {frame_.width, frame_.height}; }
SampleAspect VideoFrame::sample_aspect() const {
  return {frame_.sample_aspect_ratio.num, frame_.sample_aspect_ratio.den};
}
HeldFrame VideoFrame::hold() const { return HeldFrame(allocated(lib::av_frame_clone(&frame_))); }
VideoFrame HeldFrame::frame(FrameMemory& memory) const { return {*frame_, memory}; }
void HeldFrame::Free::operator()(AVFrame* frame) const { lib::av_frame_free(&frame); }

// FFmpeg had the flags as members of their own before libavutil 58.7.
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
bool VideoFrame::is_interlaced() const { return (frame_.flags & AV_FRAME_FLAG_INTERLACED) != 0; }
bool VideoFrame::begins_with_even_lines() const { return (frame_.flags & AV_FRAME_FLAG_TOP_FIELD_FIRST) != 0; }
#else
bool VideoFrame::is_interlaced() const { return frame_.interlaced_frame != 0; }
bool VideoFrame::begins_with_even_lines() const { return frame_.top_field_first != 0; }
#endif

Status VideoFrame::deinterlace() {
  const auto format = static_cast<AVPixelFormat>(frame_.format);
  const AVPixFmtDescriptor* const about = lib::av_pix_fmt_desc_get(format);
  const std::optional<Samples> samples = about == nullptr ? std::nullopt : samples_of(*about);
  if (!samples) {
    return Error{Trouble::kContent, std::string("the video is interlaced, and its pixels are ") + pixels_name(format) +
                                        ", whose lines can't be interpolated: interlaced = \"keep\" takes its frames"};
  }
  for (int i = 0; i < planes_in(*about); ++i) {
    const auto at = static_cast<size_t>(i);
    const auto line_bytes = static_cast<size_t>(std::max(lib::av_image_get_linesize(format, frame_.width, i), 0));
    const Lines woven{lines_[at], stride_bytes_[at], line_bytes, height_of(frame_, *about, i)};
    const size_t stride = (line_bytes + kAlignment - 1) / kAlignment * kAlignment;
    ByteBuffer& field = memory_.inside().fields[at];
    uint8_t* const out = field.resize_aligned(stride * static_cast<size_t>(woven.height) + kSlackBytes, kAlignment);
    fill_field(woven, *samples, begins_with_even_lines(), out, stride);
    lines_[at] = out;
    stride_bytes_[at] = static_cast<int>(stride);
  }
  has_own_lines_ = false;
  return Done{};
}

std::optional<VideoPlanes> VideoFrame::planes() {
  const auto format = static_cast<AVPixelFormat>(frame_.format);
  const AVPixFmtDescriptor* const about = lib::av_pix_fmt_desc_get(format);
  constexpr uint64_t kOthers = AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM |
                               AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_BE | AV_PIX_FMT_FLAG_FLOAT |
                               AV_PIX_FMT_FLAG_BAYER;
  if (about == nullptr || about->flags & kOthers) return std::nullopt;
  const bool is_grey = about->nb_components <= 2;
  if (!is_grey && (!(about->flags & AV_PIX_FMT_FLAG_PLANAR) || about->log2_chroma_w > 1 || about->log2_chroma_h > 1))
    return std::nullopt;
  const int bits = about->comp[0].depth;
  if (bits < 8 || bits > 16 || about->comp[0].shift != 0 || about->comp[0].step != (bits > 8 ? 2 : 1))
    return std::nullopt;
  VideoPlanes planes;
  planes.picture = picture();
  planes.is_grey = is_grey;
  planes.chroma_across = is_grey ? 1 : 1 << about->log2_chroma_w;
  planes.chroma_down = is_grey ? 1 : 1 << about->log2_chroma_h;
  planes.colours = colours_of(frame_);
  for (int i = 0; i < (is_grey ? 1 : 3); ++i) {
    const auto at = static_cast<size_t>(i);
    if (about->comp[i].plane != i || about->comp[i].offset != 0) return std::nullopt;
    const int narrower = i == 0 ? 1 : planes.chroma_across, lower = i == 0 ? 1 : planes.chroma_down;
    const auto width = static_cast<size_t>((frame_.width + narrower - 1) / narrower);
    const auto height = static_cast<size_t>((frame_.height + lower - 1) / lower);
    const int stride = stride_bytes_[at];
    const uint8_t* const first = lines_[at];
    const auto may_be_read_behind = [&] {
      return !has_own_lines_ || has_slack(frame_, i, first + static_cast<size_t>(stride) * (height - 1) + width);
    };
    const bool is_direct = bits == 8 && stride > 0 && may_be_read_behind();
    if (is_direct) {
      planes.plane[at] = first;
      planes.stride_bytes[at] = static_cast<size_t>(stride);
      continue;
    }
    const size_t own_stride = (width + kAlignment - 1) / kAlignment * kAlignment;
    uint8_t* const own = memory_.inside().planes[at].resize(own_stride * height + kSlackBytes);
    for (size_t y = 0; y < height; ++y) {
      const uint8_t* const row = first + static_cast<ptrdiff_t>(stride) * static_cast<ptrdiff_t>(y);
      if (bits == 8) {
        std::memcpy(own + own_stride * y, row, width);
      } else {
        narrow_row(row, width, bits, own + own_stride * y);
      }
    }
    planes.plane[at] = own;
    planes.stride_bytes[at] = own_stride;
  }
  return planes;
}

Status VideoFrame::rgb(bool is_grey, PixelRows& rows) {
  const auto format = static_cast<AVPixelFormat>(frame_.format);
  const VideoColours from = colours_of(frame_), full{from.matrix, true};
  const ScalerKey key{picture(), picture(), format, is_grey ? AV_PIX_FMT_GRAY8 : AV_PIX_FMT_RGB24, from, full};
  FrameMemory::Inside& kept = memory_.inside();
  if (!kept.scaler || !(kept.key == key)) {
    kept.scaler = make_scaler(key);
    kept.key = key;
  }
  if (!kept.scaler) {
    return Error{Trouble::kContent,
                 std::string("the video's pixels are ") + pixels_name(format) + ", which can't be turned into RGB"};
  }
  rows.format = {is_grey ? 1 : 3, 1};
  rows.picture = picture();
  rows.covers = {0, 0, rows.picture.width, rows.picture.height};
  rows.stride_bytes =
      (static_cast<size_t>(rows.picture.width * rows.format.channels) + kAlignment - 1) / kAlignment * kAlignment;
  uint8_t* const memory = rows.memory.resize_aligned(
      rows.stride_bytes * static_cast<size_t>(rows.picture.height) + PixelRows::kSlackBytes, kAlignment);
  rows.offset = static_cast<size_t>(memory - rows.memory.data());
  uint8_t* const out[4] = {memory, nullptr, nullptr, nullptr};
  const int strides[4] = {static_cast<int>(rows.stride_bytes), 0, 0, 0};
  const int scaled =
      lib::sws_scale(kept.scaler.get(), lines_.data(), stride_bytes_.data(), 0, frame_.height, out, strides);
  if (scaled != frame_.height) return Error{Trouble::kInternal, "swscale gave another picture than it was asked for"};
  return Done{};
}

}  // namespace spdld::ffmpeg
