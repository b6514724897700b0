#include "daemon/media/ffmpeg/pictures/frame_converter.h"

#include <string>

#include "daemon/media/sample_memory.h"

namespace spdld::ffmpeg {
namespace {

bool is_rgb(AVPixelFormat format) {
  const AVPixFmtDescriptor* const about = lib::av_pix_fmt_desc_get(format);
  return about != nullptr && (about->flags & AV_PIX_FMT_FLAG_RGB) != 0;
}

// swscale makes no palettes: such a stream's frames keep their own pixels.
AVPixelFormat target_of(AVPixelFormat wanted, AVPixelFormat own) {
  for (const AVPixelFormat format : {wanted, own})
    if (format != AV_PIX_FMT_NONE && lib::sws_isSupportedOutput(plain(format)) > 0) return format;
  return AV_PIX_FMT_RGBA;
}

// Colours mean what they meant. RGB becomes planes by the matrix that is taken for planes without a tag.
VideoColours colours_behind(const AVFrame& from, const AVFrame& to) {
  const auto own = static_cast<AVPixelFormat>(from.format), wanted = static_cast<AVPixelFormat>(to.format);
  VideoColours colours = colours_of(from);
  if (is_rgb(wanted)) colours.is_full_range = true;
  if (is_rgb(own) && !is_rgb(wanted)) {
    colours = colours_of(to);
    colours.is_full_range = plain(wanted) != wanted;
  }
  return colours;
}

AVColorSpace space_of(Matrix matrix) {
  switch (matrix) {
    case Matrix::kBt709:
      return AVCOL_SPC_BT709;
    case Matrix::kBt2020:
      return AVCOL_SPC_BT2020_NCL;
    case Matrix::kSmpte240:
      return AVCOL_SPC_SMPTE240M;
    case Matrix::kFcc:
      return AVCOL_SPC_FCC;
    case Matrix::kBt601:
      break;
  }
  return AVCOL_SPC_SMPTE170M;
}

// Tags are added where the new size or format would be taken to mean other colours.
void tell(const VideoColours& colours, bool was_rgb, AVFrame& frame) {
  if (is_rgb(static_cast<AVPixelFormat>(frame.format))) {
    if (!was_rgb) frame.colorspace = AVCOL_SPC_RGB;
    return;
  }
  if (frame.colorspace == AVCOL_SPC_RGB) frame.colorspace = AVCOL_SPC_UNSPECIFIED;
  if (colours_of(frame).matrix != colours.matrix) frame.colorspace = space_of(colours.matrix);
  if (colours_of(frame).is_full_range != colours.is_full_range)
    frame.color_range = colours.is_full_range ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
}

// Whether a field's lines are every second line of each plane, whatever the chroma.
bool has_whole_fields(AVPixelFormat format, int height) {
  const AVPixFmtDescriptor* const about = lib::av_pix_fmt_desc_get(format);
  return height % 4 == 0 && about != nullptr && (about->flags & AV_PIX_FMT_FLAG_PAL) == 0;
}

}  // namespace

Result<const AVFrame*> FrameConverter::converted(const AVFrame& frame, const FrameLook& look, bool has_fields) {
  const auto own = static_cast<AVPixelFormat>(frame.format);
  const Size picture{frame.width, frame.height};
  const AVPixelFormat wanted = look.pixels == AV_PIX_FMT_NONE ? own : look.pixels;
  if (picture == look.picture && plain(wanted) == plain(own)) return &frame;
  out_.reset(allocated(lib::av_frame_alloc()));
  const AVPixelFormat format = target_of(wanted, own);
  if (picture == look.picture && plain(format) == plain(own)) return &frame;
  if (lib::av_frame_copy_props(out_.get(), &frame) < 0) throw std::bad_alloc();
  out_->format = format;
  out_->width = look.picture.width;
  out_->height = look.picture.height;
  const VideoColours colours = colours_behind(frame, *out_);
  tell(colours, is_rgb(own), *out_);
  if (!pool_.lend_frame(*out_)) return media::no_room();
  const bool is_parted =
      has_fields && has_whole_fields(own, picture.height) && has_whole_fields(format, look.picture.height);
  ScalerKey key{picture, look.picture, own, format, colours_of(frame), colours};
  if (is_parted) {
    key.from.height /= 2;
    key.to.height /= 2;
    for (key.field = 1; key.field <= 2; ++key.field)
      if (const Status scaled = scale(frame, *out_, key); !scaled) return scaled.error();
  } else if (const Status scaled = scale(frame, *out_, key); !scaled) {
    return scaled.error();
  }
  return out_.get();
}

Status FrameConverter::scale(const AVFrame& from, AVFrame& to, const ScalerKey& key) {
  Kept& kept = kept_[static_cast<size_t>(key.field)];
  if (!kept.scaler || !(kept.key == key)) kept = {key, make_scaler(key)};
  if (!kept.scaler)
    return Error{Trouble::kContent, std::string("the video changes its pixels on the way, from ") +
                                        pixels_name(key.to_format) + " to " + pixels_name(key.from_format) +
                                        ", and these can't be turned back"};
  const int lines = key.field == 0 ? 1 : 2, first = key.field == 2 ? 1 : 0;
  const uint8_t* in[4] = {};
  uint8_t* out[4] = {};
  int in_strides[4] = {}, out_strides[4] = {};
  for (int i = 0; i < 4; ++i) {
    if (from.data[i] != nullptr) in[i] = from.data[i] + static_cast<ptrdiff_t>(first) * from.linesize[i];
    if (to.data[i] != nullptr) out[i] = to.data[i] + static_cast<ptrdiff_t>(first) * to.linesize[i];
    in_strides[i] = lines * from.linesize[i];
    out_strides[i] = lines * to.linesize[i];
  }
  const int scaled = lib::sws_scale(kept.scaler.get(), in, in_strides, 0, key.from.height, out, out_strides);
  if (scaled != key.to.height) return Error{Trouble::kInternal, "swscale gave another picture than it was asked for"};
  return Done{};
}

}  // namespace spdld::ffmpeg
