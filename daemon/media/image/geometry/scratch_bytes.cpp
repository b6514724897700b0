#include "daemon/media/image/geometry/scratch_bytes.h"

#include <algorithm>

namespace spdld::image {
namespace {

uint64_t area(int width, int height) {
  return static_cast<uint64_t>(std::max(width, 0)) * static_cast<uint64_t>(std::max(height, 0));
}
uint64_t area(const Size& size) { return area(size.width, size.height); }

constexpr uint64_t kDisplacementBytes = 3 * sizeof(float);  // across and down, and what is between two blurs

// Weights, and the rows at hand: some bytes for each column and line, of the source and of what is shown.
uint64_t line_bytes(const Pass& pass, uint64_t pixel_bytes) {
  constexpr uint64_t kForAll = 64 << 10, kOfPlace = 160, kOfSource = 16, kOfShown = 96;
  const auto side = [](int length) { return static_cast<uint64_t>(std::max(length, 0)); };
  return kForAll +
         kOfPlace * (side(pass.box.width) + side(pass.box.height) + side(pass.size.width) + side(pass.size.height)) +
         pixel_bytes * (kOfSource * side(pass.box.width) + kOfShown * side(pass.window.width));
}

// The memory that adjustments take for each pixel of the largest picture, beside that picture.
struct PerPixel {
  void add(const Adjustment& adjustment) {
    moves |= adjustment.moves();
    has_copy |=
        adjustment.type == AdjustmentType::kSharpness || adjustment.type == AdjustmentType::kBlur || adjustment.moves();
    has_sums |= adjustment.type == AdjustmentType::kMix;
    has_jpeg |= adjustment.type == AdjustmentType::kJpeg;
    has_displacements |= adjustment.moves() && adjustment.warp.kind == WarpKind::kElastic;
  }
  uint64_t of(uint64_t pixel_bytes) const {
    uint64_t bytes = has_copy ? pixel_bytes : 0;
    if (has_sums) bytes += (sizeof(float) + 1) * pixel_bytes;  // and the branch that is added
    if (has_jpeg) bytes += 4 + 2 * pixel_bytes;                // coded, and its rows
    if (has_displacements) bytes += kDisplacementBytes;
    return bytes;
  }

  bool moves = false, has_copy = false, has_sums = false, has_jpeg = false, has_displacements = false;
};

}  // namespace

uint64_t scratch_bytes(const Geometry& geometry, const PixelFormat& decoded, bool is_followed) {
  const auto pixel_bytes = static_cast<uint64_t>(decoded.pixel_bytes());
  uint64_t lines = 0, largest = 0;
  for (const auto* passes : {&geometry.passes, &geometry.pieces})
    for (const Pass& pass : *passes) lines = std::max(lines, line_bytes(pass, pixel_bytes));
  // The last pass goes straight into the tensor, where nothing is done behind it.
  for (size_t i = 0; i < geometry.passes.size(); ++i) {
    const Pass& pass = geometry.passes[i];
    const bool is_last = i + 1 == geometry.passes.size() && geometry.pieces.empty();
    if (!is_last || pass.adjusted) largest = std::max(largest, area(pass.window.width, pass.window.height));
  }
  PerPixel adjusted;
  for (const Adjustment& adjustment : geometry.adjustments) {
    adjusted.add(adjustment);
    if (adjustment.moves()) largest = std::max({largest, area(adjustment.warp.source), area(adjustment.warp.size)});
  }
  // Two pictures in turn. A first pass whose filter takes no planes has the picture in rows in the place of one.
  uint64_t pictures = 2 * largest * pixel_bytes + largest * adjusted.of(pixel_bytes);
  const auto takes_rows = [&](const Pass& pass) {
    return resamples(pass) && (geometry.as_pillow || !is_bilinear(pass));
  };
  if (std::any_of(geometry.passes.begin(), geometry.passes.end(), takes_rows) ||
      std::any_of(geometry.pieces.begin(), geometry.pieces.end(), takes_rows))
    pictures += area(geometry.decoded.width, geometry.decoded.height) * pixel_bytes;
  if (is_followed && adjusted.moves) {
    const Pass& last = geometry.pieces.empty() ? geometry.passes.back() : geometry.pieces.back();
    pictures += 2 * sizeof(int32_t) * area(last.window.width, last.window.height);
    if (adjusted.has_displacements) pictures += largest * kDisplacementBytes;
  }
  return ByteBuffer::room_for(pictures) + lines;
}

}  // namespace spdld::image
