#include "daemon/media/image/codecs/stored_codec.h"

#include <utility>

#include "daemon/media/image/codecs/orient.h"
#include "daemon/media/sample_memory.h"

namespace spdld::image {
namespace {

Error no_stored_planes() { return {Trouble::kInternal, "planes of a picture that has none were to be decoded"}; }

Error other_size(const std::string& name, int page, const Size& size, const Size& first) {
  const auto text = [](const Size& of) { return std::to_string(of.width) + " x " + std::to_string(of.height); };
  return {Trouble::kContent, name + " whose page " + std::to_string(page) + " has " + text(size) +
                                 " pixels, and the first one " + text(first) + ": frames must have one size"};
}

class StoredDecoder final : public ImageDecoder {
 public:
  StoredDecoder(std::unique_ptr<StoredCodec> codec, const media::DecodeLimits& limits)
      : codec_(std::move(codec)), limits_(limits), watch_(limits), memory_(limits.memory) {}

  Result<Size> open(std::span<const uint8_t> bytes, bool exif, bool strict, const Pixels& pixels) override;
  Status decode(const Box& box, PixelRows& rows) override;
  uint64_t frames() const override { return outline_.frames; }
  Status decode_frames(std::span<const int> wanted, const Box& box, PixelRows& rows, const FrameSink& sink) override;
  Result<ColourProfile> profile() override { return codec_->profile(); }
  std::optional<PlanesShape> planes(int) const override { return std::nullopt; }
  Status decode_planes(uint8_t*) override { return no_stored_planes(); }
  Status decode_planes(const Box&, int, uint8_t*) override { return no_stored_planes(); }

 private:
  // The bytes of the whole picture, with its copies, and of the library. kPixelsMax keeps the sum far below 2^64.
  uint64_t bytes_needed() const;
  // The same with the room that buffers take beyond their content.
  uint64_t room_needed() const {
    const uint64_t unlikely = outline_.likely_bytes == 0 ? 0 : outline_.library_bytes - outline_.likely_bytes;
    return ByteBuffer::room_for(bytes_needed() - unlikely);
  }
  // Takes the outline of the picture, or of a page; gives the size of the upright picture.
  Result<Size> take(const StoredOutline& outline);
  Status check_limits(const Box& box) const;
  bool is_upright() const { return orientation_ == 1; }
  bool is_wanted() const { return outline_.format == pixels_.format(); }
  // The rows that the codec is to write, so that finish() can make `rows` of them; and that.
  PixelRows& begin(PixelRows& rows);
  void finish(const Box& box, PixelRows& rows);
  Status decode_page(const Box& box, PixelRows& rows);
  Status decode_pages(std::span<const int> wanted, const Box& box, PixelRows& rows, const FrameSink& sink);
  void shrink() {
    raw_.memory.shrink(kMemoryKeptMax);
    turned_.memory.shrink(kMemoryKeptMax);
  }

