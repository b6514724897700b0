#include <zlib.h>

#include <algorithm>
#include <string_view>

#include "daemon/media/image/codecs/png/chunk.h"
#include "daemon/media/image/codecs/png/chunks.h"
#include "daemon/media/image/codecs/stored_codec.h"

namespace spdld::image {
namespace {

using namespace std::string_view_literals;

constexpr char kPngName[] = "a PNG";

// The bytes of a whole zlib stream, inflated; empty: it is damaged, or has more than ColourProfile::kBytesMax bytes.
std::vector<uint8_t> inflate_all(std::span<const uint8_t> coded) {
  std::vector<uint8_t> out(std::min(ColourProfile::kBytesMax, coded.size() * kInflatedPerByte));
  uLongf size = out.size();
  if (uncompress(out.data(), &size, coded.data(), coded.size()) != Z_OK) return {};
  out.resize(size);
  return out;
}

}  // namespace

Result<ColourProfile> png_profile(std::span<const uint8_t> png, const PngHeader& header) {
  constexpr uint8_t kGrey = 0, kGreyWithAlpha = 4;
  ColourProfile profile;
  profile.is_grey = header.colour == kGrey || header.colour == kGreyWithAlpha;
  auto rest = png.subspan(kPngSignature.size());
  for (auto chunk = first_chunk(rest); chunk && chunk->type() != "IEND"sv; chunk = first_chunk(rest)) {
    rest = rest.subspan(chunk->whole.size());
    if (chunk->type() != "iCCP"sv) continue;
    // A name, its zero, and the number of the method of compression: 0.
    const auto content = chunk->content();
    const auto name_end = std::find(content.begin(), content.end(), 0);
    if (!chunk->is_sound() || content.end() - name_end < 2 || name_end[1] != 0) return damaged_profile(kPngName);
    profile.bytes = inflate_all(content.subspan(static_cast<size_t>(name_end - content.begin()) + 2));
    if (profile.bytes.empty()) return damaged_profile(kPngName);
    return profile;
  }
  return profile;
}

}  // namespace spdld::image
