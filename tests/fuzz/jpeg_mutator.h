// Changes of JPEGs that know their segments, so that most changed ones are still read far into: what libFuzzer does to
// bytes blindly ends most often at a wrong length or a wrong table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace spdld::fuzz {

using Bytes = std::vector<uint8_t>;

// A marker with its segment, or coded data.
struct JpegPart {
  static constexpr uint8_t kCoded = 0, kStart = 0xD8;
  uint8_t marker = kCoded;
  Bytes content;  // without marker and length
};
using JpegParts = std::vector<JpegPart>;

// Any bytes; what is no segment counts as coded data. join() writes the lengths anew.
JpegParts split_jpeg(std::span<const uint8_t> bytes);
Bytes join_jpeg(const JpegParts& parts);

// Changes one thing: a part's place, a code, a step, a side, a sampling factor, a scan's components, a restart marker,
// or coded data.
void change_jpeg(JpegParts& parts, std::mt19937& random);
// Puts a part of the other picture in the place of one, or behind it.
void cross_jpegs(JpegParts& parts, const JpegParts& other, std::mt19937& random);

}  // namespace spdld::fuzz
