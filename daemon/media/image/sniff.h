// Guesses the format of bytes that are no JPEG, for the sentence that refuses them. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "daemon/base/result.h"

namespace spdld::image {

bool begins_like_jpeg(std::span<const uint8_t> bytes);

// The error for a picture that seems sound, but is of a format that this build does not decode (kUnsupported): "a PNG
// picture: this build decodes ...".
Error unsupported(const std::string& what);

// kUnsupported for pictures of other formats, kContent for bytes that are no picture. Precondition:
// !begins_like_jpeg(bytes).
Error refusal_of(std::span<const uint8_t> bytes);

}  // namespace spdld::image
