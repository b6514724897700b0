// A picture's planes by the baseline decoder, where its header and its only scan are plain enough for it: the samples
// that raw_planes.h gives. One thread.
#pragma once

#include <cstdint>
#include <cstdio>  // jpeglib.h needs FILE and does not include it

#include <jpeglib.h>

#include <span>

#include "daemon/media/image/codecs/baseline/mcu_rows.h"
#include "daemon/media/image/codecs/jpeg/plane_writer.h"
#include "daemon/media/image/codecs/planes.h"

namespace spdld::image {

class PlainScan {
 public:
  // Indexes of the scan, see baseline/scan_index.h. Borrowed.
  struct Indexes {
    std::span<const uint8_t> known = {};  // to reach the box by; it needs no rows above it
    std::span<uint8_t> made = {};         // index_bytes() zeroes: an index without points; gets the index, if it can
  };
  // Precondition: the header was read, and nothing after it; nothing but restart markers and the end marker is in
  // `coded`, the bytes behind it.
  OwnDecoding read(const jpeg_decompress_struct& jpeg, std::span<const uint8_t> coded, const OwnTarget& target,
                   const Indexes& indexes, const GoesOn& goes_on);
  // Whether read() takes the scan, by its header. Precondition: read()'s.
  bool takes(const jpeg_decompress_struct& jpeg, const PlanesShape& shape) { return describe(jpeg, shape); }
  // The bytes of an index of this scan; 0: it has none. Precondition: read()'s.
  size_t index_bytes(const jpeg_decompress_struct& jpeg, std::span<const uint8_t> coded, const PlanesShape& shape);

 private:
  bool describe(const jpeg_decompress_struct& jpeg, const PlanesShape& shape);
  bool is_in_order(const PlanesShape& shape) const;
  bool read_mcu_row(int mcu_row);
  OwnDecoding read_rows(int first, int end, const OwnTarget& target, std::span<const uint8_t> index,
                        const GoesOn& goes_on);

  baseline::Frame frame_;
  std::array<size_t, baseline::kComponentsMax> plane_{};  // of each component, in the order of the scan
  int across_ = 0, down_ = 0;                             // of an MCU, in pixels
  baseline::McuRows rows_;
  PlaneWriter writer_;
};

}  // namespace spdld::image
