#include "daemon/media/image/codecs/jpeg/icc.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "daemon/media/image/codecs/jpeg/segments.h"
#include "daemon/media/image/codecs/stored_codec.h"

namespace spdld::image {
namespace {

using namespace std::string_view_literals;

constexpr char kJpegName[] = "a JPEG";

// The parts by their numbers, which begin with 1.
struct ProfileParts {
  std::array<std::span<const uint8_t>, 256> parts;
  size_t count = 0;  // that each part claims; 0: there are none
  bool is_sound = true;
};

void add_part(std::span<const uint8_t> content, ProfileParts& profile) {
  constexpr auto kName = "ICC_PROFILE\0"sv;
  constexpr size_t kHeader = kName.size() + 2;
  const bool is_part = content.size() >= kName.size() &&
                       std::equal(kName.begin(), kName.end(), content.begin(),
                                  [](char c, uint8_t byte) { return static_cast<uint8_t>(c) == byte; });
  if (!is_part) return;
  if (content.size() <= kHeader) {
    profile.is_sound = false;
    return;
  }
  const size_t number = content[kName.size()], count = content[kName.size() + 1];
  const bool fits =
      number > 0 && number <= count && (profile.count == 0 || profile.count == count) && profile.parts[number].empty();
  if (!fits) {
    profile.is_sound = false;
    return;
  }
  profile.count = count;
  profile.parts[number] = content.subspan(kHeader);
}

}  // namespace

Result<ColourProfile> jpeg_profile(std::span<const uint8_t> jpeg, bool is_grey) {
  constexpr uint8_t kApp2 = 0xE2;
  ProfileParts found;
  visit_segments(jpeg, [&](const Segment& segment) {
    if (segment.marker == kApp2) add_part(segment.content, found);
    return true;
  });
  ColourProfile profile;
  profile.is_grey = is_grey;
  for (size_t number = 1; number <= found.count; ++number) {
    const auto part = found.parts[number];
    if (part.empty()) found.is_sound = false;
    profile.bytes.insert(profile.bytes.end(), part.begin(), part.end());
  }
  if (!found.is_sound || profile.bytes.size() > ColourProfile::kBytesMax) return damaged_profile(kJpegName);
  return profile;
}

}  // namespace spdld::image
