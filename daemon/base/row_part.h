// The part of a record (a sample as its source holds it) that a row is. Plain values.
#pragma once

#include <cstdint>

namespace spdld {

struct RowPart {
  uint64_t number = 0;  // of the part within its record, from 0
  // Of a tile: its upper left corner in the record's picture, and that picture's size when its tiles were counted.
  uint32_t x = 0, y = 0;
  uint32_t height = 0, width = 0;  // 0: the row is no tile
  // Of a clip: where it begins in the record's video, and the video's length when its clips were counted. In frames;
  // or, where clips have a rate, in seconds and nanoseconds.
  double start = 0;
  uint64_t length = 0;  // 0: the row is no clip
  friend bool operator==(const RowPart&, const RowPart&) = default;
};

}  // namespace spdld
