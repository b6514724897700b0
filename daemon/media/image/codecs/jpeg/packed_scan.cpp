#include "daemon/media/image/codecs/jpeg/packed_scan.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "daemon/media/image/codecs/jpeg/header_values.h"

namespace spdld::image {
namespace {

constexpr int kSide = static_cast<int>(baseline::kBlockSide);

// The samples of a plane that a box of the picture needs.
Box in_plane(const Box& box, const PlanesShape& shape, size_t plane) {
  const int across = plane == 0 ? 1 : shape.chroma_across, down = plane == 0 ? 1 : shape.chroma_down;
  const int x = box.x / across, y = box.y / down;
  return {x, y, parts(box.x + box.width, across) - x, parts(box.y + box.height, down) - y};
}

}  // namespace

bool PackedScan::open(std::span<const uint8_t> packed, const PlanesShape& shape) {
  picture_ = baseline::PackedPicture::view(packed);
  bool fits = picture_ && picture_->planes() == static_cast<size_t>(shape.planes());
  for (size_t i = 0; fits && i < picture_->planes(); ++i) {
    const baseline::PackedPlane& plane = picture_->plane(i);
    const Size size = shape.plane(static_cast<int>(i));
    fits = plane.blocks_across == parts(size.width, kSide) && plane.blocks_down == parts(size.height, kSide);
  }
  if (!fits) picture_.reset();
  return fits;
}

OwnDecoding PackedScan::read_plane(size_t plane, const Box& box, const OwnTarget& target, const GoesOn& goes_on) {
  const size_t stride = target.layout.stride_bytes[plane];
  uint8_t* const first = target.memory + target.layout.offset[plane];
  const int height = target.shape.plane(static_cast<int>(plane)).height;
  const int from = box.x / kSide, to = parts(box.x + box.width, kSide);
  for (int row = box.y / kSide; row < parts(box.y + box.height, kSide); ++row) {
    if (!goes_on(static_cast<uint64_t>(to - from))) return OwnDecoding::kStopped;
    std::array<uint8_t*, baseline::kBlockSide> lines{};
    for (int i = 0; i < kSide; ++i) {
      const int y = row * kSide + i;
      lines[static_cast<size_t>(i)] = y < height ? first + stride * static_cast<size_t>(y) : spare_.data();
    }
    if (!reader_.read(*picture_, plane, row, from, to, lines)) return OwnDecoding::kLeft;
  }
  if (target.box) return OwnDecoding::kDone;
  const auto width = static_cast<size_t>(target.shape.plane(static_cast<int>(plane)).width);
  for (int y = 0; y < height; ++y)  // the last blocks reach beyond the picture
    std::memset(first + stride * static_cast<size_t>(y) + width, 0, stride - width);
  return OwnDecoding::kDone;
}

OwnDecoding PackedScan::read(const OwnTarget& target, const GoesOn& goes_on) {
  std::memset(target.memory, 0, target.box ? PlanesLayout::kHeaderBytes : target.layout.bytes);
  write_planes_header(target.shape, target.memory);
  spare_.resize(target.layout.stride_bytes[0]);
  const Box box = needed_box(target);
  for (size_t plane = 0; plane < picture_->planes(); ++plane) {
    const auto outcome = read_plane(plane, in_plane(box, target.shape, plane), target, goes_on);
    if (outcome != OwnDecoding::kDone) return outcome;
  }
  return OwnDecoding::kDone;
}

}  // namespace spdld::image
