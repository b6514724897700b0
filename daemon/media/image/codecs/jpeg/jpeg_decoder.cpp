#include <algorithm>
#include <array>
#include <cstring>

#include "daemon/media/image/codecs/baseline/plain_jpeg.h"
#include "daemon/media/image/codecs/image_decoder.h"
#include "daemon/media/image/codecs/jpeg/codec.h"
#include "daemon/media/image/codecs/jpeg/exif.h"
#include "daemon/media/image/codecs/jpeg/icc.h"
#include "daemon/media/image/codecs/jpeg/packed_scan.h"
#include "daemon/media/image/codecs/jpeg/plain_scan.h"
#include "daemon/media/image/codecs/jpeg/portion.h"
#include "daemon/media/image/codecs/jpeg/progressive_scans.h"
#include "daemon/media/image/codecs/jpeg/raw_planes.h"
#include "daemon/media/image/codecs/jpeg/scans.h"
#include "daemon/media/image/codecs/jpeg/segments.h"
#include "daemon/media/image/codecs/orient.h"
#include "daemon/media/image/codecs/sniff.h"
#include "daemon/media/sample_memory.h"

namespace spdld::image {
namespace {

Error content_error(std::string message) { return {Trouble::kContent, std::move(message)}; }

Error damaged_packed() { return {Trouble::kInternal, "a JPEG's packed coefficients are damaged"}; }

// A marker can't occur inside coded data (0xFF is followed by a stuffed 0 there), so a file without any end marker was
// cut off.
bool has_end_marker(std::span<const uint8_t> scan) {
  size_t end = scan.size();
  while (end >= 2) {
    const auto* found = static_cast<const uint8_t*>(memrchr(scan.data() + 1, marker::kEnd, end - 1));
    if (found == nullptr) return false;
    if (found[-1] == 0xFF) return true;
    end = static_cast<size_t>(found - scan.data());
  }
  return false;
}

void read_header(jpeg_decompress_struct& jpeg, std::span<const uint8_t>& bytes) {
  jpeg_mem_src(&jpeg, bytes.data(), bytes.size());
  jpeg_read_header(&jpeg, TRUE);
}

// Decodes the whole picture in the cheapest way, for libjpeg's verdict.
void read_to_end(jpeg_decompress_struct& jpeg, Codec& codec) {
  jpeg.scale_denom = DCTSIZE;
  jpeg.do_fancy_upsampling = FALSE;
  jpeg.out_color_space = jpeg.jpeg_color_space;
  jpeg_start_decompress(&jpeg);
  auto* line = static_cast<JSAMPROW>((*jpeg.mem->alloc_large)(reinterpret_cast<j_common_ptr>(&jpeg), JPOOL_IMAGE,
                                                              size_t{jpeg.output_width} * MAX_COMPONENTS));
  while (jpeg.output_scanline < jpeg.output_height) (void)jpeg_read_scanlines(&jpeg, &line, 1);
  codec.allow_early_end();
  (void)jpeg_finish_decompress(&jpeg);
}

void finish(jpeg_decompress_struct& jpeg, PlanesTarget&) { (void)jpeg_finish_decompress(&jpeg); }

// Made by a decoding beside the planes.
struct Extras {
  std::span<uint8_t> index = {};
  baseline::PackedWriter* packed = nullptr;
};

class JpegDecoder final : public ImageDecoder {
 public:
  explicit JpegDecoder(const media::DecodeLimits& limits)
      : codec_(limits), only_libjpeg_(limits.only_libjpeg), memory_(limits.memory) {}
  Result<Size> open(std::span<const uint8_t> bytes, bool exif, bool strict, const Pixels& pixels) override;
  Status decode(const Box& box, PixelRows& rows) override;
  Result<ColourProfile> profile() override { return jpeg_profile(bytes_, codec_.jpeg().num_components == 1); }
  std::optional<PlanesShape> planes(int reduction) const override;
  Status decode_planes(uint8_t* memory) override { return decode_some_planes(std::nullopt, 1, memory); }
  Status decode_planes(const Box& box, int reduction, uint8_t* memory) override;
  size_t index_bytes() override;
  Status decode_and_index(const Box& box, uint8_t* memory, std::span<uint8_t> index) override;
  Result<Size> open_indexed(std::span<const uint8_t> bytes, std::span<const uint8_t> index, bool exif, bool strict,
                            const Pixels& pixels) override;
  bool is_packable() override;
  Status decode_and_pack(uint8_t* memory, std::span<const uint8_t>& packed) override;
  Status transcode(uint8_t* memory, std::span<const uint8_t>& plain) override;
  Result<Size> open_packed(std::span<const uint8_t> packed, const PlanesShape& shape) override;

