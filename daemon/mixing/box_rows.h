// Boxes as rows of four float32 in a list. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "daemon/base/box_format.h"
#include "daemon/mixing/operation.h"

namespace spdld::mixing {

inline constexpr size_t kBoxBytes = 4 * sizeof(float);

inline Corners read_row(BoxFormat format, const uint8_t* row) {
  float numbers[4];
  std::memcpy(numbers, row, sizeof numbers);
  return corners_of(format, numbers);
}

inline void write_row(BoxFormat format, const Corners& box, uint8_t* row) {
  float numbers[4];
  write_box(format, box, numbers);
  std::memcpy(row, numbers, sizeof numbers);
}

// Takes the rows whose box stays(from, box), the own rows first, and at most `most` of them.
template <typename Stays>
void choose_boxes(BoxFormat format, const ListSources& sources, uint64_t most, std::vector<TakenRow>& taken,
                  Stays stays) {
  uint64_t left = most;
  for (uint32_t from = 0; from < sources.boxes.size(); ++from)
    for (uint32_t place = 0; place < sources.boxes[from].count && left > 0; ++place) {
      if (!stays(from, read_row(format, sources.boxes[from].memory + kBoxBytes * place))) continue;
      taken.push_back({from, place});
      --left;
    }
}

}  // namespace spdld::mixing
