#include "daemon/media/image/codecs/png/notes.h"

#include <zlib.h>

#include <algorithm>
#include <vector>

#include "daemon/media/image/codecs/tiff.h"
#include "proto/hex.h"

namespace spdld::image {
namespace {

using namespace std::string_view_literals;

using Bytes = std::span<const uint8_t>;

constexpr auto kProfileKey = "Raw profile type exif\0"sv, kXmpKey = "XML:com.adobe.xmp\0"sv;
// Of an inflated text. EXIF has at most 64 KiB, and hexadecimal digits make twice as many.
constexpr size_t kTextBytesMax = size_t{256} << 10;

bool has_key(const PngChunk& chunk, std::string_view key) {
  const auto type = chunk.type();
  if (type != "tEXt"sv && type != "zTXt"sv && type != "iTXt"sv) return false;
  const Bytes content = chunk.content();
  return std::string_view(reinterpret_cast<const char*>(content.data()), content.size()).starts_with(key);
}

// As much of a zlib stream as is sound, up to kTextBytesMax.
std::vector<uint8_t> inflated(Bytes coded) {
  z_stream stream{};
  stream.next_in = const_cast<Bytef*>(coded.data());
  stream.avail_in = static_cast<uInt>(std::min<size_t>(coded.size(), kTextBytesMax));
  if (inflateInit(&stream) != Z_OK) return {};
  std::vector<uint8_t> text(std::min(kTextBytesMax, coded.size() * 1032));
  stream.next_out = text.data();
  stream.avail_out = static_cast<uInt>(text.size());
  inflate(&stream, Z_SYNC_FLUSH);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return text;
}

Bytes behind_zero(Bytes bytes) {
  const auto zero = std::find(bytes.begin(), bytes.end(), 0);
  return zero == bytes.end() ? Bytes() : Bytes(zero + 1, bytes.end());
}

// The text of a chunk with this key; `memory` has it where the chunk is compressed.
Bytes text_of(const PngChunk& chunk, std::string_view key, std::vector<uint8_t>& memory) {
  Bytes content = chunk.content().subspan(key.size());
  bool is_compressed = chunk.type() == "zTXt"sv;
  const size_t flags = chunk.type() == "iTXt"sv ? 2 : is_compressed ? 1 : 0;
  if (content.size() < flags) return {};
  if (chunk.type() == "iTXt"sv) is_compressed = content[0] != 0;
  content = content.subspan(flags);
  if (chunk.type() == "iTXt"sv) content = behind_zero(behind_zero(content));  // the language, and the key in it
  if (!is_compressed) return content;
  memory = inflated(content);
  return memory;
}

// Three lines (an empty one, a name, and a length) stand before the digits, which have ends of lines among them.
std::vector<uint8_t> bytes_of_digits(Bytes text) {
  for (int line = 0; line < 3; ++line) {
    const auto end = std::find(text.begin(), text.end(), '\n');
    text = end == text.end() ? Bytes() : Bytes(end + 1, text.end());
  }
  std::vector<uint8_t> bytes;
  int first = -1;
  for (const uint8_t c : text) {
    if (c == '\n' || c == '\r' || c == ' ' || c == '\t') continue;
    const int digit = hex_digit(static_cast<char>(c));
    if (digit < 0) break;
    if (first >= 0) bytes.push_back(static_cast<uint8_t>(first << 4 | digit));
    first = first >= 0 ? -1 : digit;
  }
  return bytes;
}

}  // namespace

void PngNotes::take(const PngChunk& chunk) {
  if (chunk.type() == "eXIf"sv)
    exif_ = chunk;
  else if (has_key(chunk, kProfileKey))
    profile_ = chunk;
  else if (has_key(chunk, kXmpKey))
    xmp_ = chunk;
}

int PngNotes::orientation() const {
  std::vector<uint8_t> text, block;
  Bytes tiff, xmp;
  if (exif_) {
    if (exif_->is_sound()) tiff = exif_->content();
  } else if (profile_ && profile_->is_sound()) {
    block = bytes_of_digits(text_of(*profile_, kProfileKey, text));
    tiff = block;
  }
  std::vector<uint8_t> memory;
  if (xmp_ && xmp_->is_sound()) xmp = text_of(*xmp_, kXmpKey, memory);
  return picture_orientation(behind_exif_names(tiff), xmp);
}

}  // namespace spdld::image