  std::unique_ptr<StoredCodec> codec_;
  media::DecodeLimits limits_;
  CpuWatch watch_;
  media::MemoryPart memory_;
  StoredOutline outline_;
  Size stored_;
  Pixels pixels_;
  bool exif_ = true;
  int orientation_ = 1;
  PixelRows raw_, turned_;  // before the conversion, and before the turn
};

Result<Size> StoredDecoder::open(std::span<const uint8_t> bytes, bool exif, bool, const Pixels& pixels) {
  stored_ = {};
  outline_ = {};
  pixels_ = pixels;
  exif_ = exif;
  const auto outline = codec_->open(bytes, pixels);
  if (!outline) return outline.error();
  const auto size = take(*outline);
  if (!size) return size.error();
  if (pixels.frames == 0) return *size;
  const Status few_enough = check_frame_count(codec_->name(), outline_.frames, outline_.are_pages ? "page" : "frame");
  return few_enough ? *size : Result<Size>(few_enough.error());
}

Result<Size> StoredDecoder::take(const StoredOutline& outline) {
  outline_ = outline;
  if (outline_.width == 0 || outline_.height == 0) return damaged(codec_->name(), "its header claims no pixels");
  const Claim claim{codec_->name(), outline_.width, outline_.height};
  if (const Status small_enough = claim.check_pixels(); !small_enough) return small_enough.error();
  if (pixels_.colours == Colours::kStored)
    return Error{Trouble::kContent,
                 std::string(codec_->name()) + ", where a mask's values are wanted: a mask is a PNG"};
  stored_ = {static_cast<int>(outline_.width), static_cast<int>(outline_.height)};
  orientation_ = exif_ ? outline_.orientation : 1;
  return oriented_size(stored_, orientation_);
}

uint64_t StoredDecoder::bytes_needed() const {
  const auto wanted = static_cast<uint64_t>(pixels_.format().pixel_bytes());
  uint64_t pixel_bytes = is_upright() ? wanted : 2 * wanted;
  if (!is_wanted()) pixel_bytes += static_cast<uint64_t>(outline_.format.pixel_bytes());
  return uint64_t{outline_.width} * outline_.height * pixel_bytes + outline_.library_bytes;
}

Status StoredDecoder::check_limits(const Box& box) const {
  if (const Status inside = check_box(box, oriented_size(stored_, orientation_)); !inside) return inside;
  if (limits_.bytes_max != 0 && bytes_needed() > limits_.bytes_max)
    return costs_too_much(codec_->name(), kTooMuchMemory);
  return Done{};
}

PixelRows& StoredDecoder::begin(PixelRows& rows) {
  PixelRows& read = !is_wanted() ? raw_ : is_upright() ? rows : turned_;
  read.format = outline_.format;
  read.picture = stored_;
  read.offset = 0;
  return read;
}

void StoredDecoder::finish(const Box& box, PixelRows& rows) {
  if (!is_wanted()) convert_rows(raw_, pixels_, is_upright() ? rows : turned_);
  if (!is_upright()) orient_rows(turned_, box, orientation_, rows);
}

// Of a page, or of a file's only picture, whose memory was asked for.
Status StoredDecoder::decode_page(const Box& box, PixelRows& rows) {
  const Status decoded = codec_->decode(stored_box(box, stored_, orientation_), watch_, begin(rows));
  if (decoded) finish(box, rows);
  return decoded;
}

Status StoredDecoder::decode(const Box& box, PixelRows& rows) {
  watch_.restart();
  if (const Status allowed = check_limits(box); !allowed) return allowed;
  if (!memory_.add(room_needed())) return media::no_room();
  const Status decoded = decode_page(box, rows);
  shrink();
  return decoded;
}

Status StoredDecoder::decode_pages(std::span<const int> wanted, const Box& box, PixelRows& rows,
                                   const FrameSink& sink) {
  const Size first = oriented_size(stored_, orientation_);
  for (const int page : wanted) {
    const auto outline = codec_->turn_to(page);
    if (!outline) return outline.error();
    const auto size = take(*outline);
    if (!size) return size.error();
    if (!(*size == first)) return other_size(codec_->name(), page, *size, first);
    if (const Status allowed = check_limits(box); !allowed) return allowed;
    if (!memory_.grow_to(room_needed())) return media::no_room();
    if (const Status decoded = decode_page(box, rows); !decoded) return decoded;
    if (const Status taken = sink(rows); !taken) return taken;
  }
  return Done{};
}

Status StoredDecoder::decode_frames(std::span<const int> wanted, const Box& box, PixelRows& rows,
                                    const FrameSink& sink) {
  watch_.restart();
  Status decoded = check_limits(box);
  if (decoded && !memory_.add(room_needed())) decoded = media::no_room();
  if (decoded && outline_.are_pages) {
    decoded = decode_pages(wanted, box, rows, sink);
  } else if (decoded) {
    decoded = codec_->decode_frames(wanted, stored_box(box, stored_, orientation_), watch_, begin(rows),
                                    [&](const PixelRows&) {
                                      finish(box, rows);
                                      return sink(rows);
                                    });
  }
  codec_->close();
  shrink();
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

Status StoredCodec::decode_frames(std::span<const int>, const Box& box, CpuWatch& watch, PixelRows& rows,
                                  const FrameSink& sink) {
  const Status decoded = decode(box, watch, rows);
  return decoded ? sink(rows) : decoded;
}

Result<StoredOutline> StoredCodec::turn_to(int) {
  return Error{Trouble::kInternal, std::string("a page was wanted of ") + name() + ", which has none"};
}

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
