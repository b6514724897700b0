// The own decoders of JPEGs share these: their answers, and the way of their samples into planes. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "daemon/base/byte_buffer.h"
#include "daemon/media/image/codecs/baseline/packed_picture.h"
#include "daemon/media/image/codecs/jpeg/plane_rows.h"
#include "daemon/media/image/codecs/planes.h"

namespace spdld::image {

enum class OwnDecoding : uint8_t {
  kDone,
  kLeft,    // this is libjpeg's to decode, which begins anew: the memory holds anything
  kStopped  // the caller said so
};

struct OwnTarget {
  const PlanesShape& shape;  // of the whole picture
  const PlanesLayout& layout;
  uint8_t* memory;                        // layout.bytes, aligned to PlanesLayout::kAlignment
  std::optional<Box> box = std::nullopt;  // the part that is needed; none: all of it, and zeroes around it
  bool to_end = false;                    // all coded data has to be sound, and to end where the picture does
  // Gets the coefficients on the way, if these can be packed. The whole picture is needed then.
  baseline::PackedWriter* packed = nullptr;
};

// Is asked before each row of MCUs, with its number of blocks; false ends the decoding.
using GoesOn = std::function<bool(uint64_t blocks)>;

// The pixels that the planes of `target` need.
Box needed_box(const OwnTarget& target);

class PlaneWriter {
 public:
  // Writes the planes' header. `target` is borrowed until the end. `lines`: of each plane, in a row of MCUs.
  void begin(const OwnTarget& target, const std::array<int, kPlanesMax>& lines);
  // Where the samples of a row of MCUs go. Of the whole picture that is memory on the way: keep() follows.
  const PlaneRows& rows_of(int mcu_row);
  void keep();
  void end();

 private:
  const OwnTarget* target_ = nullptr;
  PlaneRows rows_;
  uint8_t* spare_ = nullptr;
  ByteBuffer memory_;
};

}  // namespace spdld::image
