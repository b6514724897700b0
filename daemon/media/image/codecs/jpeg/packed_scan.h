// The planes of a box by a picture's packed coefficients (baseline/packed_picture.h): the samples that raw_planes.h
// gives. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "daemon/base/byte_buffer.h"
#include "daemon/media/image/codecs/baseline/packed_picture.h"
#include "daemon/media/image/codecs/jpeg/plane_writer.h"
#include "daemon/media/image/codecs/planes.h"

namespace spdld::image {

class PackedScan {
 public:
  // `packed` is borrowed until the next open() or close(). False: it is no picture of this shape.
  [[nodiscard]] bool open(std::span<const uint8_t> packed, const PlanesShape& shape);
  void close() { picture_.reset(); }
  bool is_open() const { return picture_.has_value(); }
  // target.shape is that of open(). kLeft: the packed picture is damaged.
  OwnDecoding read(const OwnTarget& target, const GoesOn& goes_on);

 private:
  OwnDecoding read_plane(size_t plane, const Box& box, const OwnTarget& target, const GoesOn& goes_on);

  std::optional<baseline::PackedPicture> picture_;
  baseline::PackedReader reader_;
  ByteBuffer spare_;  // for the lines below a plane that fill its last row of blocks
};

}  // namespace spdld::image
