// A picture's planes by the baseline decoder, where its header and its only scan are plain enough for it: the samples
// that raw_planes.h gives. One thread.
#pragma once

#include <cstdint>
#include <cstdio>  // jpeglib.h needs FILE and does not include it

#include <jpeglib.h>

#include <functional>
#include <optional>
#include <span>

#include "daemon/base/byte_buffer.h"
#include "daemon/media/image/baseline/mcu_rows.h"
#include "daemon/media/image/jpeg/plane_rows.h"
#include "daemon/media/image/planes.h"

namespace spdld::image {

class PlainScan {
 public:
  enum class Outcome : uint8_t {
    kDone,
    kLeft,    // this is libjpeg's to decode, which begins anew: the memory holds anything
    kStopped  // the caller said so
  };
  struct Target {
    const PlanesShape& shape;  // of the whole picture
    const PlanesLayout& layout;
    uint8_t* memory;                        // layout.bytes, aligned to PlanesLayout::kAlignment
    std::optional<Box> box = std::nullopt;  // the part that is needed; none: all of it, and zeroes around it
    bool to_end = false;                    // the scan has to end where the picture does
  };
  // Precondition: the header was read, and nothing after it; nothing but restart markers and the end marker is in
  // `coded`, the bytes behind it. `goes_on` is asked before each row of MCUs, with its number of blocks.
  Outcome read(const jpeg_decompress_struct& jpeg, std::span<const uint8_t> coded, const Target& target,
               const std::function<bool(uint64_t blocks)>& goes_on);

 private:
  bool describe(const jpeg_decompress_struct& jpeg, const PlanesShape& shape);
  uint8_t* lay_rows(const Target& target, PlaneRows& rows);
  bool read_mcu_row(int mcu_row, const Target& target, uint8_t* spare, PlaneRows& rows);

  baseline::Frame frame_;
  std::array<size_t, baseline::kComponentsMax> plane_{};  // of each component, in the order of the scan
  int across_ = 0, down_ = 0;                             // of an MCU, in pixels
  baseline::McuRows rows_;
  ByteBuffer row_memory_;
};

}  // namespace spdld::image
