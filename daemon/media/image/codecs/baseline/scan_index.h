// Points of a scan at which its MCUs can be read on: one every few MCUs, counted through all rows, the first MCU among
// them. With them the part of a picture is decoded, and nothing before it or beside it.
//
// An index is a piece of memory: how many MCUs a point stands for and how many points there are, four bytes each, and
// behind them the points. A point is a number of eight bytes. From the lowest bit on it has the place of its first bit
// in the scan as it is stored, 28 bits, and the DC coefficient before it in each component, 12 bits each. All numbers
// lie with their lowest byte first. Longer scans have no index, and larger coefficients are of no picture. A reader
// trusts no value of an index: it checks places against the scan. Pure values; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "daemon/media/image/codecs/baseline/frame.h"

namespace spdld::image::baseline {

struct ScanPoint {
  uint64_t bit = 0;  // the first one, counted from the scan's first byte on, with stuffed zeroes and markers
  std::array<int, kComponentsMax> predicted{};
};

// How many points a scan gets: as many as an index has room for that takes at most a fortieth of the scan's bytes.
struct ScanSpacing {
  uint32_t mcus = 0;    // of a point
  uint32_t points = 0;  // 0: the scan has no index
  size_t bytes() const;
};
ScanSpacing spacing_of(uint64_t mcus, size_t coded_bytes);

class ScanIndex {
 public:
  // None: these bytes are no index of a scan with `mcus` MCUs.
  static std::optional<ScanIndex> view(std::span<const uint8_t> bytes, uint64_t mcus);
  static bool has_points(std::span<const uint8_t> bytes);
  // How many MCUs a point stands for; at least 1.
  uint32_t spacing() const { return spacing_; }
  uint32_t points() const { return points_; }
  ScanPoint point(uint32_t number) const;  // below points()

 private:
  ScanIndex(std::span<const uint8_t> bytes, uint32_t spacing, uint32_t points)
      : bytes_(bytes), spacing_(spacing), points_(points) {}

  std::span<const uint8_t> bytes_;
  uint32_t spacing_, points_;
};

class ScanIndexWriter {
 public:
  // `bytes`: spacing.bytes() zeroes, an index without points, which they stay until finish(); borrowed.
  ScanIndexWriter(std::span<uint8_t> bytes, const ScanSpacing& spacing) : bytes_(bytes), spacing_(spacing) {}
  uint32_t spacing() const { return spacing_.mcus; }
  // The next point. Its bit is counted without stuffed zeroes. False: it has no place in an index.
  [[nodiscard]] bool add(const ScanPoint& point);
  // All points were added: counts their bits in `coded`, the scan itself. False: the index stays without points.
  bool finish(std::span<const uint8_t> coded);

 private:
  std::span<uint8_t> bytes_;
  ScanSpacing spacing_;
  uint32_t added_ = 0;
};

}  // namespace spdld::image::baseline
