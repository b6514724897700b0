#include "daemon/media/image/codecs/baseline/scan_index.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace spdld::image::baseline {
namespace {

constexpr size_t kHeaderBytes = 8, kPointBytes = 8;
constexpr int kPlaceBits = 28, kPredictedBits = 12;
static_assert(kPlaceBits + kPredictedBits * kComponentsMax == kPointBytes * 8);
constexpr uint64_t kPlaceMask = (uint64_t{1} << kPlaceBits) - 1;
constexpr size_t kShare = 40;  // of the scan's bytes

uint64_t load(std::span<const uint8_t> bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | bytes[i];
  return value;
}
uint32_t load(std::span<const uint8_t> bytes, size_t at, size_t count) {
  return static_cast<uint32_t>(load(bytes.subspan(at, count)));
}

void store(uint64_t value, std::span<uint8_t> bytes) {
  for (uint8_t& byte : bytes) {
    byte = static_cast<uint8_t>(value);
    value >>= 8;
  }
}

size_t place_of(size_t point) { return kHeaderBytes + point * kPointBytes; }

// Goes through a scan's bytes and counts all but stuffed zeroes.
class Unstuffed {
 public:
  explicit Unstuffed(std::span<const uint8_t> coded) : coded_(coded) {}
  // The place of byte `wanted`, which does not lie before the byte that was asked for last; none: behind the end.
  std::optional<size_t> place_of(uint64_t wanted) {
    while (counted_ < wanted) {
      if (at_ >= coded_.size()) return std::nullopt;
      const size_t ahead = static_cast<size_t>(std::min<uint64_t>(wanted - counted_, coded_.size() - at_));
      const uint8_t* const first = coded_.data() + at_;
      const auto* const found = static_cast<const uint8_t*>(std::memchr(first, 0xFF, ahead));
      const size_t plain = found == nullptr ? ahead : static_cast<size_t>(found - first) + 1;
      counted_ += plain;
      at_ += plain;
      if (found != nullptr && at_ < coded_.size() && coded_[at_] == 0) ++at_;
    }
    return at_;
  }

 private:
  std::span<const uint8_t> coded_;
  size_t at_ = 0;
  uint64_t counted_ = 0;
};

}  // namespace

size_t ScanSpacing::bytes() const { return points == 0 ? 0 : place_of(points); }

ScanSpacing spacing_of(uint64_t mcus, size_t coded_bytes) {
  const uint64_t most = coded_bytes / (kShare * kPointBytes);
  if (mcus == 0 || most == 0 || mcus > UINT32_MAX || coded_bytes > kPlaceMask / 8) return {};
  const uint64_t spacing = (mcus + most - 1) / most;
  return {static_cast<uint32_t>(spacing), static_cast<uint32_t>((mcus + spacing - 1) / spacing)};
}

std::optional<ScanIndex> ScanIndex::view(std::span<const uint8_t> bytes, uint64_t mcus) {
  if (bytes.size() < kHeaderBytes) return std::nullopt;
  const uint32_t spacing = load(bytes, 0, 4), points = load(bytes, 4, 4);
  if (spacing == 0 || points == 0 || points != (mcus + spacing - 1) / spacing) return std::nullopt;
  if (bytes.size() != place_of(points)) return std::nullopt;
  return ScanIndex(bytes, spacing, points);
}

bool ScanIndex::has_points(std::span<const uint8_t> bytes) {
  return bytes.size() >= kHeaderBytes && load(bytes, 4, 4) != 0;
}

ScanPoint ScanIndex::point(uint32_t number) const {
  const uint64_t stored = load(bytes_.subspan(place_of(number), kPointBytes));
  ScanPoint point{stored & kPlaceMask, {}};
  for (size_t c = 0; c < kComponentsMax; ++c) {  // the value's bits go to the top, and come down with its sign
    const auto above = static_cast<int>(64 - kPredictedBits * static_cast<int>(c + 1) - kPlaceBits);
    point.predicted[c] = static_cast<int>(static_cast<int64_t>(stored << above) >> (64 - kPredictedBits));
  }
  return point;
}

bool ScanIndexWriter::add(const ScanPoint& point) {
  constexpr int kValueMax = (1 << (kPredictedBits - 1)) - 1;
  const auto fits = [](int value) { return value >= -kValueMax - 1 && value <= kValueMax; };
  if (added_ == spacing_.points || point.bit > kPlaceMask ||
      !std::all_of(point.predicted.begin(), point.predicted.end(), fits))
    return false;
  uint64_t stored = 0;
  for (size_t c = kComponentsMax; c-- > 0;)
    stored = stored << kPredictedBits | (static_cast<uint64_t>(point.predicted[c]) & ((1u << kPredictedBits) - 1));
  store(stored << kPlaceBits | point.bit, bytes_.subspan(place_of(added_++), kPointBytes));
  return true;
}

bool ScanIndexWriter::finish(std::span<const uint8_t> coded) {
  if (added_ != spacing_.points) return false;
  Unstuffed unstuffed(coded);
  for (uint32_t i = 0; i < added_; ++i) {
    const std::span<uint8_t> point = bytes_.subspan(place_of(i), kPointBytes);
    const uint64_t stored = load(point), bit = stored & kPlaceMask;
    const auto byte = unstuffed.place_of(bit / 8);
    if (!byte) return false;
    store((stored & ~kPlaceMask) | (uint64_t{*byte} * 8 + bit % 8), point);
  }
  store(spacing_.mcus, bytes_.subspan(0, 4));
  store(spacing_.points, bytes_.subspan(4, 4));
  return true;
}

}  // namespace spdld::image::baseline
