// The rows of MCUs of a baseline JPEG, with the samples of some columns, as libjpeg's raw output gives them. Only for
// scans as encoders write them: at the first thing that is not, a caller starts anew with libjpeg, whose answer to
// damage is kept so. One thread; nothing is allocated from picture to picture.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "daemon/media/image/codecs/baseline/block_reader.h"
#include "daemon/media/image/codecs/baseline/code_tables.h"
#include "daemon/media/image/codecs/baseline/coded_bytes.h"
#include "daemon/media/image/codecs/baseline/frame.h"
#include "daemon/media/image/codecs/baseline/inverse_dct.h"
#include "daemon/media/image/codecs/baseline/kept_tables.h"
#include "daemon/media/image/codecs/baseline/packed_picture.h"
#include "daemon/media/image/codecs/baseline/scan_index.h"

namespace spdld::image::baseline {

// Columns of MCUs whose samples are wanted.
struct Columns {
  int first = 0, end = 0;
};

class McuRows {
 public:
  // The rows of a component's samples in a row of MCUs: 8 * down pointers, each to where column 0 of the picture would
  // be. Each is written over the whole blocks of the wanted columns that the picture has.
  using Rows = std::array<std::array<uint8_t*, kFactorMax * kBlockSide>, kComponentsMax>;

  McuRows();
  // `frame` and `coded` are borrowed until the last row. False: libjpeg may decode this picture.
  [[nodiscard]] bool begin(const Frame& frame, std::span<const uint8_t> coded, Columns wanted);
  // The next row of MCUs. False: libjpeg may decode this picture.
  [[nodiscard]] bool skip();
  [[nodiscard]] bool read(const Rows& rows);
  // From here on adds points to the index of this scan. Called behind begin(); `index` is borrowed until the last row.
  void write(ScanIndexWriter& index);
  // From here on packs the coefficients of what is read. Called behind begin(), where all columns are wanted; `packed`
  // is borrowed as the scan is.
  void pack(PackedWriter& packed) { packed_ = &packed; }
  // The next row of MCUs is this one, and read() goes from one row's wanted columns to the next row's. Called behind
  // begin(), in the place of skip(). `index` is borrowed as the scan is.
  [[nodiscard]] bool go_to(int row, const ScanIndex& index);
  // Behind the last row: whether nothing but the end marker follows.
  bool is_at_end() const;

 private:
  static constexpr int kChunkMcus = 16;  // whose blocks fill whole groups
  // One block of an MCU.
  struct Block {
    size_t component;
    const DcTable* dc;
    const AcTable* ac;
    int at_x, at_y;  // in the MCU
    bool is_wanted;
  };
  struct ComponentState {
    int predicted = 0;  // the DC coefficient of the block before
    int dc_least = 0, dc_most = 0;
    std::array<int16_t*, kFactorMax> groups{};                                    // of each row of blocks
    std::array<std::array<uint8_t, kChunkMcus * kFactorMax>, kFactorMax> last{};  // of each block in them
  };

  [[nodiscard]] bool begin_mcu();
  [[nodiscard]] bool skip_to(int mcu_end);
  [[nodiscard]] bool read_chunk(int mcu_end, const Rows& rows);
  [[nodiscard]] bool transform_chunk(int first_mcu, int mcu_end, const Rows& rows);
  [[nodiscard]] bool pass_restart();
  [[nodiscard]] bool pass_point();
  [[nodiscard]] bool jump_to(uint32_t mcu, uint32_t end);
  uint32_t mcu_of(int row, int column) const { return static_cast<uint32_t>(row * frame_->mcus_across + column); }

  static constexpr uint32_t kNoPoint = UINT32_MAX;

  const Frame* frame_ = nullptr;
  std::span<const uint8_t> scan_;
  Columns wanted_;
  KeptTables<DcTable> dc_tables_;
  KeptTables<AcTable> ac_tables_;
  CodedBytes coded_;
  Bits bits_;
  std::array<Block, kMcuBlocksMax> blocks_;
  size_t block_count_ = 0;
  std::array<ComponentState, kComponentsMax> states_;
  int mcu_ = 0;               // the next one of the row; below 0: of the row before
  uint32_t number_ = 0;       // of the MCU that comes next, in the scan
  uint32_t next_point_ = 0;   // the MCU at which the index has its next point
  uint32_t restarts_in_ = 0;  // MCUs; without restart markers it is never 0
  uint8_t next_restart_ = 0;  // number of the marker, of 8
  ScanIndexWriter* writer_ = nullptr;
  PackedWriter* packed_ = nullptr;
  std::optional<ScanIndex> index_;  // that is read
  bool has_gaps_ = false;           // between the wanted columns of two rows there is a point
  int row_ = 0;                     // that comes next, where an index is read
  const size_t in_group_;           // blocks
  Places places_;
  std::vector<int16_t> coefficients_;  // of a chunk: zero between chunks
};

}  // namespace spdld::image::baseline
