#include "daemon/media/ffmpeg/pictures/still_decoder.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "daemon/media/ffmpeg/libraries/decoder_pool.h"
#include "daemon/media/ffmpeg/libraries/enumerations.h"
#include "daemon/media/ffmpeg/libraries/frame_pool.h"
#include "daemon/media/ffmpeg/libraries/handles.h"
#include "daemon/media/ffmpeg/libraries/load.h"
#include "daemon/media/ffmpeg/pictures/video_frame.h"

namespace spdld::ffmpeg {
namespace {

constexpr int kCodedSpare = 64;  // a picture is coded in blocks of up to so many pixels

Error wrong(std::string what) { return {Trouble::kContent, std::move(what)}; }
Error not_taken(std::string what) { return {Trouble::kUnsupported, std::move(what)}; }

std::string text_of(const Size& size) { return std::to_string(size.width) + " x " + std::to_string(size.height); }

uint64_t pixels_of(const Size& size) { return static_cast<uint64_t>(size.width) * static_cast<uint64_t>(size.height); }

// The header's bytes are copied into memory of the library's, with zeros behind them.
CodecParameters parameters_of(const StillCell& cell, const Size& size) {
  CodecParameters parameters(allocated(lib::avcodec_parameters_alloc()));
  parameters->codec_type = AVMEDIA_TYPE_VIDEO;
  parameters->codec_id = AV_CODEC_ID_HEVC;
  parameters->width = size.width;
  parameters->height = size.height;
  const size_t bytes = cell.header.size();
  parameters->extradata = static_cast<uint8_t*>(allocated(lib::av_malloc(bytes + AV_INPUT_BUFFER_PADDING_SIZE)));
  std::memset(parameters->extradata, 0, bytes + AV_INPUT_BUFFER_PADDING_SIZE);
  std::memcpy(parameters->extradata, cell.header.data(), bytes);
  parameters->extradata_size = static_cast<int>(bytes);
  return parameters;
}

// The matrix in whose terms the frame's samples are; none: this room does not know it.
std::optional<AVColorSpace> known_matrix(int64_t matrix, bool is_rgb) {
  const auto space = enumeration_of<AVColorSpace>(matrix);
  if (!space) return std::nullopt;
  switch (*space) {
    case AVCOL_SPC_RGB:
      return is_rgb ? space : std::nullopt;
    case AVCOL_SPC_UNSPECIFIED:
    case AVCOL_SPC_RESERVED:
      return is_rgb ? AVCOL_SPC_RGB : AVCOL_SPC_SMPTE170M;
    case AVCOL_SPC_BT709:
    case AVCOL_SPC_FCC:
    case AVCOL_SPC_BT470BG:
    case AVCOL_SPC_SMPTE170M:
    case AVCOL_SPC_SMPTE240M:
    case AVCOL_SPC_BT2020_NCL:
      return is_rgb ? std::nullopt : space;
    default:
      return std::nullopt;
  }
}

}  // namespace

StillMemory still_memory(const StillGrid& grid, std::span<const uint8_t> header) {
  constexpr uint64_t kForAll = 4 << 20, kRowBytes = 256;  // the decoder's tables; the scaler's rows
  constexpr size_t kChromaAt = 16, kDepthAt = 17;
  constexpr std::array<uint64_t, 4> kHalfSamples = {2, 3, 4, 6};  // of two pixels, by the kind of chroma
  // As frame_pool.h asks: for four frames, with what is noted of their blocks.
  constexpr uint64_t kFrames = 6;
  const uint64_t half_samples = header.size() > kDepthAt ? kHalfSamples[header[kChromaAt] & 3] : 6;
  const uint64_t sample_bytes = header.size() > kDepthAt && (header[kDepthAt] & 7) == 0 ? 1 : 2;
  const auto bytes_of = [&](const Size& size) { return pixels_of(size) * half_samples * sample_bytes / 2; };
  const Size coded{grid.cell.width + kCodedSpare, grid.cell.height + kCodedSpare};
  StillMemory memory;
  memory.frame_bytes = kFrames * bytes_of(coded);
  const bool is_joined = grid.columns * grid.rows > 1;
  memory.bytes = memory.frame_bytes + kForAll + kRowBytes * static_cast<uint64_t>(grid.picture.width) +
                 (is_joined ? bytes_of({grid.picture.width + kCodedSpare, grid.picture.height + 1}) : 0);
  return memory;
}

class StillDecoder::Inside {
 public:
  Inside(const StillGrid& grid, const media::DecodeLimits& limits) : grid_(grid), frames_(limits.memory) {}

