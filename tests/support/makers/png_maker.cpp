#include "tests/support/makers/png_maker.h"

#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

namespace spdld::test {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr size_t kSignatureBytes = 8, kFrameBytes = 12;

void append_number(Bytes& bytes, uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<uint8_t>(number >> shift));
}

uint32_t number_at(const Bytes& bytes, size_t at) {
  uint32_t number = 0;
  for (size_t i = 0; i < 4; ++i) number = number << 8 | bytes[at + i];
  return number;
}

int channels_of(int colour) { return colour == 2 ? 3 : colour == 4 ? 2 : colour == 6 ? 4 : 1; }

// The samples of a picture, as numbers of `depth` bits.
class Samples {
 public:
  Samples(int width, int height, const PngOptions& options)
      : width_(width), channels_(channels_of(options.colour)), options_(options) {
    const int entries = options.palette_entries > 0 ? options.palette_entries : 1 << std::min(options.depth, 8);
    uint32_t random = options.seed * 2654435761u;
    values_.resize(static_cast<size_t>(width) * static_cast<size_t>(height) * static_cast<size_t>(channels_));
    for (size_t i = 0; i < values_.size(); ++i) {
      random = random * 1664525 + 1013904223;
      // A slope with noise: filters find something to do.
      const auto place = static_cast<uint32_t>(i / static_cast<size_t>(channels_));
      const uint32_t value = options.flat ? 1 : place * 97 + (random >> 20) % 64 * 8 + (random >> 12);
      values_[i] = options.colour == 3 ? value % static_cast<uint32_t>(entries) : value & ((1u << options.depth) - 1);
    }
    for (int i = 0; i < 3 * entries; ++i) palette_.push_back(static_cast<uint8_t>(i * 73 + 19));
  }

  uint32_t at(int x, int y, int channel) const {
    return values_[static_cast<size_t>((y * width_ + x) * channels_ + channel)];
  }
  int channels() const { return channels_; }
  const Bytes& palette() const { return palette_; }
  // The colour `c` (0 to 2) of a pixel, as 8 bits.
  uint8_t rgb(int x, int y, int c) const {
    if (options_.colour == 3) return palette_[at(x, y, 0) * 3 + static_cast<uint32_t>(c)];
    const uint32_t sample = at(x, y, channels_ >= 3 ? c : 0);
    if (options_.depth == 16) return static_cast<uint8_t>(sample >> 8);
    return static_cast<uint8_t>(sample * 255 / ((1u << options_.depth) - 1));
  }

 private:
  int width_, channels_;
  const PngOptions& options_;
  std::vector<uint32_t> values_;
  Bytes palette_;
};

struct Pass {
  int x, y, across, down;
};
const std::vector<Pass>& passes_of(bool interlaced) {
  static const std::vector<Pass> one = {{0, 0, 1, 1}};
  static const std::vector<Pass> seven = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                                          {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
  return interlaced ? seven : one;
}

// The samples of a pass's row, as PNG packs them.
Bytes packed_row(const Samples& samples, const Pass& pass, int y, int width, int depth) {
  Bytes row;
  uint32_t bits = 0;
  int held = 0;
  for (int x = pass.x; x < width; x += pass.across) {
    for (int c = 0; c < samples.channels(); ++c) {
      bits = bits << depth | samples.at(x, y, c);
      for (held += depth; held >= 8; held -= 8) row.push_back(static_cast<uint8_t>(bits >> (held - 8)));
    }
  }
  if (held > 0) row.push_back(static_cast<uint8_t>(bits << (8 - held)));
  return row;
}

uint8_t paeth(int left, int up, int corner) {
  const int estimate = left + up - corner;
  const int by_left = std::abs(estimate - left), by_up = std::abs(estimate - up);
  const int by_corner = std::abs(estimate - corner);
  if (by_left <= by_up && by_left <= by_corner) return static_cast<uint8_t>(left);
  return static_cast<uint8_t>(by_up <= by_corner ? up : corner);
}

void append_filtered(Bytes& out, const Bytes& row, const Bytes& above, size_t pixel_bytes, int filter) {
  out.push_back(static_cast<uint8_t>(filter));
  for (size_t i = 0; i < row.size(); ++i) {
    const int left = i >= pixel_bytes ? row[i - pixel_bytes] : 0, up = above.empty() ? 0 : above[i];
    const int corner = i >= pixel_bytes && !above.empty() ? above[i - pixel_bytes] : 0;
    const int guesses[] = {0, left, up, (left + up) / 2, paeth(left, up, corner)};
    out.push_back(static_cast<uint8_t>(row[i] - guesses[filter]));
  }
}

Bytes filtered(const Samples& samples, int width, int height, const PngOptions& options) {
  const auto pixel_bytes = static_cast<size_t>(std::max(1, samples.channels() * options.depth / 8));
  Bytes out;
  int turn = 0;
  for (const Pass& pass : passes_of(options.interlaced)) {
    if (pass.x >= width) continue;
    Bytes above;
    for (int y = pass.y; y < height; y += pass.down) {
      Bytes row = packed_row(samples, pass, y, width, options.depth);
      append_filtered(out, row, above, pixel_bytes, options.filter >= 0 ? options.filter : turn++ % 5);
      above = std::move(row);
    }
  }
  return out;
}

Bytes deflated(const Bytes& bytes) {
  uLongf size = compressBound(bytes.size());
  Bytes out(size);
  if (compress2(out.data(), &size, bytes.data(), bytes.size(), 9) != Z_OK) throw std::runtime_error("zlib failed");
  out.resize(size);
  return out;
}

void append(Bytes& bytes, const Bytes& more) { bytes.insert(bytes.end(), more.begin(), more.end()); }

}  // namespace