 private:
  void forget();  // the picture that was opened
  Result<Size> open_with(std::span<const uint8_t> bytes, std::span<const uint8_t> index, bool exif, bool strict,
                         const Pixels& pixels);
  Error error_of_codec() const;
  Claim claim();  // of the header that was read
  bool is_grey() const { return pixels_.format().channels == 1; }
  // The pixels that libjpeg is to give; they are converted where others are wanted.
  Pixels read_pixels() const { return {is_grey() ? Colours::kGrey : Colours::kRgb, 8}; }
  Status check_header();
  Status check_scans();
  // Memory of libjpeg beside the picture's rows or planes.
  uint64_t library_bytes();
  bool decode_stored(const Box& box, PixelRows& rows);
  Status decode_some_planes(const std::optional<Box>& box, int reduction, uint8_t* memory, const Extras& extras = {});
  Status decode_packed(const PlanesTarget& target);
  OwnDecoding decode_by_own(const PlanesTarget& target, const Extras& extras);
  OwnDecoding decode_plain_scan(const PlanesTarget& target, const Extras& extras, const GoesOn& goes_on);
  OwnDecoding decode_progressive(const PlanesTarget& target, const Extras& extras, const GoesOn& goes_on);
  GoesOn goes_on() {
    return [this](uint64_t blocks) { return codec_.spend_cpu_time(blocks); };
  }
  std::span<const uint8_t> coded() { return bytes_.last(codec_.jpeg().src->bytes_in_buffer); }

