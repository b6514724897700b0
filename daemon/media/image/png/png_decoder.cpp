#include "daemon/media/image/image_decoder.h"
#include "daemon/media/image/orient.h"
#include "daemon/media/image/png/chunks.h"
#include "daemon/media/image/png/codec.h"

namespace spdld::image {
namespace {

// The whole picture is inflated and checked for every box, so that the box never decides the verdict. Nothing depends
// on `strict`: damage to a PNG is always refused.
class PngDecoder final : public ImageDecoder {
 public:
  explicit PngDecoder(const media::DecodeLimits& limits) : codec_(limits) {}
  Result<Size> open(std::span<const uint8_t> bytes, bool exif, bool strict) override;
  Status decode(const Box& box, PixelRows& rows) override;
  std::optional<PlanesShape> planes(int) const override { return std::nullopt; }
  Status decode_planes(uint8_t*) override { return no_planes(); }
  Status decode_planes(const Box&, int, uint8_t*) override { return no_planes(); }

 private:
  static Error no_planes() { return {Trouble::kInternal, "the planes of a PNG, which has none, were to be decoded"}; }
  Status decode_stored(const Box& box, PixelRows& rows);

  PngCodec codec_;
  std::span<const uint8_t> bytes_;
  PngHeader header_;
  Size stored_;
  int orientation_ = 1;
  PixelRows turned_;  // of pictures that are not stored upright
};

Result<Size> PngDecoder::open(std::span<const uint8_t> bytes, bool exif, bool) {
  bytes_ = bytes;
  stored_ = {};
  const auto outline = outline_of(bytes);
  if (!outline) return outline.error();
  header_ = outline->header;
  const Claim claim{"a PNG", header_.width, header_.height};
  if (const Status small_enough = claim.check_pixels(); !small_enough) return small_enough.error();
  if (header_.inflated_bytes() > outline->coded_bytes * kInflatedPerByte) {
    return claim.exceeds(outline->coded_bytes, ", more than its ", "can hold");
  }
  stored_ = {static_cast<int>(header_.width), static_cast<int>(header_.height)};
  orientation_ = exif ? outline->orientation : 1;
  return oriented_size(stored_, orientation_);
}

Status PngDecoder::decode_stored(const Box& box, PixelRows& rows) {
  // The limit of memory counts the whole picture, whatever box is needed. A picture that is turned has two copies.
  const uint64_t pixel_bytes = uint64_t{header_.width} * header_.height * 3 * (orientation_ == 1 ? 1 : 2);
  if (const Status started = codec_.start(bytes_, header_, pixel_bytes); !started) return started;
  uint8_t* const spare = codec_.take_spare_row();
  if (spare == nullptr) return codec_.error_of_memory();
  rows.offset = 0;
  rows.stride_bytes = size_t{header_.width} * 3;
  rows.covers = {0, box.y, stored_.width, box.height};
  rows.picture = stored_;
  uint8_t* const first =
      rows.memory.resize(rows.stride_bytes * static_cast<size_t>(box.height) + PixelRows::kSlackBytes);
  const auto top = static_cast<uint32_t>(box.y), bottom = top + static_cast<uint32_t>(box.height);
  while (const auto row = codec_.next_row()) {
    const bool is_needed = *row >= top && *row < bottom;
    const Status read = codec_.read_row(is_needed ? first + rows.stride_bytes * (*row - top) : spare);
    if (!read) return read;
  }
  return codec_.finish();
}

Status PngDecoder::decode(const Box& box, PixelRows& rows) {
  if (const Status inside = check_box(box, oriented_size(stored_, orientation_)); !inside) return inside;
  const bool upright = orientation_ == 1;
  const Status decoded = decode_stored(stored_box(box, stored_, orientation_), upright ? rows : turned_);
  codec_.stop();
  if (decoded && !upright) orient_rows(turned_, box, orientation_, rows);
  turned_.memory.shrink(kMemoryKeptMax);
  return decoded;
}

}  // namespace

std::unique_ptr<ImageDecoder> make_png_decoder(const media::DecodeLimits& limits) {
  return std::make_unique<PngDecoder>(limits);
}

}  // namespace spdld::image
