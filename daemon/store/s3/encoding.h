// Percent-encoding of keys and query parameters, exactly as S3's signature wants it. Source: "UriEncode()" in
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace spdld::store::s3 {

// Appends the text with every byte but A-Z a-z 0-9 - . _ ~ as %XX. The second one leaves '/' as it is,
// for paths. No part of a path is normalised: "a//b" and "a/../b" are keys as they are.
void append_encoded(std::string& out, std::string_view text);
void append_encoded_path(std::string& out, std::string_view path);

// Turns "%XX" into bytes and '+' into a blank, in place, as a listing with encoding-type=url needs it. Returns the new
// size; SIZE_MAX where a '%' has no two hexadecimal digits after it.
size_t decode_in_place(char* text, size_t size, bool plus_is_blank = true);

}  // namespace spdld::store::s3
