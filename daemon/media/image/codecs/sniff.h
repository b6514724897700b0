// Tells the formats that are decoded by their first bytes, and guesses any other format, for the sentence that refuses
// it. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "daemon/base/result.h"

namespace spdld::image {

bool begins_like_jpeg(std::span<const uint8_t> bytes);
bool begins_like_png(std::span<const uint8_t> bytes);
bool begins_like_webp(std::span<const uint8_t> bytes);
bool begins_like_tiff(std::span<const uint8_t> bytes);
bool begins_like_bmp(std::span<const uint8_t> bytes);
bool begins_like_gif(std::span<const uint8_t> bytes);
bool begins_like_avif(std::span<const uint8_t> bytes);
bool begins_like_jpeg2000(std::span<const uint8_t> bytes);  // a bare codestream, or boxes
bool begins_like_heif(std::span<const uint8_t> bytes);      // that is no AVIF
bool begins_like_jxl(std::span<const uint8_t> bytes);       // a bare codestream, or boxes

// The error for a picture that seems sound, but is of a format that this build does not decode (kUnsupported): "a GIF
// picture: this build decodes ...".
Error unsupported(const std::string& what);

// kUnsupported for pictures of other formats, kContent for bytes that are no picture. Precondition: the bytes begin
// like no format that is decoded.
Error refusal_of(std::span<const uint8_t> bytes);

}  // namespace spdld::image
