// Reads one scan of a progressive picture into its coefficients, a row at a time. Only scans as encoders write them: at
// the first thing that is not, a caller starts anew with libjpeg. One thread.
#pragma once

#include <cstdint>
#include <span>

#include "daemon/media/image/codecs/baseline/coded_bytes.h"
#include "daemon/media/image/codecs/progressive/coefficients.h"
#include "daemon/media/image/codecs/progressive/frame.h"

namespace spdld::image::progressive {

class ScanReader {
 public:
  // All are borrowed until the last row. `coded`: from behind the scan's header on.
  void begin(const Frame& frame, const Scan& scan, std::span<const uint8_t> coded, Coefficients& to);
  // A row is one of MCUs; in a scan of one component, one of blocks.
  int rows() const;                // of the whole picture
  int rows_to(int mcu_row) const;  // above the row of all components' MCUs
  uint64_t blocks_in_row() const;
  // The next row. False: libjpeg may decode this picture.
  [[nodiscard]] bool read_row();
  // Behind the last row: whether a marker follows at once.
  bool is_at_marker() const { return coded_.is_at_marker(bits_) && coded_.marker().has_value(); }
  // How much of `coded` was passed; the marker that ends the scan lies there or later.
  size_t passed() const { return coded_.looked_at(); }

 private:
  [[nodiscard]] bool pass_restart();
  [[nodiscard]] bool begin_mcu();
  [[nodiscard]] bool read_dc_row();
  template <bool kIsFirst>
  [[nodiscard]] bool read_band_row();
  [[nodiscard]] bool read_dc(size_t in_scan, int16_t* dc);
  // `block` is null where the coefficients are not wanted.
  [[nodiscard]] bool read_band(uint64_t& nonzero, int16_t* block);
  [[nodiscard]] bool refine_band(uint64_t& nonzero, int16_t* block);
  uint32_t take(int bits);

  const Frame* frame_ = nullptr;
  const Scan* scan_ = nullptr;
  Coefficients* to_ = nullptr;
  baseline::CodedBytes coded_;
  baseline::Bits bits_;
  std::array<int, kComponentsMax> predicted_{};  // the DC coefficient of the block before
  int row_ = 0;                                  // the next one
  uint32_t ended_ = 0;                           // how many of the next blocks have no more codes in this band
  uint32_t restarts_in_ = 0;                     // MCUs; without restart markers it is never 0
  uint8_t next_restart_ = 0;                     // number of the marker, of 8
};

}  // namespace spdld::image::progressive