  Status add(const StillCell& cell) {
    const CodecParameters told = parameters_of(cell, grid_.cell);
    const auto parameters = decoder_parameters(*told, "picture");
    if (!parameters) return not_taken("HEVC's coding, for which the FFmpeg that spdld runs with has no decoder");
    bool has_room = true;
    const auto prepare = [&](AVCodecContext& context) {
      context.max_pixels =
          static_cast<int64_t>(pixels_of({grid_.cell.width + kCodedSpare, grid_.cell.height + kCodedSpare}));
      context.err_recognition = AV_EF_EXPLODE | AV_EF_CRCCHECK;
      has_room = frames_.serve(context, grid_.cell);
    };
    const auto opened = decoders_.decoder_for(**parameters, "picture", prepare);
    if (!has_room) return media::no_room();
    if (!opened) return wrong("its header of HEVC can't be read");
    if ((*opened)->send(cell.data, true, 0) < 0) return undecodable();
    (*opened)->finish();
    AVFrame& frame = *(*opened)->frame;
    if (lib::avcodec_receive_frame((*opened)->context.get(), &frame) < 0) return undecodable();
    check_enumerations(frame);
    const Status taken = take(frame);
    lib::av_frame_unref(&frame);
    return taken;
  }

  Status finish(PixelRows& rows) {
    const AVPixFmtDescriptor& about = *lib::av_pix_fmt_desc_get(static_cast<AVPixelFormat>(picture_->format));
    if (const Status coloured = tell_colours((about.flags & AV_PIX_FMT_FLAG_RGB) != 0); !coloured) return coloured;
    return VideoFrame(*picture_, memory_).rgb(grid_.is_alpha, rows);
  }

 private:
  Status undecodable() const {
    return wrong(cells() > 1 ? "cell " + std::to_string(added_) + " of its grid can't be decoded"
                             : "its data can't be decoded");
  }

  int cells() const { return grid_.columns * grid_.rows; }

  Status take(const AVFrame& frame) {
    if (frame.decode_error_flags != 0 || frame.flags & AV_FRAME_FLAG_CORRUPT) return undecodable();
    if (frame.width < grid_.cell.width || frame.height < grid_.cell.height)
      return wrong("its coded data has " + text_of(Size{frame.width, frame.height}) +
                   " pixels, and its header claims " + text_of(grid_.cell));
    if (cells() == 1) {
      picture_.reset(allocated(lib::av_frame_clone(&frame)));
      picture_->width = grid_.picture.width;
      picture_->height = grid_.picture.height;
      return Done{};
    }
    if (added_ == 0) {
      if (const Status begun = begin(frame); !begun) return begun;
    } else if (frame.format != picture_->format) {
      return wrong("the cells of its grid have several kinds of samples");
    }
    place(frame);
    ++added_;
    return Done{};
  }

  // Makes room for the whole picture, in the kind of samples that the first cell has.
  Status begin(const AVFrame& frame) {
    const auto format = static_cast<AVPixelFormat>(frame.format);
    const AVPixFmtDescriptor* const about = lib::av_pix_fmt_desc_get(format);
    const bool has_planes =
        about != nullptr && (about->nb_components == 1 || (about->flags & AV_PIX_FMT_FLAG_PLANAR) != 0);
    if (!has_planes) return not_taken("samples that do not lie in planes");
    const int across = (1 << about->log2_chroma_w) - 1, down = (1 << about->log2_chroma_h) - 1;
    if ((grid_.cell.width & across) != 0 || (grid_.cell.height & down) != 0)
      return not_taken("cells whose borders cut through samples of chroma");
    picture_.reset(allocated(lib::av_frame_alloc()));
    picture_->format = frame.format;
    picture_->width = grid_.picture.width;
    picture_->height = grid_.picture.height;
    picture_->colorspace = frame.colorspace;
    picture_->color_range = frame.color_range;
    if (!whole_.lend_frame(*picture_)) throw std::bad_alloc();
    return Done{};
  }

