#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "daemon/media/image/codecs/srgb_transforms.h"
#include "daemon/media/image/codecs/stored_codec.h"
#include "daemon/media/image/codecs/tiff/compressions.h"
#include "daemon/media/image/codecs/tiff/layout.h"
#include "daemon/media/image/codecs/tiff/reader.h"
#include "daemon/media/image/codecs/tiff/samples.h"

namespace spdld::image {
namespace {

constexpr int64_t kPieceBytesMin = int64_t{64} << 20;  // libtiff's lists of strips, and its buffers

// Why a reader of this page is not open.
Error no_page(const TiffReader& reader, int page) {
  if (reader.pages() > 0 && static_cast<uint64_t>(page) >= reader.pages())
    return no_such_frame(kTiffName, reader.pages(), page, "page");
  return damaged(kTiffName,
                 page == 0 ? "libtiff finds no page in it" : "libtiff can't read page " + std::to_string(page));
}

// libtiff's own conversion to RGB with alpha.
class RgbaImage {
 public:
  RgbaImage() = default;
  ~RgbaImage() {
    if (has_begun_) TIFFRGBAImageEnd(&image_);
  }
  RgbaImage(const RgbaImage&) = delete;
  RgbaImage& operator=(const RgbaImage&) = delete;

  bool begin(TIFF* tiff, char* why) {
    has_begun_ = TIFFRGBAImageBegin(&image_, tiff, 1, why) == 1;
    image_.orientation = image_.req_orientation = ORIENTATION_TOPLEFT;  // rows and columns as they are stored
    return has_begun_;
  }
  bool read(uint32_t first_row, uint32_t* pixels, uint32_t width, uint32_t height) {
    image_.row_offset = static_cast<int>(first_row);
    image_.col_offset = 0;
    return TIFFRGBAImageGet(&image_, pixels, width, height) == 1;
  }

 private:
  TIFFRGBAImage image_ = {};
  bool has_begun_ = false;
};

// One decoding: the rows that are wanted, and how the stored samples come to them.
class Reading {
 public:
  Reading(const TiffReader& page, const TiffLayout& layout, const Pixels& wanted, CpuWatch& watch, PixelRows& rows)
      : page_(page),
        layout_(layout),
        wanted_(wanted),
        watch_(watch),
        rows_(rows),
        places_(sample_places(layout, rows.format)) {}

  Status read(const Box& box, ByteBuffer& piece);

 private:
  Status read_palette();
  Status read_strips(ByteBuffer& piece);
  Status read_tiles(ByteBuffer& piece);
  Status read_tile(uint32_t x, uint32_t y, int plane, ByteBuffer& piece);
  Status read_by_library(ByteBuffer& piece);
  // Makes RGB of other colours, where they were put as they are stored.
  void convert(const Box& box);
  // Puts a stored row, or a tile's part of one, into the rows where they have it.
  void put(const uint8_t* samples, uint32_t x, uint32_t y, uint32_t width, int plane);
  bool has_row(uint32_t y) const {
    return y >= static_cast<uint32_t>(rows_.covers.y) &&
           y < static_cast<uint32_t>(rows_.covers.y + rows_.covers.height);
  }
  // Of damaged fax data libtiff gives rows, and tells the error beside.
  bool has_faults() const { return is_fax(layout_.compression) && page_.has_complained(); }
  int planes() const { return layout_.separate ? layout_.samples : 1; }
  static Error damaged_at(uint32_t y) {
    return damaged(kTiffName, "libtiff can't decode its pixels from row " + std::to_string(y) + " on");
  }

