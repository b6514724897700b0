// What bytes that are no JPEG seem to be, for the sentence that refuses them. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace spdld::decode {

bool begins_like_jpeg(std::span<const uint8_t> bytes);

// One sentence: "not a JPEG but a PNG picture: ...". Precondition: !begins_like_jpeg(bytes).
std::string refusal_of(std::span<const uint8_t> bytes);

}  // namespace spdld::decode
