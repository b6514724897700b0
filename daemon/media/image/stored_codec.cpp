#include "daemon/media/image/stored_codec.h"

#include <utility>

#include "daemon/media/image/orient.h"

namespace spdld::image {
namespace {

Error no_stored_planes() { return {Trouble::kInternal, "planes of a picture that has none were to be decoded"}; }

class StoredDecoder final : public ImageDecoder {
 public:
  StoredDecoder(std::unique_ptr<StoredCodec> codec, const media::DecodeLimits& limits)
      : codec_(std::move(codec)), limits_(limits), watch_(limits) {}

  Result<Size> open(std::span<const uint8_t> bytes, bool exif, bool strict, const Pixels& pixels) override;
  Status decode(const Box& box, PixelRows& rows) override;
  Result<ColourProfile> profile() override { return codec_->profile(); }
  std::optional<PlanesShape> planes(int) const override { return std::nullopt; }
  Status decode_planes(uint8_t*) override { return no_stored_planes(); }
  Status decode_planes(const Box&, int, uint8_t*) override { return no_stored_planes(); }

 private:
  // The bytes of the whole picture, with its copies, and of the library. kPixelsMax keeps the sum far below 2^64.
  uint64_t bytes_needed() const;
  Status decode_upright(const Box& box, PixelRows& rows);

  std::unique_ptr<StoredCodec> codec_;
  media::DecodeLimits limits_;
  CpuWatch watch_;
  StoredOutline outline_;
  Size stored_;
  Pixels pixels_;
  int orientation_ = 1;
  PixelRows raw_, turned_;  // before the conversion, and before the turn
};

Result<Size> StoredDecoder::open(std::span<const uint8_t> bytes, bool exif, bool, const Pixels& pixels) {
  stored_ = {};
  pixels_ = pixels;
  const auto outline = codec_->open(bytes, pixels);
  if (!outline) return outline.error();
  outline_ = *outline;
  if (outline_.width == 0 || outline_.height == 0) return damaged(codec_->name(), "its header claims no pixels");
  const Claim claim{codec_->name(), outline_.width, outline_.height};
  if (const Status small_enough = claim.check_pixels(); !small_enough) return small_enough.error();
  if (pixels.colours == Colours::kStored)
    return Error{Trouble::kContent,
                 std::string(codec_->name()) + ", where a mask's values are wanted: a mask is a PNG"};
  stored_ = {static_cast<int>(outline_.width), static_cast<int>(outline_.height)};
  orientation_ = exif ? outline_.orientation : 1;
  return oriented_size(stored_, orientation_);
}

uint64_t StoredDecoder::bytes_needed() const {
  const auto wanted = static_cast<uint64_t>(pixels_.format().pixel_bytes());
  uint64_t pixel_bytes = orientation_ == 1 ? wanted : 2 * wanted;
  if (!(outline_.format == pixels_.format())) pixel_bytes += static_cast<uint64_t>(outline_.format.pixel_bytes());
  return uint64_t{outline_.width} * outline_.height * pixel_bytes + outline_.library_bytes;
}

// Rows as the picture stores them, of the wanted pixels.
Status StoredDecoder::decode_upright(const Box& box, PixelRows& rows) {
  const bool is_wanted = outline_.format == pixels_.format();
  PixelRows& read = is_wanted ? rows : raw_;
  read.format = outline_.format;
  read.picture = stored_;
  read.offset = 0;
  const Status decoded = codec_->decode(box, watch_, read);
  if (decoded && !is_wanted) convert_rows(raw_, pixels_, rows);
  return decoded;
}

Status StoredDecoder::decode(const Box& box, PixelRows& rows) {
  if (const Status inside = check_box(box, oriented_size(stored_, orientation_)); !inside) return inside;
  if (limits_.bytes_max != 0 && bytes_needed() > limits_.bytes_max)
    return costs_too_much(codec_->name(), kTooMuchMemory);
  watch_.restart();
  const bool upright = orientation_ == 1;
  const Status decoded = decode_upright(stored_box(box, stored_, orientation_), upright ? rows : turned_);
  if (decoded && !upright) orient_rows(turned_, box, orientation_, rows);
  raw_.memory.shrink(kMemoryKeptMax);
  turned_.memory.shrink(kMemoryKeptMax);
  return decoded;
}

class MissingDecoder final : public ImageDecoder {
 public:
  explicit MissingDecoder(std::string sentence) : refusal_{Trouble::kUnsupported, std::move(sentence)} {}

  Result<Size> open(std::span<const uint8_t>, bool, bool, const Pixels&) override { return refusal_; }
  Status decode(const Box&, PixelRows&) override { return refusal_; }
  std::optional<PlanesShape> planes(int) const override { return std::nullopt; }
  Status decode_planes(uint8_t*) override { return refusal_; }
  Status decode_planes(const Box&, int, uint8_t*) override { return refusal_; }

 private:
  Error refusal_;
};

}  // namespace

std::unique_ptr<ImageDecoder> make_stored_decoder(std::unique_ptr<StoredCodec> codec,
                                                  const media::DecodeLimits& limits) {
  return std::make_unique<StoredDecoder>(std::move(codec), limits);
}

std::unique_ptr<ImageDecoder> make_missing_decoder(std::string sentence) {
  return std::make_unique<MissingDecoder>(std::move(sentence));
}

Error damaged(const std::string& name, const std::string& how) {
  // The article goes before the adjective: "a damaged WebP", for "an AVIF" too.
  return {Trouble::kContent, "a damaged " + name.substr(name.find(' ') + 1) + ": " + how};
}

Error costs_too_much(const std::string& name, const char* why) {
  return {Trouble::kContent, name + " that costs too much: " + why};
}

Error cut_off(const std::string& name) { return {Trouble::kContent, name + " that was cut off: its end is missing"}; }

Error no_such_frame(const std::string& name, uint64_t count, int wanted, const std::string& noun) {
  return {Trouble::kContent, name + " of " + std::to_string(count) + " " + noun + (count == 1 ? "" : "s") +
                                 ", counted from 0, where " + noun + " " + std::to_string(wanted) + " is wanted"};
}

Error damaged_profile(const std::string& name) {
  return {Trouble::kContent,
          name + " with a damaged colour profile: repair the picture, or write profile = \"ignore\""};
}

Result<ColourProfile> profile_of(const std::string& name, const void* bytes, size_t size, bool is_grey) {
  ColourProfile profile;
  profile.is_grey = is_grey;
  if (bytes == nullptr || size == 0) return profile;
  if (size > ColourProfile::kBytesMax) return damaged_profile(name);
  const auto* const first = static_cast<const uint8_t*>(bytes);
  profile.bytes.assign(first, first + size);
  return profile;
}

Error not_decoded(const std::string& name, const std::string& with) {
  return {Trouble::kUnsupported, name + " with " + with + ": this spdld does not decode such pictures"};
}

uint8_t* cover(const Box& covers, PixelRows& rows) {
  rows.covers = covers;
  rows.offset = 0;
  rows.stride_bytes = static_cast<size_t>(covers.width) * static_cast<size_t>(rows.format.pixel_bytes());
  return rows.memory.resize(rows.stride_bytes * static_cast<size_t>(covers.height) + PixelRows::kSlackBytes);
}

}  // namespace spdld::image
