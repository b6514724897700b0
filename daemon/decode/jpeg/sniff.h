// What bytes that are no JPEG seem to be, for the sentence that refuses them. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "daemon/base/result.h"

namespace spdld::decode {

bool begins_like_jpeg(std::span<const uint8_t> bytes);

// The error of a picture that is sound, for all one knows, and of a format that this build does not decode
// (kUnsupported): "a PNG picture: this build decodes ...".
Error unsupported(const std::string& what);

// kUnsupported for the pictures of other formats, kContent for what is no picture. Precondition:
// !begins_like_jpeg(bytes).
Error refusal_of(std::span<const uint8_t> bytes);

}  // namespace spdld::decode
