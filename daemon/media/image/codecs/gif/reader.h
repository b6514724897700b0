// giflib over bytes in memory, from one picture of a GIF to the next. One thread a reader.
#pragma once

#include <gif_lib.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "daemon/base/byte_buffer.h"
#include "daemon/base/picture.h"
#include "daemon/base/result.h"
#include "daemon/media/image/codecs/gif/wide_codes.h"
#include "daemon/media/image/codecs/picture_limits.h"
#include "daemon/media/image/codecs/stored_codec.h"

namespace spdld::image {

inline constexpr char kGifName[] = "a GIF";

// The pixels of all numbers of a picture's palette.
using GifColours = std::array<std::array<uint8_t, 4>, 256>;

class GifReader {
 public:
  // `bytes` must stay valid as long as the reader.
  explicit GifReader(std::span<const uint8_t> bytes) : source_{bytes} {}

  // Reads up to the first picture; called once, and first. kContent: there is none.
  Status find_picture();
  // Reads on to the next picture, behind all rows of the one before it. False: there is none.
  Result<bool> find_next();

  // All below are of the picture that was found.
  // The canvas: the file's own, or as large as the picture needs.
  uint32_t width() const;
  uint32_t height() const;
  Box frame() const;                                               // the picture's place on the canvas
  std::optional<int> transparent() const { return transparent_; }  // the number of the colour that is transparent
  // The change of it before the next one is drawn. A picture that says nothing is treated as the one before it.
  enum class Disposal : uint8_t { kKeep, kBackground, kPrevious };
  Disposal disposal() const { return disposal_; }
  int background() const { return gif_->SColorMap != nullptr ? gif_->SBackGroundColor : 0; }
  // Red, green, blue and alpha of all numbers. The transparent one has alpha 0.
  GifColours colours() const;

  // Gives sink(y, numbers) each stored row, with its place in the picture. `memory` is for a row.
  template <typename Sink>
  Status read_rows(CpuWatch& watch, ByteBuffer& memory, const Sink& sink) {
    const auto width = static_cast<size_t>(gif_->Image.Width);
    const std::span<uint8_t> numbers(memory.resize(width), width);
    for (const GifPass& pass : passes()) {
      for (int y = pass.first; y < gif_->Image.Height; y += pass.step) {
        if (watch.is_over(width / 64 + 1)) return costs_too_much(kGifName, kTooMuchCpuTime);
        if (!read_row(numbers)) return damaged(kGifName, "giflib can't decode its row " + std::to_string(y));
        sink(y, numbers);
      }
    }
    if (wide_) wide_->finish();
    return Done{};
  }

 private:
  struct Source {
    std::span<const uint8_t> rest;
    int last = 0;        // the byte before it
    bool ended = false;  // more was wanted than there is
  };
  struct Close {
    void operator()(GifFileType* gif) const {
      int error = 0;
      (void)DGifCloseFile(gif, &error);
    }
  };
  struct GifPass {
    int first, step;
  };
  static int read(GifFileType* gif, GifByteType* to, int count);
  bool read_extension();
  // The picture's header, up to its coded data.
  bool read_header();
  std::span<const GifPass> passes() const;
  // Red, green and blue of a number. Without a palette the numbers are grey values; entries that it lacks are black.
  std::array<uint8_t, 3> colour(int number) const;
  // The numbers of the next stored row. False: the coded data are damaged, or end too early.
  bool read_row(std::span<uint8_t> numbers);

  Source source_;
  std::unique_ptr<GifFileType, Close> gif_;  // points to source_: the reader can't be moved
  std::optional<WideCodes> wide_;            // of a picture that giflib does not decode
  std::optional<int> transparent_;
  Disposal disposal_ = Disposal::kKeep;
  int pictures_ = 0;  // that were found
};

}  // namespace spdld::image