Bytes png_chunk(std::string_view type, std::span<const uint8_t> content) {
  Bytes chunk;
  append_number(chunk, static_cast<uint32_t>(content.size()));
  chunk.insert(chunk.end(), type.begin(), type.end());
  chunk.insert(chunk.end(), content.begin(), content.end());
  append_number(chunk, static_cast<uint32_t>(crc32_z(0, chunk.data() + 4, chunk.size() - 4)));
  return chunk;
}

size_t find_png_chunk(const Bytes& png, std::string_view type) {
  size_t at = kSignatureBytes;
  while (at + kFrameBytes <= png.size() &&
         !std::equal(type.begin(), type.end(), png.begin() + static_cast<ptrdiff_t>(at) + 4)) {
    at += kFrameBytes + number_at(png, at);
  }
  return std::min(at, png.size());
}

void insert_png_chunk(Bytes& png, std::string_view before, const Bytes& chunk) {
  png.insert(png.begin() + static_cast<ptrdiff_t>(find_png_chunk(png, before)), chunk.begin(), chunk.end());
}

void claim_png_size(Bytes& png, uint32_t width, uint32_t height) {
  Bytes content;
  append_number(content, width);
  append_number(content, height);
  constexpr size_t kContent = kSignatureBytes + 8, kHeaderBytes = 13;
  content.insert(content.end(), png.begin() + kContent + 8, png.begin() + kContent + kHeaderBytes);
  const Bytes header = png_chunk("IHDR", content);
  std::copy(header.begin(), header.end(), png.begin() + kSignatureBytes);
}

Bytes exif_png_chunk(int orientation, bool big_endian, bool named) {
  Bytes block;
  if (named) block = {'E', 'x', 'i', 'f', 0, 0};
  const auto value = static_cast<uint8_t>(orientation);
  append(block, big_endian ? Bytes{'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, value, 0, 0}
                           : Bytes{'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, value, 0, 0, 0});
  return png_chunk("eXIf", block);
}

MadePng make_png(int width, int height, const PngOptions& options) {
  const Samples samples(width, height, options);
  MadePng made;
  made.bytes = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  Bytes header;
  append_number(header, static_cast<uint32_t>(width));
  append_number(header, static_cast<uint32_t>(height));
  append(header, {static_cast<uint8_t>(options.depth), static_cast<uint8_t>(options.colour), 0, 0,
                  static_cast<uint8_t>(options.interlaced)});
  append(made.bytes, png_chunk("IHDR", header));
  if (options.colour == 3) append(made.bytes, png_chunk("PLTE", samples.palette()));
  const Bytes coded = deflated(filtered(samples, width, height, options));
  const size_t part = options.data_bytes_max == 0 ? coded.size() : options.data_bytes_max;
  for (size_t at = 0; at < coded.size(); at += part) {
    append(made.bytes, png_chunk("IDAT", std::span(coded).subspan(at, std::min(part, coded.size() - at))));
  }
  append(made.bytes, png_chunk("IEND", {}));
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      made.first_samples.push_back(static_cast<int>(samples.at(x, y, 0)));
      for (int c = 0; c < 3; ++c) made.rgb.push_back(samples.rgb(x, y, c));
    }
  }
  return made;
}

}  // namespace spdld::test
