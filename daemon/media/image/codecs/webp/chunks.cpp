#include "daemon/media/image/codecs/webp/chunks.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "daemon/base/formats/little_endian.h"
#include "daemon/media/image/codecs/stored_codec.h"
#include "daemon/media/image/codecs/tiff.h"

namespace spdld::image {
namespace {

using namespace std::string_view_literals;

constexpr size_t kRiffHeaderBytes = 12, kChunkHeaderBytes = 8, kCanvasBytes = 10, kFrameHeaderBytes = 16;
constexpr char kWebp[] = "a WebP";

struct Chunk {
  std::span<const uint8_t> whole;  // with its header, without the byte that fills it up to an even length

  std::string_view type() const { return {reinterpret_cast<const char*>(whole.data()), 4}; }
  std::span<const uint8_t> content() const { return whole.subspan(kChunkHeaderBytes); }
  // The rest of `bytes`, which begin with this chunk.
  std::span<const uint8_t> behind(std::span<const uint8_t> bytes) const {
    return bytes.subspan(std::min(bytes.size(), whole.size() + whole.size() % 2));
  }
};

// The chunk that `bytes` begin with; none: it is not all there.
std::optional<Chunk> first_chunk(std::span<const uint8_t> bytes) {
  if (bytes.size() < kChunkHeaderBytes) return std::nullopt;
  const size_t length = little_endian(bytes, 4, 4);
  if (length > bytes.size() - kChunkHeaderBytes) return std::nullopt;
  return Chunk{bytes.first(kChunkHeaderBytes + length)};
}

bool is_picture(const Chunk& chunk) { return chunk.type() == "VP8 "sv || chunk.type() == "VP8L"sv; }

// The size in the picture's own header (RFC 6386, 9.1; "WebP Lossless Bitstream Specification", 3), and whether it has
// alpha.
Status read_picture_header(const Chunk& chunk, WebpOutline& outline) {
  const auto content = chunk.content();
  outline.lossless = chunk.type() == "VP8L"sv;
  outline.has_alpha = outline.has_alpha_plane && !outline.lossless;
  if (outline.lossless) {
    if (content.size() < 5 || content[0] != 0x2F) return damaged(kWebp, "its picture has no header");
    const uint32_t bits = little_endian(content, 1, 4);
    outline.frame.width = static_cast<int>((bits & 0x3FFF) + 1);
    outline.frame.height = static_cast<int>((bits >> 14 & 0x3FFF) + 1);
    outline.has_alpha = (bits >> 28 & 1) != 0;
    return Done{};
  }
  const bool has_start = content.size() >= 10 && content[3] == 0x9D && content[4] == 0x01 && content[5] == 0x2A;
  if (!has_start || (content[0] & 1) != 0) return damaged(kWebp, "its picture has no header");
  outline.frame.width = static_cast<int>(little_endian(content, 6, 2) & 0x3FFF);
  outline.frame.height = static_cast<int>(little_endian(content, 8, 2) & 0x3FFF);
  if (outline.frame.width == 0 || outline.frame.height == 0) return damaged(kWebp, "its header claims no pixels");
  return Done{};
}

// Finds the picture in the chunks of a file or of a frame. `bytes` begin with the chunk `first`.
Status find_picture(std::span<const uint8_t> bytes, WebpOutline& outline) {
  std::span<const uint8_t> from;  // the alpha plane
  while (!bytes.empty()) {
    const auto chunk = first_chunk(bytes);
    if (!chunk) return cut_off(kWebp);
    if (chunk->type() == "ALPH"sv && from.empty()) {
      from = bytes;
      outline.has_alpha_plane = true;
    } else if (is_picture(*chunk)) {
      const auto start = from.empty() ? bytes : from;
      const auto end = bytes.data() + chunk->whole.size();
      outline.coded = start.first(static_cast<size_t>(end - start.data()));
      return read_picture_header(*chunk, outline);
    }
    bytes = chunk->behind(bytes);
  }
  return damaged(kWebp, "it has no picture");
}

// The first frame of an animation: its place on the canvas, and its picture.
Status read_frame(const Chunk& chunk, WebpOutline& outline) {
  const auto content = chunk.content();
  if (content.size() < kFrameHeaderBytes) return damaged(kWebp, "a frame has no header");
  const Size claimed{static_cast<int>(little_endian(content, 6, 3) + 1),
                     static_cast<int>(little_endian(content, 9, 3) + 1)};
  if (const Status found = find_picture(content.subspan(kFrameHeaderBytes), outline); !found) return found;
  outline.frame.x = static_cast<int>(2 * little_endian(content, 0, 3));
  outline.frame.y = static_cast<int>(2 * little_endian(content, 3, 3));
  const Box& frame = outline.frame;
  const bool fits = frame.width == claimed.width && frame.height == claimed.height &&
                    uint32_t(frame.x) + uint32_t(frame.width) <= outline.width &&
                    uint32_t(frame.y) + uint32_t(frame.height) <= outline.height;
  if (!fits) return damaged(kWebp, "its first frame does not fit into the picture");
  return Done{};
}

// The chunks behind a VP8X chunk, up to the end. The picture's EXIF may stand behind it. Chunks that the header
// does not tell of do not count, as in libwebp.
Status read_extended(const Chunk& canvas, std::span<const uint8_t> bytes, WebpOutline& outline) {
  constexpr uint8_t kAnimated = 0x02, kXmp = 0x04, kExif = 0x08, kAlpha = 0x10, kProfile = 0x20;
  const auto content = canvas.content();
  if (content.size() < kCanvasBytes) return damaged(kWebp, "its header is too short");
  outline.width = little_endian(content, 4, 3) + 1;
  outline.height = little_endian(content, 7, 3) + 1;
  const auto has = [&](uint8_t flag) { return (content[0] & flag) != 0; };
  const bool animated = has(kAnimated);
  outline.canvas_has_alpha = has(kAlpha);
  if (animated) outline.frames = 0;
  std::span<const uint8_t> exif, xmp;  // of several chunks the first one that holds something
  for (auto rest = bytes; !rest.empty();) {
    const auto chunk = first_chunk(rest);
    if (!chunk) return cut_off(kWebp);
    const bool is_frame = animated && chunk->type() == "ANMF"sv;
    outline.frames += is_frame ? 1 : 0;
    if (is_frame && outline.coded.empty()) {
      if (const Status read = read_frame(*chunk, outline); !read) return read;
    }
    if (has(kExif) && chunk->type() == "EXIF"sv && exif.empty()) exif = behind_exif_names(chunk->content());
    if (has(kXmp) && chunk->type() == "XMP "sv && xmp.empty()) xmp = chunk->content();
    if (has(kProfile) && chunk->type() == "ICCP"sv && outline.profile.empty()) outline.profile = chunk->content();
    rest = chunk->behind(rest);
  }
  outline.orientation = picture_orientation(exif, xmp);
  if (animated) {
    if (outline.coded.empty()) return damaged(kWebp, "it is an animation without frames");
    return Done{};
  }
  if (const Status found = find_picture(bytes, outline); !found) return found;
  if (static_cast<uint32_t>(outline.frame.width) != outline.width ||
      static_cast<uint32_t>(outline.frame.height) != outline.height)
    return damaged(kWebp, "its picture has another size than its header claims");
  return Done{};
}

}  // namespace

Result<WebpOutline> webp_outline_of(std::span<const uint8_t> webp) {
  if (webp.size() < kRiffHeaderBytes + kChunkHeaderBytes) return cut_off(kWebp);
  const size_t length = little_endian(webp, 4, 4);
  if (length > webp.size() - kChunkHeaderBytes) return cut_off(kWebp);
  if (length < kRiffHeaderBytes) return damaged(kWebp, "its length is too small");
  const auto chunks = webp.first(length + kChunkHeaderBytes).subspan(kRiffHeaderBytes);
  const auto first = first_chunk(chunks);
  if (!first) return cut_off(kWebp);
  WebpOutline outline;
  outline.file = webp.first(length + kChunkHeaderBytes);
  if (first->type() == "VP8X"sv) {
    if (const Status read = read_extended(*first, first->behind(chunks), outline); !read) return read.error();
    return outline;
  }
  if (!is_picture(*first)) return damaged(kWebp, "it does not begin with a picture");
  if (const Status found = find_picture(chunks, outline); !found) return found.error();
  outline.width = static_cast<uint32_t>(outline.frame.width);
  outline.height = static_cast<uint32_t>(outline.frame.height);
  return outline;
}

}  // namespace spdld::image
