// giflib over bytes in memory, up to the first picture of a GIF. One thread a reader.
#pragma once

#include <gif_lib.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "daemon/base/picture.h"
#include "daemon/base/result.h"

namespace spdld::image {

class GifReader {
 public:
  // `bytes` must stay valid as long as the reader.
  explicit GifReader(std::span<const uint8_t> bytes) : source_{bytes} {}

  // Reads up to the first picture; called once, and first. kContent: there is none.
  Status find_picture();

  // The canvas: the file's own, or as large as the picture needs.
  uint32_t width() const;
  uint32_t height() const;
  Box frame() const;  // the picture's place on the canvas
  bool is_interlaced() const { return gif_->Image.Interlace; }
  std::optional<int> transparent() const { return transparent_; }  // the number of the colour that is transparent
  // Red, green and blue of a number. Without a palette the numbers are grey values; entries that it lacks are black.
  std::array<uint8_t, 3> colour(int number) const;

  // The numbers of the picture's next stored row. False: the coded data are damaged, or end too early.
  bool read_row(std::span<uint8_t> numbers);

 private:
  struct Source {
    std::span<const uint8_t> rest;
  };
  struct Close {
    void operator()(GifFileType* gif) const {
      int error = 0;
      (void)DGifCloseFile(gif, &error);
    }
  };
  static int read(GifFileType* gif, GifByteType* to, int count);
  bool read_extension();

  Source source_;
  std::unique_ptr<GifFileType, Close> gif_;  // points to source_: the reader can't be moved
  std::optional<int> transparent_;
};

inline constexpr char kGifName[] = "a GIF";

}  // namespace spdld::image
