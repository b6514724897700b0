#include "daemon/media/image/codecs/sniff.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace spdld::image {
namespace {

using namespace std::string_view_literals;

struct Signature {
  size_t at;
  std::string_view bytes;
  std::string_view name;
  bool is_picture = true;
};

constexpr std::array kSignatures = {
    Signature{4, "ftyp"sv, "an MP4 file", false},           Signature{0, "8BPS"sv, "a Photoshop picture"},
    Signature{0, "v/1\x01"sv, "an OpenEXR picture"},        Signature{0, "%PDF"sv, "a PDF document", false},
    Signature{0, "\x1F\x8B"sv, "a gzip file", false},       Signature{0, "PK\x03\x04"sv, "a ZIP archive", false},
    Signature{0, "<"sv, "an HTML, XML or SVG text", false},
};

bool is_text(std::string_view head) {
  return std::all_of(head.begin(), head.end(), [](char c) {
    const auto byte = static_cast<uint8_t>(c);
    return (byte >= 0x20 && byte != 0x7F) || byte == '\n' || byte == '\r' || byte == '\t';
  });
}

bool has_at(std::span<const uint8_t> bytes, size_t at, std::string_view text) {
  return bytes.size() >= at + text.size() &&
         std::equal(text.begin(), text.end(), bytes.begin() + static_cast<ptrdiff_t>(at),
                    [](char c, uint8_t byte) { return static_cast<uint8_t>(c) == byte; });
}

}  // namespace

bool begins_like_jpeg(std::span<const uint8_t> bytes) {
  return bytes.size() >= 3 && bytes[0] == 0xFF && bytes[1] == 0xD8 && bytes[2] == 0xFF;
}

bool begins_like_png(std::span<const uint8_t> bytes) {
  return bytes.size() >= 4 && bytes[0] == 0x89 && bytes[1] == 'P' && bytes[2] == 'N' && bytes[3] == 'G';
}

bool begins_like_webp(std::span<const uint8_t> bytes) {
  return has_at(bytes, 0, "RIFF"sv) && has_at(bytes, 8, "WEBP"sv);
}

bool begins_like_tiff(std::span<const uint8_t> bytes) {
  return has_at(bytes, 0, "II*\0"sv) || has_at(bytes, 0, "MM\0*"sv) || has_at(bytes, 0, "II+\0"sv) ||
         has_at(bytes, 0, "MM\0+"sv);
}

// Texts may begin with these two letters, so that the length of the second header counts as well.
bool begins_like_bmp(std::span<const uint8_t> bytes) {
  constexpr std::array<uint8_t, 7> kHeaderBytes = {12, 40, 52, 56, 64, 108, 124};
  return has_at(bytes, 0, "BM"sv) && has_at(bytes, 15, "\0\0\0"sv) &&
         std::find(kHeaderBytes.begin(), kHeaderBytes.end(), bytes[14]) != kHeaderBytes.end();
}

bool begins_like_gif(std::span<const uint8_t> bytes) {
  return has_at(bytes, 0, "GIF87a"sv) || has_at(bytes, 0, "GIF89a"sv);
}

// A file of a more general kind may say among its brands that it is an AVIF, too.
bool begins_like_avif(std::span<const uint8_t> bytes) {
  constexpr size_t kBrandsAt = 16, kBrandsEnd = 64, kBrandBytes = 4;
  if (has_at(bytes, 4, "ftypavif"sv) || has_at(bytes, 4, "ftypavis"sv)) return true;
  if (!has_at(bytes, 4, "ftypmif1"sv) && !has_at(bytes, 4, "ftypmsf1"sv)) return false;
  const size_t end = std::min<size_t>(kBrandsEnd, bytes[2] == 0 ? bytes[3] : kBrandsEnd);
  for (size_t at = kBrandsAt; at + kBrandBytes <= end; at += kBrandBytes) {
    if (has_at(bytes, at, "avif"sv)) return true;
  }
  return false;
}

bool begins_like_heif(std::span<const uint8_t> bytes) {
  constexpr std::array kBrands = {"ftyphei"sv, "ftyphev"sv, "ftypmif1"sv, "ftypmsf1"sv};
  return std::any_of(kBrands.begin(), kBrands.end(), [&](std::string_view brand) { return has_at(bytes, 4, brand); }) &&
         !begins_like_avif(bytes);
}

bool begins_like_jxl(std::span<const uint8_t> bytes) {
  return has_at(bytes, 0, "\xFF\x0A"sv) || has_at(bytes, 0, "\0\0\0\x0CJXL \r\n\x87\n"sv);
}

bool begins_like_jpeg2000(std::span<const uint8_t> bytes) {
  return has_at(bytes, 0, "\xFF\x4F\xFF\x51"sv) || has_at(bytes, 0, "\0\0\0\x0CjP  \r\n\x87\n"sv);
}

Error unsupported(const std::string& what) {
  return {Trouble::kUnsupported,
          what +
              ": this build decodes JPEG (8 bits, sequential or progressive), PNG, WebP, TIFF, BMP, GIF, AVIF, "
              "JPEG XL, JPEG 2000 and HEIC"};
}

Error refusal_of(std::span<const uint8_t> bytes) {
  const auto no_picture = [](std::string what) { return Error{Trouble::kContent, std::move(what)}; };
  if (bytes.empty()) return no_picture("no picture: it is empty");
  const std::string_view head(reinterpret_cast<const char*>(bytes.data()), std::min<size_t>(bytes.size(), 256));
  for (const Signature& signature : kSignatures) {
    if (head.size() >= signature.at && head.substr(signature.at).starts_with(signature.bytes)) {
      const std::string name(signature.name);
      return signature.is_picture ? unsupported(name) : no_picture("no picture but " + name);
    }
  }
  if (is_text(head)) return no_picture("no picture but text");
  if (std::all_of(head.begin(), head.end(), [](char c) { return c == 0; })) {
    return no_picture("no picture: it begins with zeros, as a file does that was never written out");
  }
  return no_picture("no picture: it begins like none that is known");
}

}  // namespace spdld::image