  // A plane of samples: one of them stands for several pixels across and down.
  struct Plane {
    int shift_across = 0, shift_down = 0, sample_bytes = 1;

    static int shifted(int pixels, int shift) { return (pixels + (1 << shift) - 1) >> shift; }
    int down(int pixels) const { return shifted(pixels, shift_down); }
    size_t row_bytes(int pixels) const {
      return static_cast<size_t>(shifted(pixels, shift_across)) * static_cast<size_t>(sample_bytes);
    }
  };
  static Plane plane_of(const AVPixFmtDescriptor& about, int component) {
    const bool is_chroma = (component == 1 || component == 2) && (about.flags & AV_PIX_FMT_FLAG_RGB) == 0;
    return {is_chroma ? about.log2_chroma_w : 0, is_chroma ? about.log2_chroma_h : 0, about.comp[component].step};
  }

  void place(const AVFrame& frame) {
    const AVPixFmtDescriptor& about = *lib::av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
    const int x = added_ % grid_.columns * grid_.cell.width, y = added_ / grid_.columns * grid_.cell.height;
    const int width = std::min(grid_.cell.width, grid_.picture.width - x);
    const int height = std::min(grid_.cell.height, grid_.picture.height - y);
    if (width <= 0 || height <= 0) return;  // it lies beside the picture
    for (int i = 0; i < about.nb_components; ++i) {
      const auto at = static_cast<size_t>(about.comp[i].plane);
      const Plane plane = plane_of(about, i);
      uint8_t* out = picture_->data[at] + static_cast<ptrdiff_t>(picture_->linesize[at]) * plane.down(y) +
                     static_cast<ptrdiff_t>(plane.row_bytes(x));
      const uint8_t* in = frame.data[at];
      for (int row = plane.down(height); row > 0; --row) {
        std::memcpy(out, in, plane.row_bytes(width));
        out += picture_->linesize[at];
        in += frame.linesize[at];
      }
    }
  }

  Status tell_colours(bool is_rgb) {
    if (grid_.is_alpha) {
      picture_->color_range = AVCOL_RANGE_JPEG;
      picture_->colorspace = AVCOL_SPC_SMPTE170M;
      return Done{};
    }
    if (grid_.colours) picture_->color_range = grid_.colours->is_full_range ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
    const bool is_told = grid_.colours && grid_.colours->matrix != AVCOL_SPC_UNSPECIFIED;
    const auto matrix = known_matrix(is_told ? int64_t{grid_.colours->matrix} : int64_t{picture_->colorspace}, is_rgb);
    if (!matrix) return not_taken("colours that are no plain RGB, and no YCbCr of the usual kinds");
    picture_->colorspace = *matrix;
    return Done{};
  }

  const StillGrid grid_;
  FramePool frames_;
  DecoderPool decoders_;
  FrameMemory memory_;
  FramePool whole_;  // for the whole picture, where it has several cells: still_memory() counts it
  FrameHandle picture_;
  int added_ = 0;
};

StillDecoder::StillDecoder(const StillGrid& grid, const media::DecodeLimits& limits)
    : inside_((load_libraries(), std::make_unique<Inside>(grid, limits))) {}
StillDecoder::~StillDecoder() = default;
Status StillDecoder::add(const StillCell& cell) { return inside_->add(cell); }
Status StillDecoder::finish(PixelRows& rows) { return inside_->finish(rows); }

std::string still_code() { return version_text("libavcodec", LIBAVCODEC_VERSION_INT); }

}  // namespace spdld::ffmpeg
