// A progressive picture's planes by the own decoder, where its headers and scans are plain enough for it: the samples
// that raw_planes.h gives. Of each scan only the rows that a box needs are read. One thread.
#pragma once

#include <cstdint>
#include <cstdio>  // jpeglib.h needs FILE and does not include it

#include <jpeglib.h>

#include <array>
#include <span>

#include "daemon/media/image/codecs/baseline/kept_tables.h"
#include "daemon/media/image/codecs/jpeg/plane_writer.h"
#include "daemon/media/image/codecs/progressive/coefficients.h"
#include "daemon/media/image/codecs/progressive/scan_reader.h"

namespace spdld::image {

class ProgressiveScans {
 public:
  // Precondition: the header was read, and nothing after it; `coded` are the bytes behind it.
  OwnDecoding read(const jpeg_decompress_struct& jpeg, std::span<const uint8_t> coded, const OwnTarget& target,
                   const GoesOn& goes_on);
  // The memory that read() needs for itself beside the planes, at the most. Precondition: read()'s.
  static uint64_t memory_bytes(const jpeg_decompress_struct& jpeg);
  void shrink(size_t capacity_max) { coefficients_.shrink(capacity_max); }

 private:
  using Code = baseline::CodeLengths;
  // The least bit that the scans up to now gave of each coefficient; kNone: nothing of it.
  static constexpr int8_t kNone = -1;
  using Accuracy = std::array<int8_t, DCTSIZE2>;

  bool describe(const jpeg_decompress_struct& jpeg, const PlanesShape& shape);
  bool take_first_scan(const jpeg_decompress_struct& jpeg);
  bool take_codes(std::span<const uint8_t> segment);
  bool take_scan(std::span<const uint8_t> segment);
  bool begin_scan();
  bool is_complete() const;
  // Goes on to the next scan in `coded_`, or to the picture's end, which sets ended_. `at_once`: nothing else may lie
  // between the marker segments.
  OwnDecoding find_scan(bool at_once);
  OwnDecoding read_scan(const OwnTarget& target, const GoesOn& goes_on);
  OwnDecoding write_rows(const OwnTarget& target, const GoesOn& goes_on);

  progressive::Frame frame_;
  int across_ = 0, down_ = 0;  // of an MCU, in pixels
  progressive::Window window_;
  progressive::Scan scan_;
  std::array<uint8_t, baseline::kComponentsMax> ids_{}, code_of_{};  // of the components; of the scan's components
  std::array<Accuracy, baseline::kComponentsMax> accuracy_{};
  std::array<Code, NUM_HUFF_TBLS> dc_codes_, ac_codes_;
  std::array<bool, NUM_HUFF_TBLS> has_dc_{}, has_ac_{};
  uint32_t restart_interval_ = 0;
  std::span<const uint8_t> coded_;  // from the scan that is read on
  bool ended_ = false;              // at the picture's end

  baseline::KeptTables<baseline::DcTable> dc_tables_;
  baseline::KeptTables<progressive::BandTable> band_tables_;
  progressive::Coefficients coefficients_;
  progressive::ScanReader reader_;
  PlaneWriter writer_;
};

}  // namespace spdld::image