  Codec codec_;
  const bool only_libjpeg_;
  media::MemoryPart memory_;
  PlainScan plain_scan_;
  ProgressiveScans progressive_scans_;
  PackedScan packed_scan_;  // open: the picture is a packed one
  baseline::PackedWriter packed_;
  baseline::PlainJpegWriter plain_;
  std::span<const uint8_t> bytes_;
  std::span<const uint8_t> index_;  // of them; empty: there is none
  Size stored_;
  int orientation_ = 1;
  bool strict_ = false;
  Pixels pixels_;
  PlanesShapes planes_;
  int raw_state_ = 0;       // see PlanesTarget
  bool at_header_ = false;  // the header was read and nothing after it
  bool is_plain_ = false;   // as Scans says
  PixelRows turned_;        // of pictures that are not stored upright
  PixelRows read_;          // of pictures that are converted
  ByteBuffer line_;
};

// Of an attempt that came to nothing.
Error JpegDecoder::error_of_codec() const {
  if (codec_.ran_short_of_memory()) return {Trouble::kMemory, "there is not enough memory to decode a JPEG"};
  if (codec_.reached_limit()) return content_error("a JPEG that costs too much: " + codec_.message());
  const std::string kind = codec_.unsupported();
  return kind.empty() ? content_error("a damaged JPEG: " + codec_.message()) : unsupported(kind);
}

Claim JpegDecoder::claim() { return {"a JPEG", codec_.jpeg().image_width, codec_.jpeg().image_height}; }

// Whether the picture whose header was read can be decoded.
Status JpegDecoder::check_header() {
  const jpeg_decompress_struct& jpeg = codec_.jpeg();
  if (const Status small_enough = claim().check_pixels(); !small_enough) return small_enough;
  if (jpeg.jpeg_color_space == JCS_UNKNOWN || jpeg.num_components == 2 || jpeg.num_components > 4) {
    return unsupported("a JPEG of " + std::to_string(jpeg.num_components) + " components");
  }
  if (jpeg.data_precision != 8) return unsupported("a JPEG of " + std::to_string(jpeg.data_precision) + " bits");
  if (pixels_.colours == Colours::kStored && jpeg.num_components != 1)
    return content_error("a JPEG in colours, where a mask's values are wanted: a mask is grey");
  return Done{};
}

// Whether the scans of that picture are all there, and cost no more than their bytes pay for; both before any of that
// work is done. Nothing here, or in the decoding, depends on the box that is needed: scans that are plain can't make
// libjpeg give up, whatever box is read, and pictures of several scans are always read to their end. All others are
// tried now.
Status JpegDecoder::check_scans() {
  const jpeg_decompress_struct& jpeg = codec_.jpeg();
  const auto coded = bytes_.last(jpeg.src->bytes_in_buffer);
  const Scans scans = find_scans(jpeg, coded);
  if (!scans.has_end && !has_end_marker(coded)) return content_error("a JPEG that was cut off: its end is missing");
  // Huffman coding spends at least a bit on a block.
  const uint64_t blocks = uint64_t{jpeg.comp_info[0].width_in_blocks} * jpeg.comp_info[0].height_in_blocks;
  if (jpeg.arith_code == FALSE && blocks > uint64_t{coded.size()} * 8) {
    return claim().exceeds(coded.size(), ", more than its ", "can hold");
  }
  if (scans.count > Codec::kScansMax) {
    return content_error("a JPEG of " + std::to_string(scans.count) + " scans, more than any real picture has");
  }
  if (scans.block_visits > kFreeVisits + kVisitsPerByte * coded.size()) {
    const std::string what = " in " + std::to_string(scans.count) + " scans, more work than its ";
    return claim().exceeds(coded.size(), what, "pay for");
  }
  is_plain_ = scans.is_plain;
  if (scans.is_plain || jpeg.progressive_mode != FALSE || jpeg.comps_in_scan < jpeg.num_components) return Done{};
  const bool is_sound = codec_.attempt(read_to_end, codec_);
  codec_.abort();
  if (!is_sound) return error_of_codec();
  if (!codec_.attempt(read_header, bytes_)) return error_of_codec();
  return Done{};
}

Result<Size> JpegDecoder::open(std::span<const uint8_t> bytes, bool exif, bool strict, const Pixels& pixels) {
  plain_.shrink(kMemoryKeptMax);
  return open_with(bytes, {}, exif, strict, pixels);
}

Result<Size> JpegDecoder::open_indexed(std::span<const uint8_t> bytes, std::span<const uint8_t> index, bool exif,
                                       bool strict, const Pixels& pixels) {
  const bool helps = !only_libjpeg_ && baseline::ScanIndex::has_points(index);
  return open_with(bytes, helps ? index : std::span<const uint8_t>(), exif, strict, pixels);
}

void JpegDecoder::forget() {
  codec_.abort();
  packed_scan_.close();
  at_header_ = is_plain_ = false;
  bytes_ = index_ = {};
  stored_ = {};
  orientation_ = 1;
  planes_.fill(std::nullopt);
}

Result<Size> JpegDecoder::open_packed(std::span<const uint8_t> packed, const PlanesShape& shape) {
  forget();
  strict_ = false;
  if (!packed_scan_.open(packed, shape)) return damaged_packed();
  stored_ = shape.picture;
  planes_[0] = shape;
  return stored_;
}

// Scans with an index were looked at when it was made.
Result<Size> JpegDecoder::open_with(std::span<const uint8_t> bytes, std::span<const uint8_t> index, bool exif,
                                    bool strict, const Pixels& pixels) {
  forget();
  codec_.refuse_damage(strict);
  strict_ = strict;
  pixels_ = pixels;
  is_plain_ = !index.empty();
  bytes_ = bytes;
  index_ = index;
  if (!codec_.attempt(read_header, bytes_)) return error_of_codec();
  Status sound = check_header();
  if (sound && index_.empty()) sound = check_scans();
  if (!sound) return sound.error();
  at_header_ = true;
  stored_ = {static_cast<int>(codec_.jpeg().image_width), static_cast<int>(codec_.jpeg().image_height)};
  orientation_ = exif ? exif_orientation(bytes) : 1;
  const bool can_be_planes = orientation_ == 1 && pixels_ == read_pixels();
  if (can_be_planes && !codec_.attempt(is_grey() ? find_luma_shapes : find_planes_shapes, planes_)) {
    return error_of_codec();
  }
  return oriented_size(stored_, orientation_);
}

// libjpeg-turbo streams rows that are aligned for SIMD past the cache; but these are read at once, so each begins a bit
// behind such a place.
constexpr size_t kLine = 64, kPastAlignment = 8;

// Rows of MCUs; and all coefficients of a picture of several scans. Precondition: the header was read.
uint64_t JpegDecoder::library_bytes() {
  constexpr uint64_t kForAll = 128 << 10, kOfColumn = 128;
  const jpeg_decompress_struct& jpeg = codec_.jpeg();
  constexpr uint64_t kOfComponent = 1 << 20;  // a block of the arena, for the rows' addresses behind a large one
  uint64_t blocks = 0, addresses = 0;
  if (jpeg.progressive_mode != FALSE || jpeg.comps_in_scan < jpeg.num_components) {
    const auto padded = [](JDIMENSION count, int factor) {
      const auto unit = static_cast<uint64_t>(std::max(factor, 1));
      return (count + unit - 1) / unit * unit;
    };
    for (int c = 0; c < jpeg.num_components; ++c) {
      const jpeg_component_info& part = jpeg.comp_info[c];
      addresses += kOfComponent;
      blocks += padded(part.width_in_blocks, part.h_samp_factor) * padded(part.height_in_blocks, part.v_samp_factor);
    }
  }
  return kForAll + kOfColumn * jpeg.image_width + addresses + blocks * sizeof(JBLOCK);
}

bool JpegDecoder::decode_stored(const Box& box, PixelRows& rows) {
  Portion portion{box, is_grey(), 0, 0};
  const PixelFormat read = read_pixels().format(), wanted = pixels_.format();
  const auto pixel_bytes = static_cast<size_t>(read.pixel_bytes());
  const uint64_t copies = orientation_ == 1 ? 1 : 2;  // a picture that is turned has two
  uint64_t row_bytes = static_cast<uint64_t>(stored_.width) * pixel_bytes + kLine;
  if (read != wanted) row_bytes += static_cast<uint64_t>(stored_.width) * static_cast<uint64_t>(wanted.pixel_bytes());
  const uint64_t rows_bytes = row_bytes * static_cast<uint64_t>(box.height) * copies;
  if (!codec_.share_memory(rows_bytes) || !memory_.add(ByteBuffer::room_for(rows_bytes) + library_bytes()))
    return false;
  if (!codec_.attempt(start_portion, portion)) return false;
  rows.format = read;
  rows.stride_bytes = (size_t{portion.width} * pixel_bytes + kLine - 1) / kLine * kLine;
  rows.covers = {static_cast<int>(portion.x), box.y, static_cast<int>(portion.width), box.height};
  rows.picture = stored_;
  uint8_t* memory =
      rows.memory.resize(kLine + rows.stride_bytes * static_cast<size_t>(box.height) + PixelRows::kSlackBytes);
  rows.offset = kLine - (reinterpret_cast<uintptr_t>(memory) - kPastAlignment) % kLine;
  uint8_t* first = memory + rows.offset;
  PortionTarget target{first, rows.stride_bytes, portion, line_.resize(size_t{portion.width} * kLineBytes)};
  return codec_.attempt(read_portion, target) && (!strict_ || codec_.attempt(read_below_portion, target));
}

Status JpegDecoder::decode(const Box& box, PixelRows& rows) {
  const Size picture = oriented_size(stored_, orientation_);
  if (const Status inside = check_box(box, picture); !inside) return inside;
  if (packed_scan_.is_open()) return Error{Trouble::kInternal, "packed coefficients were to be decoded to rows"};
  if (!at_header_ && !codec_.attempt(read_header, bytes_)) return error_of_codec();
  at_header_ = false;
  const bool upright = orientation_ == 1;
  const bool is_read_so = read_pixels().format() == pixels_.format();
  PixelRows& read = is_read_so ? rows : read_;
  const bool decoded = decode_stored(stored_box(box, stored_, orientation_), upright ? read : turned_);
  codec_.abort();  // also when all went well: what is below the box is not read
  if (decoded && !upright) orient_rows(turned_, box, orientation_, read);
  turned_.memory.shrink(kMemoryKeptMax);
  if (!decoded) return error_of_codec();
  if (!is_read_so) convert_rows(read, pixels_, rows);
  read_.memory.shrink(kMemoryKeptMax);
  return Done{};
}

std::optional<PlanesShape> JpegDecoder::planes(int reduction) const {
  for (size_t i = 0; i < planes_.size(); ++i) {
    if (reduction == 1 << i) return planes_[i];
  }
  return std::nullopt;
}

size_t JpegDecoder::index_bytes() {
  if (only_libjpeg_ || !at_header_ || !is_plain_ || !planes_[0]) return 0;
  return plain_scan_.index_bytes(codec_.jpeg(), coded(), *planes_[0]);
}

OwnDecoding JpegDecoder::decode_plain_scan(const PlanesTarget& target, const Extras& extras, const GoesOn& goes_on) {
  const bool by_index = !index_.empty() && target.box;
  return plain_scan_.read(codec_.jpeg(), coded(),
                          {target.shape, target.layout, target.memory, target.box, strict_ && !by_index, extras.packed},
                          {by_index ? index_ : std::span<const uint8_t>(), extras.index}, goes_on);
}

// Too large a picture is libjpeg's to refuse, whatever box is needed.
OwnDecoding JpegDecoder::decode_progressive(const PlanesTarget& target, const Extras& extras, const GoesOn& goes_on) {
  const jpeg_decompress_struct& jpeg = codec_.jpeg();
  if (!codec_.leaves_memory(target.layout.bytes + ProgressiveScans::memory_bytes(jpeg))) return OwnDecoding::kLeft;
  if (!memory_.add(ByteBuffer::room_for(ProgressiveScans::memory_bytes(jpeg)))) return OwnDecoding::kStopped;
  const auto outcome = progressive_scans_.read(
      jpeg, coded(), {target.shape, target.layout, target.memory, target.box, strict_, extras.packed}, goes_on);
  progressive_scans_.shrink(kMemoryKeptMax);
  return outcome;
}

OwnDecoding JpegDecoder::decode_by_own(const PlanesTarget& target, const Extras& extras) {
  if (only_libjpeg_ || target.reduction != 1) return OwnDecoding::kLeft;
  if (is_plain_) return decode_plain_scan(target, extras, goes_on());
  // Own code does not ask for memory where it leaves the picture anyway.
  const bool is_progressive = codec_.jpeg().progressive_mode != FALSE && codec_.jpeg().arith_code == FALSE;
  return is_progressive ? decode_progressive(target, extras, goes_on()) : OwnDecoding::kLeft;
}

Status JpegDecoder::decode_packed(const PlanesTarget& target) {
  if (!codec_.share_memory(target.layout.bytes)) return error_of_codec();
  const auto outcome = packed_scan_.read({target.shape, target.layout, target.memory, target.box}, goes_on());
  codec_.abort();
  if (outcome == OwnDecoding::kDone) return Done{};
  return outcome == OwnDecoding::kLeft ? damaged_packed() : error_of_codec();
}

Status JpegDecoder::decode_some_planes(const std::optional<Box>& box, int reduction, uint8_t* memory,
                                       const Extras& extras) {
  const auto shape = planes(reduction);
  if (!shape) return Error{Trouble::kInternal, "the planes of a picture that has none were to be decoded"};
  if (reinterpret_cast<uintptr_t>(memory) % PlanesLayout::kAlignment != 0) {
    return Error{Trouble::kInternal, "planes were to be decoded into memory that is not aligned"};
  }
  PlanesTarget target{*shape, reduction, PlanesLayout(*shape), memory, raw_state_, box};
  if (packed_scan_.is_open()) return decode_packed(target);
  if (!at_header_ && !codec_.attempt(read_header, bytes_)) return error_of_codec();
  at_header_ = false;
  if (strict_ && index_.empty()) target.box.reset();
  bool decoded = codec_.share_memory(target.layout.bytes);
  const auto outcome = decoded ? decode_by_own(target, extras) : OwnDecoding::kStopped;
  if (outcome == OwnDecoding::kLeft) {
    if (extras.packed != nullptr) extras.packed->forget();
    if (strict_) target.box.reset();
    decoded = memory_.add(library_bytes()) && codec_.attempt(read_planes, target) &&
              (!strict_ || codec_.attempt(finish, target));
  }
  if (outcome == OwnDecoding::kStopped) decoded = false;
  raw_state_ = target.raw_state;
  codec_.abort();
  if (!decoded) return error_of_codec();
  return Done{};
}

Status JpegDecoder::decode_planes(const Box& box, int reduction, uint8_t* memory) {
  if (const Status inside = check_box(box, stored_); !inside) return inside;
  return decode_some_planes(box, reduction, memory);
}

Status JpegDecoder::decode_and_index(const Box& box, uint8_t* memory, std::span<uint8_t> index) {
  if (const Status inside = check_box(box, stored_); !inside) return inside;
  std::fill(index.begin(), index.end(), uint8_t{0});
  return decode_some_planes(box, 1, memory, {index, nullptr});
}

bool JpegDecoder::is_packable() {
  if (only_libjpeg_ || !at_header_ || !planes_[0] || baseline::blocks_in_group() == 0) return false;
  return codec_.jpeg().progressive_mode != FALSE || (is_plain_ && plain_scan_.takes(codec_.jpeg(), *planes_[0]));
}

Status JpegDecoder::decode_and_pack(uint8_t* memory, std::span<const uint8_t>& packed) {
  packed_.forget();
  // Packed coefficients take at most 1.6 times as much as planes, and their rows once more while they are filled.
  constexpr uint64_t kShare = 3;
  const auto shape = planes(1);
  const bool has_memory = shape && codec_.leaves_memory(PlanesLayout(*shape).bytes * kShare);
  if (has_memory && !memory_.add((kShare - 1) * PlanesLayout(*shape).bytes)) return media::no_room();
  const Extras extras{{}, has_memory ? &packed_ : nullptr};
  const Status decoded = decode_some_planes(Box{0, 0, stored_.width, stored_.height}, 1, memory, extras);
  packed = decoded && packed_.finish() ? packed_.picture() : std::span<const uint8_t>();
  return decoded;
}

// Planes mean that the picture is not turned, so that the plain JPEG needs no EXIF.
Status JpegDecoder::transcode(uint8_t* memory, std::span<const uint8_t>& plain) {
  plain = {};
  if (is_plain_ || !is_packable()) return Done{};
  const auto bytes = bytes_;
  const PlanesShape shape = *planes_[0];
  std::span<const uint8_t> packed;
  if (const Status decoded = decode_and_pack(memory, packed); !decoded) return decoded;
  const auto picture = baseline::PackedPicture::view(packed);
  if (!picture) return Done{};
  const auto made =
      plain_.write(*picture, {shape.picture.width, shape.picture.height, shape.chroma_across, shape.chroma_down});
  if (made.empty()) return Done{};
  if (open_with(made, {}, false, strict_, pixels_) && planes_[0] == shape && index_bytes() > 0) {
    plain = made;
    return Done{};
  }
  const auto opened = open_with(bytes, {}, false, strict_, pixels_);
  return opened ? Status(Done{}) : opened.error();
}

}  // namespace

std::unique_ptr<ImageDecoder> make_jpeg_decoder(const media::DecodeLimits& limits) {
  return std::make_unique<JpegDecoder>(limits);
}

}  // namespace spdld::image
