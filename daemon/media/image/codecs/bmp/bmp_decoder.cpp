#include <cstring>
#include <string>

#include "daemon/media/image/codecs/bmp/header.h"
#include "daemon/media/image/codecs/bmp/run_lengths.h"
#include "daemon/media/image/codecs/stored_codec.h"

namespace spdld::image {
namespace {

constexpr int kBmpCodeVersion = 2;

// The palette's number of a pixel in a row. Numbers of fewer than 8 bits begin at a byte's highest bit.
uint8_t palette_number(const uint8_t* row, int bits, size_t x) {
  if (bits == 8) return row[x];
  const size_t in_byte = 8 / static_cast<size_t>(bits);
  const size_t shift = 8 - static_cast<size_t>(bits) * (x % in_byte + 1);
  return static_cast<uint8_t>(row[x / in_byte] >> shift & ((1u << bits) - 1));
}

uint32_t pixel_at(const uint8_t* row, int bits, size_t x) {
  if (bits == 16) return uint32_t{row[2 * x]} | uint32_t{row[2 * x + 1]} << 8;
  const uint8_t* at = row + 4 * x;
  return uint32_t{at[0]} | uint32_t{at[1]} << 8 | uint32_t{at[2]} << 16 | uint32_t{at[3]} << 24;
}

void convert_colours(const BmpHeader& header, const uint8_t* row, int channels, uint8_t* out) {
  for (size_t x = 0; x < header.width; ++x, out += channels) {
    const uint32_t pixel = pixel_at(row, header.bits, x);
    for (int c = 0; c < channels; ++c) out[c] = header.masks[static_cast<size_t>(c)].of(pixel);
  }
}

// The stored order is blue, green, red.
void turn_colours(const uint8_t* row, size_t width, uint8_t* out) {
  for (size_t x = 0; x < width; ++x, row += 3, out += 3) {
    out[0] = row[2];
    out[1] = row[1];
    out[2] = row[0];
  }
}

void look_up(const BmpHeader& header, const uint8_t* row, int bits, uint8_t* out) {
  for (size_t x = 0; x < header.width; ++x, out += 3)
    std::memcpy(out, header.palette[palette_number(row, bits, x)].data(), 3);
}

class BmpCodec final : public StoredCodec {
 public:
  const char* name() const override { return kBmpName; }
  Result<StoredOutline> open(std::span<const uint8_t> bytes, const Pixels& wanted) override {
    const auto header = bmp_header_of(bytes);
    if (!header) return header.error();
    header_ = *header;
    const bool gives_alpha = header_.has_alpha() && wanted.colours == Colours::kRgba;
    const uint64_t numbers = header_.run_length ? uint64_t{header_.width} * header_.height : 0;
    return StoredOutline{header_.width, header_.height, 1, PixelFormat{gives_alpha ? 4 : 3, 1}, numbers};
  }
  Status decode(const Box& box, CpuWatch& watch, PixelRows& rows) override;

 private:
  const uint8_t* stored_row(uint32_t y) const {
    const uint32_t place = header_.top_down ? y : header_.height - 1 - y;
    return header_.pixels.data() + header_.row_bytes() * place;
  }

  BmpHeader header_;
  ByteBuffer numbers_;  // of a palette, where they were coded
};

// Rows that are not coded are all there, and none of them can be damaged: only the wanted ones are read.
Status BmpCodec::decode(const Box& box, CpuWatch& watch, PixelRows& rows) {
  uint8_t* out = cover({0, box.y, rows.picture.width, box.height}, rows);
  const auto top = static_cast<uint32_t>(box.y), bottom = top + static_cast<uint32_t>(box.height);
  if (header_.run_length) {
    uint8_t* const numbers = numbers_.resize(size_t{bottom - top} * header_.width);
    const Status decoded = decode_run_lengths(header_, top, bottom, watch, numbers);
    for (uint32_t y = 0; decoded && y < bottom - top; ++y, out += rows.stride_bytes)
      look_up(header_, numbers + size_t{y} * header_.width, 8, out);
    numbers_.shrink(kMemoryKeptMax);
    return decoded;
  }
  for (uint32_t y = top; y < bottom; ++y, out += rows.stride_bytes) {
    if (watch.is_over(header_.width / 64 + 1)) return costs_too_much(kBmpName, kTooMuchCpuTime);
    const uint8_t* const row = stored_row(y);
    if (header_.bits <= 8)
      look_up(header_, row, header_.bits, out);
    else if (header_.bits == 24)
      turn_colours(row, header_.width, out);
    else
      convert_colours(header_, row, rows.format.channels, out);
  }
  return Done{};
}

}  // namespace

std::unique_ptr<ImageDecoder> make_bmp_decoder(const media::DecodeLimits& limits) {
  return make_stored_decoder(std::make_unique<BmpCodec>(), limits);
}

std::string bmp_code() { return "BMP " + std::to_string(kBmpCodeVersion); }

}  // namespace spdld::image
