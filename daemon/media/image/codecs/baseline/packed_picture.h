// A picture as the packed coefficients of its blocks (packed_blocks.h), from which a box of it is transformed alone.
//
// Numbers have their lowest byte first. The picture begins with the number of its planes, four bytes. Each plane then
// has how many blocks it has across and down, four bytes each, and its steps of quantisation row by row, two bytes
// each. Then come the places at which the rows of blocks begin, plane by plane, and at which the last one ends: four
// bytes each, counted from the picture's first byte on. Behind them lie the rows, and kPackedSlackBytes zeroes. One
// thread; memory is kept from picture to picture.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "daemon/media/image/codecs/baseline/frame.h"
#include "daemon/media/image/codecs/baseline/inverse_dct.h"
#include "daemon/media/image/codecs/baseline/packed_blocks.h"

namespace spdld::image::baseline {

struct PackedPlane {
  int blocks_across = 0, blocks_down = 0;          // at least 1 each
  std::array<uint16_t, kBlockSamples> steps = {};  // of quantisation, row by row
};

// Takes the coefficients of a picture while it is decoded, before they are transformed: the blocks of a row from the
// left to the right, and the rows of a plane from its top down.
class PackedWriter {
 public:
  // `lines`: of each plane, the rows of blocks in a row of MCUs; at most kFactorMax.
  void begin(std::span<const PackedPlane> planes, std::span<const int> lines);
  // Further blocks of the row of blocks `line` of a row of MCUs. Of the blocks that the picture lacks nothing is kept.
  void add(size_t plane, size_t line, const BlockRow& blocks);
  // Whether all blocks were added, and could be packed. Then picture() has them.
  [[nodiscard]] bool finish();
  std::span<const uint8_t> picture() const { return picture_; }
  // No picture is being packed any more: finish() is false until begin(). Gives back memory of more than kKeptMax.
  void forget();

 private:
  // A row that is being filled.
  struct Row {
    std::vector<uint8_t> heads, places, dcs, values;
    size_t blocks = 0, value_bytes = 0;  // up to now
  };
  struct Plane {
    size_t blocks_across = 0, blocks_down = 0;
    size_t table = 0;  // where the places of its rows lie in picture_
    size_t rows = 0;   // that are complete
    std::array<Row, kFactorMax> lines;
  };
  static void make_room(Row& row, size_t blocks);
  void add_block(Row& row, const int16_t* block, size_t stride);
  void end_row(Plane& plane, Row& row);

  std::array<Plane, kComponentsMax> planes_;
  size_t count_ = 0;
  bool is_packable_ = false;
  std::vector<uint8_t> picture_;
  static constexpr size_t kKeptMax = size_t{16} << 20;
};

class PackedPicture {
 public:
  // `bytes` are borrowed. None: they are no picture.
  static std::optional<PackedPicture> view(std::span<const uint8_t> bytes);
  size_t planes() const { return count_; }
  const PackedPlane& plane(size_t number) const { return planes_[number]; }
  // None: it does not lie in the picture. Precondition: there is such a row.
  std::optional<PackedRow> row(size_t plane, int number) const;

 private:
  std::span<const uint8_t> bytes_;
  std::array<PackedPlane, kComponentsMax> planes_;
  std::array<size_t, kComponentsMax> tables_{};
  size_t count_ = 0;
};

// Gives samples of packed pictures.
class PackedReader {
 public:
  PackedReader();
  // The samples of the blocks [first, end) of a row, as transform() writes them. False: a place or a coefficient is
  // wrong, or this machine has no vectors for the transform.
  [[nodiscard]] bool read(const PackedPicture& picture, size_t plane, int row, int first, int end,
                          const std::array<uint8_t*, kBlockSide>& rows);

 private:
  static constexpr int kChunkBlocks = 64;  // that stay in the processor's nearest cache
  const size_t in_group_;
  std::vector<int16_t> coefficients_;  // of a chunk; zero between chunks
  int16_t* groups_ = nullptr;
  std::array<uint8_t, kChunkBlocks> last_{};
};

}  // namespace spdld::image::baseline