  const TiffReader& page_;
  const TiffLayout& layout_;
  const Pixels& wanted_;
  CpuWatch& watch_;
  PixelRows& rows_;
  std::vector<SamplePlace> places_;
  TiffPalette palette_;
  uint8_t* first_ = nullptr;
};

// Entries that a palette lacks are black.
Status Reading::read_palette() {
  if (layout_.kind != TiffKind::kPalette) return Done{};
  uint16_t *red = nullptr, *green = nullptr, *blue = nullptr;
  if (TIFFGetField(page_.get(), TIFFTAG_COLORMAP, &red, &green, &blue) != 1)
    return damaged(kTiffName, "it has no palette");
  const size_t count = size_t{1} << layout_.bits;
  for (size_t i = 0; i < count; ++i)
    palette_.push_back(
        {static_cast<uint8_t>(red[i] >> 8), static_cast<uint8_t>(green[i] >> 8), static_cast<uint8_t>(blue[i] >> 8)});
  return Done{};
}

void Reading::put(const uint8_t* samples, uint32_t x, uint32_t y, uint32_t width, int plane) {
  if (!has_row(y)) return;
  uint8_t* const row = first_ + rows_.stride_bytes * (y - static_cast<uint32_t>(rows_.covers.y));
  uint8_t* const out = row + size_t{x} * static_cast<size_t>(rows_.format.pixel_bytes());
  const auto stride = layout_.separate ? size_t{1} : static_cast<size_t>(layout_.samples);
  if (!palette_.empty()) {
    if (plane == 0) put_palette(layout_, {samples, stride, 0}, palette_, out, width);
    return;
  }
  for (const SamplePlace& place : places_) {
    if (layout_.separate && place.from != plane) continue;
    const size_t from = layout_.separate ? 0 : static_cast<size_t>(place.from);
    put_samples(layout_, {samples, stride, from}, place, rows_.format, out, width);
  }
}

Status Reading::read_strips(ByteBuffer& piece) {
  const tmsize_t row_bytes = TIFFScanlineSize(page_.get());
  const uint64_t samples = uint64_t{layout_.width} * static_cast<uint64_t>(layout_.separate ? 1 : layout_.samples);
  if (row_bytes <= 0 || static_cast<uint64_t>(row_bytes) < (samples * static_cast<uint64_t>(layout_.bits) + 7) / 8)
    return damaged(kTiffName, "its rows have another length than its header says");
  uint8_t* const row = piece.resize(static_cast<size_t>(row_bytes));
  for (int plane = 0; plane < planes(); ++plane) {
    for (uint32_t y = 0; y < layout_.height; ++y) {
      if (watch_.is_over(samples / 64 + 1)) return costs_too_much(kTiffName, kTooMuchCpuTime);
      if (is_fax(layout_.compression)) std::memset(row, 0, static_cast<size_t>(row_bytes));  // a row may be cut short
      if (TIFFReadScanline(page_.get(), row, y, static_cast<uint16_t>(plane)) != 1 || has_faults())
        return damaged_at(y);
      put(row, 0, y, layout_.width, plane);
    }
  }
  return Done{};
}

Status Reading::read_tile(uint32_t x, uint32_t y, int plane, ByteBuffer& piece) {
  const uint64_t pixels = uint64_t{layout_.tile_width} * layout_.tile_height;
  if (watch_.is_over(pixels * static_cast<uint64_t>(layout_.separate ? 1 : layout_.samples) / 64 + 1))
    return costs_too_much(kTiffName, kTooMuchCpuTime);
  const auto bytes = static_cast<tmsize_t>(piece.size());
  const uint32_t tile = TIFFComputeTile(page_.get(), x, y, 0, static_cast<uint16_t>(plane));
  if (is_fax(layout_.compression)) std::memset(piece.data(), 0, piece.size());
  if (TIFFReadEncodedTile(page_.get(), tile, piece.data(), bytes) != bytes || has_faults()) return damaged_at(y);
  const size_t row_bytes = piece.size() / layout_.tile_height;
  const uint32_t width = std::min(layout_.tile_width, layout_.width - x);
  const uint32_t height = std::min(layout_.tile_height, layout_.height - y);
  for (uint32_t row = 0; row < height; ++row) put(piece.data() + row_bytes * row, x, y + row, width, plane);
  return Done{};
}

Status Reading::read_tiles(ByteBuffer& piece) {
  const tmsize_t bytes = TIFFTileSize(page_.get()), row_bytes = TIFFTileRowSize(page_.get());
  const uint64_t samples = uint64_t{layout_.tile_width} * static_cast<uint64_t>(layout_.separate ? 1 : layout_.samples);
  const bool is_sound = bytes > 0 && row_bytes > 0 && bytes == row_bytes * static_cast<tmsize_t>(layout_.tile_height) &&
                        static_cast<uint64_t>(row_bytes) >= (samples * static_cast<uint64_t>(layout_.bits) + 7) / 8;
  if (!is_sound) return damaged(kTiffName, "its tiles have another size than its header says");
  piece.resize(static_cast<size_t>(bytes));
  for (int plane = 0; plane < planes(); ++plane) {
    for (uint64_t y = 0; y < layout_.height; y += layout_.tile_height) {
      for (uint64_t x = 0; x < layout_.width; x += layout_.tile_width) {
        const Status read = read_tile(static_cast<uint32_t>(x), static_cast<uint32_t>(y), plane, piece);
        if (!read) return read;
      }
    }
  }
  return Done{};
}

// libtiff gives a strip, or a row of tiles, at once, and in the order in which its rows are stored.
Status Reading::read_by_library(ByteBuffer& piece) {
  char why[1024] = "";
  RgbaImage image;
  if (TIFFRGBAImageOK(page_.get(), why) != 1 || !image.begin(page_.get(), why))
    return not_decoded(kTiffName, "YCbCr colours in a form that libtiff does not convert to RGB");
  const uint32_t step = layout_.tiled ? layout_.tile_height : layout_.strip_height;
  auto* const pixels = reinterpret_cast<uint32_t*>(piece.resize(sizeof(uint32_t) * size_t{layout_.width} * step));
  for (uint32_t y = 0; y < layout_.height; y += step) {
    const uint32_t height = std::min(step, layout_.height - y);
    if (watch_.is_over(uint64_t{layout_.width} * height / 16 + 1)) return costs_too_much(kTiffName, kTooMuchCpuTime);
    if (!image.read(y, pixels, layout_.width, height)) return damaged_at(y);
    for (uint32_t row = 0; row < height; ++row) {
      if (!has_row(y + row)) continue;
      const uint32_t* from = pixels + size_t{layout_.width} * row;
      uint8_t* to = first_ + rows_.stride_bytes * (y + row - static_cast<uint32_t>(rows_.covers.y));
      for (uint32_t x = 0; x < layout_.width; ++x, ++from, to += 3) {
        to[0] = static_cast<uint8_t>(TIFFGetR(*from));
        to[1] = static_cast<uint8_t>(TIFFGetG(*from));
        to[2] = static_cast<uint8_t>(TIFFGetB(*from));
      }
    }
  }
  return Done{};
}

void Reading::convert(const Box& box) {
  const bool is_multiplied = layout_.alpha == TiffLayout::Alpha::kMultiplied;
  for (int y = 0; y < box.height; ++y) {
    uint8_t* const row = first_ + rows_.stride_bytes * static_cast<size_t>(y);
    if (is_multiplied) divide_by_alpha(rows_.format, row, layout_.width);
    if (layout_.kind == TiffKind::kCmyk) inks_to_rgba(rows_.format, wanted_.bits == 8, row, layout_.width);
    if (layout_.kind != TiffKind::kLab || layout_.has_lab_offset) continue;
    for (size_t i = 0; i < 3 * size_t{layout_.width}; ++i) row[i] ^= i % 3 == 0 ? 0 : 0x80;  // signed, as stored
  }
}

Status Reading::read(const Box& box, ByteBuffer& piece) {
  if (const Status read = read_palette(); !read) return read;
  first_ = cover({0, box.y, rows_.picture.width, box.height}, rows_);
  const Status read = layout_.kind == TiffKind::kYcbcr ? read_by_library(piece)
                      : layout_.tiled                  ? read_tiles(piece)
                                                       : read_strips(piece);
  if (read) convert(box);
  return read;
}

class TiffCodec final : public StoredCodec {
 public:
  const char* name() const override { return kTiffName; }

