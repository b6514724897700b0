#include "daemon/media/ffmpeg/pictures/scaler.h"

#include "daemon/media/ffmpeg/libraries/handles.h"

namespace spdld::ffmpeg {
namespace {

Matrix matrix_of(const AVFrame& frame) {
  switch (frame.colorspace) {
    case AVCOL_SPC_BT709:
      return Matrix::kBt709;
    case AVCOL_SPC_BT470BG:
    case AVCOL_SPC_SMPTE170M:
      return Matrix::kBt601;
    case AVCOL_SPC_SMPTE240M:
      return Matrix::kSmpte240;
    case AVCOL_SPC_FCC:
      return Matrix::kFcc;
    case AVCOL_SPC_BT2020_NCL:
    case AVCOL_SPC_BT2020_CL:
      return Matrix::kBt2020;
    default:
      return frame.width >= 1280 || frame.height > 576 ? Matrix::kBt709 : Matrix::kBt601;
  }
}

int coefficients_of(Matrix matrix) {
  switch (matrix) {
    case Matrix::kBt709:
      return SWS_CS_ITU709;
    case Matrix::kBt2020:
      return SWS_CS_BT2020;
    case Matrix::kSmpte240:
      return SWS_CS_SMPTE240M;
    case Matrix::kFcc:
      return SWS_CS_FCC;
    case Matrix::kBt601:
      break;
  }
  return SWS_CS_ITU601;
}

bool has_chroma_between_lines(AVPixelFormat format) {
  const AVPixFmtDescriptor* const about = lib::av_pix_fmt_desc_get(format);
  return about != nullptr && about->log2_chroma_h == 1;
}

}  // namespace

AVPixelFormat plain(AVPixelFormat format) {
  switch (format) {
    case AV_PIX_FMT_YUVJ420P:
      return AV_PIX_FMT_YUV420P;
    case AV_PIX_FMT_YUVJ422P:
      return AV_PIX_FMT_YUV422P;
    case AV_PIX_FMT_YUVJ444P:
      return AV_PIX_FMT_YUV444P;
    case AV_PIX_FMT_YUVJ440P:
      return AV_PIX_FMT_YUV440P;
    case AV_PIX_FMT_YUVJ411P:
      return AV_PIX_FMT_YUV411P;
    default:
      return format;
  }
}

const char* pixels_name(AVPixelFormat format) {
  const char* const name = lib::av_get_pix_fmt_name(format);
  return name == nullptr ? "unknown" : name;
}

VideoColours colours_of(const AVFrame& frame) {
  const auto format = static_cast<AVPixelFormat>(frame.format);
  const bool is_jpegs = plain(format) != format;
  VideoColours colours;
  colours.matrix = matrix_of(frame);
  colours.is_full_range =
      frame.color_range == AVCOL_RANGE_JPEG || (frame.color_range == AVCOL_RANGE_UNSPECIFIED && is_jpegs);
  return colours;
}

Scaler make_scaler(const ScalerKey& key) {
  Scaler scaler(allocated(lib::sws_alloc_context()));
  const auto set = [&](const char* name, int64_t value) { lib::av_opt_set_int(scaler.get(), name, value, 0); };
  set("srcw", key.from.width);
  set("srch", key.from.height);
  set("dstw", key.to.width);
  set("dsth", key.to.height);
  set("src_format", plain(key.from_format));
  set("dst_format", plain(key.to_format));
  set("src_range", key.from_colours.is_full_range);
  set("dst_range", key.to_colours.is_full_range);
  set("sws_flags", SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP | SWS_BITEXACT);
  // In 256ths of a luma line, as FFmpeg's filter "scale" places it.
  const int chroma_line = key.field == 1 ? 64 : 192;
  if (key.field != 0 && has_chroma_between_lines(key.from_format)) set("src_v_chr_pos", chroma_line);
  if (key.field != 0 && has_chroma_between_lines(key.to_format)) set("dst_v_chr_pos", chroma_line);
  if (lib::sws_init_context(scaler.get(), nullptr, nullptr) < 0) return nullptr;
  const int* const from = lib::sws_getCoefficients(coefficients_of(key.from_colours.matrix));
  const int* const to = lib::sws_getCoefficients(coefficients_of(key.to_colours.matrix));
  lib::sws_setColorspaceDetails(scaler.get(), from, key.from_colours.is_full_range, to, key.to_colours.is_full_range, 0,
                                1 << 16, 1 << 16);
  return scaler;
}

}  // namespace spdld::ffmpeg
