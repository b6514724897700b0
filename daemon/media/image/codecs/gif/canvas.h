// The frames of an animated GIF, drawn on one another as Pillow draws them. One object a decode thread, whose memory is
// reused.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "daemon/base/byte_buffer.h"
#include "daemon/base/picture.h"
#include "daemon/base/result.h"
#include "daemon/media/image/codecs/gif/reader.h"

namespace spdld::image {

class GifCanvas {
 public:
  // The most memory that it and giflib take for this frame.
  static uint64_t bytes_of(const Size& size, int frame);

  // Draws all frames up to the last one in `wanted`, whose numbers rise, and calls drawn() when one of `wanted` is
  // there: its error ends the drawing. kContent: there are fewer frames, or one reaches beyond the canvas.
  Status draw(std::span<const uint8_t> gif, std::span<const int> wanted, const Size& size, CpuWatch& watch,
              const std::function<Status()>& drawn);
  // Gives the rows of the box, of RGB or RGBA of 8 bits.
  void give(const Box& box, PixelRows& rows) const;
  void shrink();

 private:
  // The change of a drawn frame before the next one is drawn.
  struct Leaving {
    GifReader::Disposal disposal = GifReader::Disposal::kKeep;
    Box place;
    std::array<uint8_t, 4> colour = {};  // of kBackground
  };

  uint8_t* at(const Box& place, int row) {
    return pixels_.data() + kPixel * (static_cast<size_t>(place.y + row) * static_cast<size_t>(size_.width) +
                                      static_cast<size_t>(place.x));
  }
  Status draw_first(GifReader& reader, CpuWatch& watch);
  Status draw_next(GifReader& reader, CpuWatch& watch);
  // Draws the frame with this number, of the frames up to `last`.
  Status draw_later(GifReader& reader, int frame, int last, CpuWatch& watch);
  void fill(const Box& place, const std::array<uint8_t, 4>& colour);
  void leave();
  // Copies the place's pixels into `kept_`, or back.
  void keep(const Box& place);
  void put_back(const Box& place);

  static constexpr size_t kPixel = 4;
  Size size_;
  ByteBuffer pixels_, kept_, numbers_;
  bool has_alpha_ = false;
  Leaving leaving_;
};

}  // namespace spdld::image
