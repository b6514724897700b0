// Holds the coefficients of a progressive picture's wanted blocks while the scans come, and gives the samples at the
// end. Later scans are coded by which coefficients are not zero, so that a mark of this is held for every block that is
// read. One thread; memory is kept from picture to picture.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "daemon/base/byte_buffer.h"
#include "daemon/media/image/codecs/baseline/inverse_dct.h"
#include "daemon/media/image/codecs/baseline/mcu_rows.h"
#include "daemon/media/image/codecs/baseline/packed_picture.h"
#include "daemon/media/image/codecs/progressive/frame.h"

namespace spdld::image::progressive {

class Coefficients {
 public:
  // A row of blocks of one component.
  struct Row {
    uint64_t* nonzero = nullptr;  // [column]: bit k stands for the coefficient k in the order of coding, from 1 on
    int16_t* groups = nullptr;    // of the wanted columns; null: no block of this row is wanted
    int first = 0, end = 0;       // the wanted columns
  };

  Coefficients();
  // The memory that begin() takes where the whole picture is wanted.
  static uint64_t bytes_max(const Frame& frame);
  // `frame` is borrowed. False: this machine has no vectors for the inverse DCT.
  [[nodiscard]] bool begin(const Frame& frame, const Window& window);
  // Precondition: the row lies above the window's end.
  Row row(size_t component, int block_row);
  // The DC coefficient of a wanted block; its others lie at places().
  int16_t* block(const Row& row, int column) const {
    return baseline::block_in(row.groups, static_cast<size_t>(column - row.first), in_group_);
  }
  const baseline::Places& places() const { return places_; }
  // The samples of a row of MCUs of the window, as baseline::McuRows writes them; each row once. False: a coefficient
  // is beyond the bounds.
  [[nodiscard]] bool transform(int mcu_row, const baseline::McuRows::Rows& rows);
  // From here on packs the coefficients of what is transformed. Called behind begin(), where the window is the whole
  // picture; `packed` is borrowed until the next begin().
  void pack(baseline::PackedWriter& packed) { packed_ = &packed; }
  void shrink(size_t capacity_max) { memory_.shrink(capacity_max); }

 private:
  struct ComponentMemory {
    uint64_t* nonzero = nullptr;
    int16_t* groups = nullptr;
    size_t row_samples = 0;  // of a row of blocks, in `groups`
    int first = 0, end = 0;  // the wanted columns of blocks
    int first_row = 0;       // the wanted rows of blocks
    int dc_least = 0, dc_most = 0;
  };
  // `lines`: the rows of samples, each to where the picture's first column would be.
  [[nodiscard]] bool transform_row(size_t component, int block_row, uint8_t* const* lines);

  const Frame* frame_ = nullptr;
  baseline::PackedWriter* packed_ = nullptr;
  const size_t in_group_;
  const baseline::Places places_;
  std::array<ComponentMemory, kComponentsMax> parts_;
  ByteBuffer memory_;
  ByteBuffer last_;  // of each block of a row
};

}  // namespace spdld::image::progressive