  Result<StoredOutline> open(std::span<const uint8_t> bytes, const Pixels& wanted) override {
    bytes_ = bytes;
    wanted_ = wanted;
    page_ = wanted.frame;
    pages_.reset();
    TiffReader page(bytes, kPieceBytesMin, page_);
    if (!page.is_open()) return no_page(page, page_);
    auto outline = outline_of(page);
    if (outline && wanted.frames > 0) {
      page.count_pages();
      outline->frames = std::max(page.pages(), uint64_t{1});
      outline->are_pages = true;
    }
    return outline;
  }

  // One reader goes through all pages, and another one only where a page needs larger pieces than the pages before.
  Result<StoredOutline> turn_to(int page) override {
    if (!pages_) open_pages(std::max(kPieceBytesMin, static_cast<int64_t>(layout_.library_bytes())), page);
    page_ = page;
    if (!pages_->turn_to(page)) return no_page(*pages_, page);
    auto outline = outline_of(*pages_);
    if (!outline) return outline;
    outline->frames = pages_->pages();
    outline->are_pages = true;
    if (static_cast<int64_t>(layout_.library_bytes()) > piece_bytes_max_) {
      open_pages(static_cast<int64_t>(layout_.library_bytes()), page);
      if (!pages_->is_open()) return no_page(*pages_, page);
    }
    return outline;
  }
  void close() override { pages_.reset(); }

