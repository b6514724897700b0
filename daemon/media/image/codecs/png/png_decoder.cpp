#include <cstring>

#include "daemon/media/image/codecs/image_decoder.h"
#include "daemon/media/image/codecs/orient.h"
#include "daemon/media/image/codecs/png/chunks.h"
#include "daemon/media/image/codecs/png/codec.h"
#include "daemon/media/image/codecs/png/reading.h"
#include "daemon/media/sample_memory.h"

namespace spdld::image {
namespace {

// The whole picture is inflated and checked for every box, so that the box never decides the verdict. Nothing depends
// on `strict`: damage to a PNG is always refused.
class PngDecoder final : public ImageDecoder {
 public:
  explicit PngDecoder(const media::DecodeLimits& limits) : codec_(limits), memory_(limits.memory) {}
  Result<Size> open(std::span<const uint8_t> bytes, bool exif, bool strict, const Pixels& pixels) override;
  Status decode(const Box& box, PixelRows& rows) override;
  Result<ColourProfile> profile() override { return png_profile(bytes_, header_); }
  std::optional<PlanesShape> planes(int) const override { return std::nullopt; }
  Status decode_planes(uint8_t*) override { return no_planes(); }
  Status decode_planes(const Box&, int, uint8_t*) override { return no_planes(); }

 private:
  static Error no_planes() { return {Trouble::kInternal, "the planes of a PNG, which has none, were to be decoded"}; }
  Status decode_stored(const Box& box, PixelRows& rows);

  PngCodec codec_;
  media::MemoryPart memory_;
  std::span<const uint8_t> bytes_;
  PngHeader header_;
  Size stored_;
  int orientation_ = 1;
  Pixels pixels_;
  PixelRows turned_;  // of pictures that are not stored upright
  ByteBuffer read_;   // rows that are to be converted
};

Result<Size> PngDecoder::open(std::span<const uint8_t> bytes, bool exif, bool, const Pixels& pixels) {
  pixels_ = pixels;
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
  if (pixels.colours == Colours::kStored) {
    if (const Status stored = check_stored(header_, pixels.bits); !stored) return stored.error();
  }
  if (pixels.frames > 0 && outline->is_animated) return one_picture_of("a PNG");
  stored_ = {static_cast<int>(header_.width), static_cast<int>(header_.height)};
  orientation_ = exif ? outline->orientation : 1;
  return oriented_size(stored_, orientation_);
}

// Rows as the picture stores them, of the wanted pixels.
Status PngDecoder::decode_stored(const Box& box, PixelRows& rows) {
  const PngReading reading = reading_of(header_, pixels_);
  const bool is_read_so = reading.gives(pixels_);
  const size_t read_bytes = reading.row_bytes(header_.width);
  rows.format = pixels_.format();
  rows.offset = 0;
  rows.stride_bytes = size_t{header_.width} * static_cast<size_t>(rows.format.pixel_bytes());
  rows.covers = {0, box.y, stored_.width, box.height};
  rows.picture = stored_;
  // The limit of memory counts the whole picture, whatever box is needed. A picture that is turned has two copies. An
  // interlaced picture whose pixels are converted has one copy more.
  uint64_t row_bytes = rows.stride_bytes * (orientation_ == 1 ? 1 : 2);
  if (!is_read_so && header_.interlaced) row_bytes += read_bytes;
  // The memory has no rows but the box's.
  const uint64_t taken = ByteBuffer::room_for(row_bytes * static_cast<uint64_t>(box.height)) + read_bytes +
                         PngCodec::bytes_of(bytes_.size(), header_, reading);
  if (!memory_.add(taken)) return media::no_room();
  if (const Status started = codec_.start(bytes_, header_, reading, row_bytes * header_.height); !started)
    return started;
  uint8_t* const spare = codec_.take_spare_row();
  if (spare == nullptr) return codec_.error_of_memory();
  const auto height = static_cast<size_t>(box.height);
  uint8_t* const first = rows.memory.resize(rows.stride_bytes * height + PixelRows::kSlackBytes);
  const auto top = static_cast<uint32_t>(box.y), bottom = top + static_cast<uint32_t>(box.height);
  const auto wanted = [&](size_t row) { return first + rows.stride_bytes * row; };
  // Pixels of an interlaced row come in several passes, so that all rows are converted in the end.
  const size_t read_stride = header_.interlaced ? read_bytes : 0;
  uint8_t* read = nullptr;
  if (!is_read_so) {
    const size_t bytes = header_.interlaced ? read_bytes * height : read_bytes;
    read = read_.resize(bytes);
    std::memset(read, 0, bytes);
  }
  while (const auto row = codec_.next_row()) {
    const bool is_needed = *row >= top && *row < bottom;
    const size_t at = is_needed ? *row - top : 0;
    uint8_t* const to = !is_needed ? spare : is_read_so ? wanted(at) : read + read_stride * at;
    if (const Status done = codec_.read_row(to); !done) return done;
    if (is_needed && !is_read_so && !header_.interlaced) reading.convert(read, pixels_, wanted(at), header_.width);
  }
  for (size_t at = 0; !is_read_so && header_.interlaced && at < height; ++at)
    reading.convert(read + read_stride * at, pixels_, wanted(at), header_.width);
  return codec_.finish();
}

Status PngDecoder::decode(const Box& box, PixelRows& rows) {
  if (const Status inside = check_box(box, oriented_size(stored_, orientation_)); !inside) return inside;
  const bool upright = orientation_ == 1;
  const Status decoded = decode_stored(stored_box(box, stored_, orientation_), upright ? rows : turned_);
  codec_.stop();
  if (decoded && !upright) orient_rows(turned_, box, orientation_, rows);
  turned_.memory.shrink(kMemoryKeptMax);
  read_.shrink(kMemoryKeptMax);
  return decoded;
}

}  // namespace

std::unique_ptr<ImageDecoder> make_png_decoder(const media::DecodeLimits& limits) {
  return std::make_unique<PngDecoder>(limits);
}

}  // namespace spdld::image
