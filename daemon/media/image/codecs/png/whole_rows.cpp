#include "daemon/media/image/codecs/png/whole_rows.h"

#include <cstring>
#include <optional>
#include <string_view>

#include "daemon/media/image/codecs/png/chunk.h"
#include "daemon/media/image/codecs/png/unfilter.h"

namespace spdld::image {
namespace {

using namespace std::string_view_literals;

bool is_wanted_as_stored(const PngHeader& header, const PngReading& reading) {
  constexpr uint8_t kGrey = 0, kRgb = 2, kRgba = 6;
  if (header.depth != 8 || header.interlaced || reading.packed_bits != 0) return false;
  return (header.colour == kRgb && reading.format == SPNG_FMT_RGB8) ||
         (header.colour == kRgba && reading.format == SPNG_FMT_RGBA8) ||
         (header.colour == kGrey && (reading.format == SPNG_FMT_G8 || reading.format == SPNG_FMT_PNG));
}

// The bytes of the coded data of a picture whose critical chunks are sound, and are one header, the data and the end;
// none: it has others, or one that decides pixels.
std::optional<size_t> coded_bytes_of(std::span<const uint8_t> png, bool with_transparency) {
  size_t bytes = 0;
  bool has_header = false;
  auto rest = png.subspan(kPngSignature.size());
  for (auto chunk = first_chunk(rest); chunk; chunk = first_chunk(rest)) {
    rest = rest.subspan(chunk->whole.size());
    const auto type = chunk->type();
    if (with_transparency && type == "tRNS"sv) return std::nullopt;
    if (!chunk->is_critical()) continue;
    if (!chunk->is_sound()) return std::nullopt;
    const size_t size = chunk->content().size();
    if (type == "IEND"sv) return size == 0 ? std::optional(bytes) : std::nullopt;
    const bool is_header = type == "IHDR"sv && !has_header, is_data = type == "IDAT"sv && size > 0;
    if (!is_header && !is_data) return std::nullopt;
    has_header = true;
    if (is_data) bytes += size;
  }
  return std::nullopt;
}

}  // namespace

// The content of all IDAT chunks, as it lies in one of them or side by side in the arena; nothing: there is no memory.
std::span<const uint8_t> WholeRows::gather(std::span<const uint8_t> png, size_t coded_bytes, Arena& arena) {
  uint8_t* gathered = nullptr;
  size_t at = 0;
  auto rest = png.subspan(kPngSignature.size());
  for (auto chunk = first_chunk(rest); chunk; chunk = first_chunk(rest)) {
    rest = rest.subspan(chunk->whole.size());
    if (chunk->type() != "IDAT"sv) continue;
    const auto content = chunk->content();
    if (content.size() == coded_bytes) return content;
    if (gathered == nullptr) gathered = static_cast<uint8_t*>(arena.take(coded_bytes));
    if (gathered == nullptr) return {};
    std::memcpy(gathered + at, content.data(), content.size());
    at += content.size();
    if (at == coded_bytes) return {gathered, coded_bytes};
  }
  return {};
}

bool WholeRows::start(std::span<const uint8_t> png, const PngHeader& header, const PngReading& reading,
                      size_t spare_bytes, Arena& arena) {
  stop();
  const uint64_t inflated = header.inflated_bytes();
  if (!is_wanted_as_stored(header, reading) || inflated > kInflatedMax) return false;
  const auto coded_bytes = coded_bytes_of(png, reading.has_transparency);
  row_bytes_ = header.row_bytes(header.width);
  const size_t zeroes = row_bytes_ + kUnfilterSlack, rows = inflated + kUnfilterSlack;
  if (!coded_bytes || arena.room() < *coded_bytes + rows + zeroes + spare_bytes + 4 * Arena::kAlignment) return false;
  const auto coded = gather(png, *coded_bytes, arena);
  rows_ = static_cast<uint8_t*>(arena.take(rows));
  auto* const none = static_cast<uint8_t*>(arena.take(zeroes));
  if (coded.empty() || rows_ == nullptr || none == nullptr) return false;
  if (!inflater_.run(coded, {rows_, inflated})) return false;
  zeroes_ = none;
  std::memset(none, 0, zeroes);
  std::memset(rows_ + inflated, 0, kUnfilterSlack);
  pixel_bytes_ = reading.pixels.pixel_bytes();
  height_ = header.height;
  next_ = 0;
  if (!has_known_filters()) stop();
  return height_ > 0;
}

bool WholeRows::has_known_filters() const {
  for (uint32_t row = 0; row < height_; ++row)
    if (*filtered(row) > kFiltersMax) return false;
  return true;
}

void WholeRows::read_row(uint8_t* row) {
  uint8_t* const own = filtered(next_);
  const uint8_t* const above = next_ == 0 ? zeroes_ : filtered(next_ - 1) + 1;
  unfilter_row(own[0], pixel_bytes_, row_bytes_, above, own + 1);
  std::memcpy(row, own + 1, row_bytes_);
  ++next_;
}

}  // namespace spdld::image