  Result<ColourProfile> profile() override {
    const TiffReader page(bytes_, kPieceBytesMin, page_);
    if (!page.is_open()) return no_page(page, page_);
    uint32_t size = 0;
    void* profile = nullptr;
    if (TIFFGetField(page.get(), TIFFTAG_ICCPROFILE, &size, &profile) != 1) profile = nullptr;
    return profile_of(kTiffName, profile, size, layout_.kind == TiffKind::kGrey);
  }

  Status decode(const Box& box, CpuWatch& watch, PixelRows& rows) override {
    if (pages_) return read(*pages_, box, watch, rows);
    const TiffReader page(bytes_, std::max(kPieceBytesMin, static_cast<int64_t>(layout_.library_bytes())), page_);
    return page.is_open() ? read(page, box, watch, rows) : no_page(page, page_);
  }

 private:
  Result<StoredOutline> outline_of(const TiffReader& page) {
    const auto layout = tiff_layout_of(page, bytes_.size());
    if (!layout) return layout.error();
    layout_ = *layout;
    if (layout_.is_float() && wanted_.bits != 32)
      return Error{Trouble::kUnsupported,
                   "a TIFF with floating-point samples of 32 bits: write bits = 32 in decode-image for these"};
    if (layout_.kind == TiffKind::kLab) {
      if (const Status chosen = lab_->choose_lab(); !chosen) return chosen.error();
    }
    if (!layout_.is_float() && wanted_.bits == 32)
      return Error{Trouble::kContent,
                   "a TIFF of whole numbers, where bits = 32 of decode-image takes floating-point samples"};
    return StoredOutline{layout_.width, layout_.height, layout_.orientation, layout_.format(wanted_),
                         layout_.library_bytes()};
  }

  // A reader that is at this page, and knows how many there are.
  void open_pages(int64_t piece_bytes_max, int page) {
    piece_bytes_max_ = piece_bytes_max;
    pages_.emplace(bytes_, piece_bytes_max, page);
    if (pages_->is_open()) pages_->count_pages();
  }

  Status read(const TiffReader& page, const Box& box, CpuWatch& watch, PixelRows& rows) {
    if (layout_.compression == COMPRESSION_JPEG) TIFFSetField(page.get(), TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    page.forget_complaints();
    const Status read = Reading(page, layout_, wanted_, watch, rows).read(box, piece_);
    piece_.shrink(kMemoryKeptMax);
    if (read && layout_.kind == TiffKind::kLab) lab_->apply(rows);
    return read;
  }

  std::span<const uint8_t> bytes_;
  Pixels wanted_;
  int page_ = 0;
  std::optional<TiffReader> pages_;  // while pages are turned
  int64_t piece_bytes_max_ = 0;      // of it
  TiffLayout layout_;
  std::unique_ptr<SrgbTransforms> lab_ = make_srgb_transforms();
  ByteBuffer piece_;  // a row, or a tile
};

}  // namespace

std::unique_ptr<ImageDecoder> make_tiff_decoder(const media::DecodeLimits& limits) {
  return make_stored_decoder(std::make_unique<TiffCodec>(), limits);
}

// The library tells its version in a text of several lines: "LIBTIFF, Version 4.5.0\nCopyright ...".
std::string tiff_code() {
  const std::string text = TIFFGetVersion();
  const std::string first = text.substr(0, text.find('\n'));
  const std::string of_lab = colour_code().empty() ? "" : ", " + colour_code();
  return "libtiff " + first.substr(first.rfind(' ') + 1) + of_lab;
}

}  // namespace spdld::image
