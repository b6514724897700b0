// A decoded frame of a video, as planes of 8 bits or as RGB. Valid while the decoder's sink runs; the thread that
// decodes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "daemon/base/byte_buffer.h"
#include "daemon/base/picture.h"
#include "daemon/base/result.h"
#include "daemon/media/ffmpeg/pictures/video_index.h"

struct AVFrame;

namespace spdld::ffmpeg {

// ITU-T H.273's matrix coefficients, as far as planes are given in them.
enum class Matrix : uint8_t { kBt601, kBt709, kBt2020, kSmpte240, kFcc };

// How luma and chroma become RGB. Chroma that stands for two pixels is taken to lie between them, as FFmpeg's scaler
// takes it by default. A video without tags has the matrix of its size, as players take it: BT.709 from a
// width of 1280 or a height above 576 on, else BT.601; and its range is limited, but for the formats of JPEG.
struct VideoColours {
  Matrix matrix = Matrix::kBt601;
  bool is_full_range = false;  // else black is 16, white is 235
  friend bool operator==(const VideoColours&, const VideoColours&) = default;
};

struct VideoPlanes {
  Size picture;
  int chroma_across = 2, chroma_down = 2;  // 1 or 2: the factors by which chroma is smaller
  bool is_grey = false;                    // luma alone
  VideoColours colours;
  std::array<const uint8_t*, 3> plane{};  // 64 bytes behind the last sample are readable
  std::array<size_t, 3> stride_bytes{};
};

// Memory and scalers that are kept from frame to frame; one thread.
class FrameMemory {
 public:
  FrameMemory();
  ~FrameMemory();
  struct Inside;
  Inside& inside() { return *inside_; }
  void shrink(size_t bytes_max);

 private:
  std::unique_ptr<Inside> inside_;
};

class VideoFrame;

// A frame that outlives the decoder's sink, with its memory: the decoder takes other memory for its next frames.
class HeldFrame {
 public:
  VideoFrame frame(FrameMemory& memory) const;

 private:
  friend class VideoFrame;
  struct Free {
    void operator()(AVFrame* frame) const;
  };
  explicit HeldFrame(AVFrame* frame) : frame_(frame) {}

  std::unique_ptr<AVFrame, Free> frame_;
};

class VideoFrame {
 public:
  VideoFrame(const AVFrame& frame, FrameMemory& memory);

  Size picture() const;
  SampleAspect sample_aspect() const;
  // As the decoder flags it: the frame's even and odd lines are two fields, of two moments.
  bool is_interlaced() const;
  bool begins_with_even_lines() const;  // of an interlaced frame: the first field in time has them
  // Lets planes() and rgb() give the first field in time, with interpolated lines between its own (deinterlace.h). To
  // be called once, before them. kContent: the pixels are in a format whose lines can't be interpolated.
  Status deinterlace();
  HeldFrame hold() const;
  // The planes, in the decoder's memory or, where these have other strides or more bits, as a copy of 8 bits. None: the
  // pixels are no luma with chroma of 4:4:4, 4:4:0, 4:2:2, 4:2:0 or without chroma; rgb() has them.
  std::optional<VideoPlanes> planes();
  // The whole frame as rows of RGB, or of grey, of 8 bits; alpha is dropped. By swscale, at its best quality.
  Status rgb(bool is_grey, PixelRows& rows);

 private:
  friend class KeptFramesWriter;
  friend std::optional<uint64_t> kept_frames_bytes(const VideoIndex&, std::string_view, const VideoFrame&);
  const AVFrame& frame_;
  FrameMemory& memory_;
  // The frame's own lines, or interpolated ones, which lie in memory_ and have slack behind them.
  std::array<const uint8_t*, 4> lines_{};
  std::array<int, 4> stride_bytes_{};
  bool has_own_lines_ = true;
};

}  // namespace spdld::ffmpeg
