// Writes packed coefficients as a plain JPEG (ITU-T T.81): one baseline scan of all components, which an index can
// point into. Nothing is lost: the picture has the same samples from the plain JPEG. Its codes stand in T.81, annex
// K.3: one pass over the coefficients is enough for them, and most pictures have the same, so that a decoder has their
// tables already. One thread; memory is kept from picture to picture.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "daemon/media/image/codecs/baseline/packed_picture.h"
#include "daemon/media/image/codecs/baseline/places.h"

namespace spdld::image::baseline {

class PlainJpegWriter {
 public:
  struct Size {
    int width = 0, height = 0;               // of the picture, in pixels
    int chroma_across = 1, chroma_down = 1;  // pixels that a chroma sample stands for
  };

  PlainJpegWriter();
  // The picture's bytes, which stay until the next call. Empty: a baseline JPEG can't hold it, since a coefficient or a
  // step of quantisation is too large, or the packed picture is damaged or of another size.
  std::span<const uint8_t> write(const PackedPicture& picture, const Size& size);
  // Keeps at most `bytes_max` bytes of memory.
  void shrink(size_t bytes_max);

 private:
  // A symbol's code.
  struct Code {
    uint16_t bits = 0;
    uint8_t length = 0;
  };
  using Codes = std::array<Code, 256>;
  struct Row {  // of blocks
    std::vector<int16_t> memory;
    std::vector<uint8_t> last;
    int16_t* groups = nullptr;
    bool exists = false;
  };
  struct Component {
    int across = 1, down = 1;  // blocks in an MCU
    int predicted = 0;         // the DC coefficient of the block before
    std::array<Row, 2> rows;
  };

  [[nodiscard]] bool describe(const PackedPicture& picture, const Size& size);
  [[nodiscard]] bool write_head(const PackedPicture& picture, const Size& size);
  void write_segment(uint8_t marker, std::span<const uint8_t> content);
  [[nodiscard]] bool read_rows(const PackedPicture& picture, int mcu_row);
  [[nodiscard]] bool read_row(const PackedPicture& picture, size_t component, int number, Row& row);
  [[nodiscard]] bool write_mcu(const PackedPicture& picture, int column);
  [[nodiscard]] bool write_block(const int16_t* block, bool has_ac, Component& component, bool is_luma);
  void put(uint32_t bits, int count);
  void put_code(const Code& code, uint32_t value, int size);
  void end_scan();

  const size_t in_group_;
  const Places places_;
  std::array<Codes, 2> dc_codes_, ac_codes_;  // of luma and of chroma
  std::array<Component, kComponentsMax> components_;
  std::vector<uint8_t> jpeg_;
  size_t used_ = 0;    // of jpeg_
  uint64_t bits_ = 0;  // the lowest `count_` are not in jpeg_ yet
  int count_ = 0;
};

}  // namespace spdld::image::baseline
