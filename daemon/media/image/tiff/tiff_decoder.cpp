#include <algorithm>
#include <optional>
#include <string>

#include "daemon/media/image/stored_codec.h"
#include "daemon/media/image/tiff/layout.h"
#include "daemon/media/image/tiff/reader.h"
#include "daemon/media/image/tiff/samples.h"

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

// One decoding: the rows that are wanted, and how the stored samples come to them.
class Reading {
 public:
  Reading(const TiffReader& page, const TiffLayout& layout, CpuWatch& watch, PixelRows& rows)
      : page_(page), layout_(layout), watch_(watch), rows_(rows), places_(sample_places(layout, rows.format)) {}

  Status read(const Box& box, ByteBuffer& piece);

 private:
  Status read_palette();
  Status read_strips(ByteBuffer& piece);
  Status read_tiles(ByteBuffer& piece);
  Status read_tile(uint32_t x, uint32_t y, int plane, ByteBuffer& piece);
  // Puts a stored row, or a tile's part of one, into the rows where they have it.
  void put(const uint8_t* samples, uint32_t x, uint32_t y, uint32_t width, int plane);
  bool has_row(uint32_t y) const {
    return y >= static_cast<uint32_t>(rows_.covers.y) &&
           y < static_cast<uint32_t>(rows_.covers.y + rows_.covers.height);
  }
  int planes() const { return layout_.separate ? layout_.samples : 1; }
  static Error damaged_at(uint32_t y) {
    return damaged(kTiffName, "libtiff can't decode its pixels from row " + std::to_string(y) + " on");
  }

  const TiffReader& page_;
  const TiffLayout& layout_;
  CpuWatch& watch_;
  PixelRows& rows_;
  std::vector<SamplePlace> places_;
  TiffPalette palette_;
  uint8_t* first_ = nullptr;
};

// Entries that a palette lacks are black.
Status Reading::read_palette() {
  if (layout_.kind != TiffLayout::Kind::kPalette) return Done{};
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
      if (TIFFReadScanline(page_.get(), row, y, static_cast<uint16_t>(plane)) != 1) return damaged_at(y);
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
  if (TIFFReadEncodedTile(page_.get(), tile, piece.data(), bytes) != bytes) return damaged_at(y);
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

Status Reading::read(const Box& box, ByteBuffer& piece) {
  if (const Status read = read_palette(); !read) return read;
  first_ = cover({0, box.y, rows_.picture.width, box.height}, rows_);
  if (const Status read = layout_.tiled ? read_tiles(piece) : read_strips(piece); !read) return read;
  if (layout_.alpha != TiffLayout::Alpha::kMultiplied) return Done{};
  for (int y = 0; y < box.height; ++y)
    divide_by_alpha(rows_.format, first_ + rows_.stride_bytes * static_cast<size_t>(y), layout_.width);
  return Done{};
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
    return profile_of(kTiffName, profile, size, layout_.kind == TiffLayout::Kind::kGrey);
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
    const Status read = Reading(page, layout_, watch, rows).read(box, piece_);
    piece_.shrink(kMemoryKeptMax);
    return read;
  }

  std::span<const uint8_t> bytes_;
  Pixels wanted_;
  int page_ = 0;
  std::optional<TiffReader> pages_;  // while pages are turned
  int64_t piece_bytes_max_ = 0;      // of it
  TiffLayout layout_;
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
  return "libtiff " + first.substr(first.rfind(' ') + 1);
}

}  // namespace spdld::image
