#include <webp/decode.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "daemon/media/image/codecs/stored_codec.h"
#include "daemon/media/image/codecs/webp/animation.h"
#include "daemon/media/image/codecs/webp/chunks.h"

namespace spdld::image {
namespace {

constexpr char kWebpName[] = "a WebP";

struct DeleteWebp {
  void operator()(WebPIDecoder* decoder) const { WebPIDelete(decoder); }
};

// The most that libwebp takes for a frame, by its sources: a lossless picture has its pixels as 32 bits, images of its
// transforms, and tables of 12 KiB for each group of codes. Every group costs at least 20 bits of coded data.
uint64_t libwebp_bytes(const WebpOutline& outline, uint64_t groups_max) {
  constexpr uint64_t kForAll = 256 << 10, kColumnBytes = 128, kGroupBytes = 12 << 10, kGroupBits = 20;
  const auto width = static_cast<uint64_t>(outline.frame.width), height = static_cast<uint64_t>(outline.frame.height);
  const uint64_t bytes = kForAll + kColumnBytes * width;
  const bool has_lossless_part = outline.lossless || outline.has_alpha_plane;
  if (!has_lossless_part) return bytes;
  const uint64_t groups = std::min({groups_max, width * height / 16 + 1000, outline.coded.size() * 8 / kGroupBits + 1});
  return bytes + 7 * width * height + groups * kGroupBytes;
}

// A part of the frame that is decoded: columns [left, right), and rows from `top` to the frame's end.
struct DecodedArea {
  int left, top, right;
};

// libwebp makes a pixel's colours of two columns and rows of chroma, and takes a crop's edge for the picture's: two
// pixels more on each side, from an even one on, keep what is wanted the same as in the whole picture. All rows below
// are decoded, so that the box never decides the verdict. Of an alpha plane all rows are: libwebp predicts each from
// the one above, and gives wrong values below a crop's upper edge.
DecodedArea area_of(const Box& frame, const Box& box, bool with_alpha_plane) {
  constexpr int kAround = 2;
  const auto inside = [](int place, int side) { return std::clamp(place, 0, side); };
  const int left = inside(box.x - frame.x - kAround, frame.width - 1);
  const int top = with_alpha_plane ? 0 : inside(box.y - frame.y - kAround, frame.height - 1);
  const int right = inside(box.x + box.width - frame.x + kAround, frame.width);
  return {left & ~1, top & ~1, std::max(right, (left & ~1) + 1)};
}

class WebpCodec final : public StoredCodec {
 public:
  const char* name() const override { return kWebpName; }
  Result<StoredOutline> open(std::span<const uint8_t> bytes, const Pixels& wanted) override;
  Result<ColourProfile> profile() override {
    return profile_of(kWebpName, outline_.profile.data(), outline_.profile.size(), false);
  }
  Status decode(const Box& box, CpuWatch& watch, PixelRows& rows) override;
  Status decode_frames(std::span<const int> wanted, const Box& box, CpuWatch& watch, PixelRows& rows,
                       const FrameSink& sink) override {
    return is_moving() ? draw_webp_frames(outline_, wanted, box, watch, rows, sink)
                       : StoredCodec::decode_frames(wanted, box, watch, rows, sink);
  }

 private:
  uint64_t library_bytes(uint64_t groups_max) const;
  // Frames are drawn on a canvas, and not the first one alone.
  bool is_moving() const { return frame_ > 0 || (wants_frames_ && outline_.frames > 1); }
  Status feed(WebPIDecoder& decoder, CpuWatch& watch) const;

  WebpOutline outline_;
  int frame_ = 0;
  bool wants_frames_ = false;
};

Result<StoredOutline> WebpCodec::open(std::span<const uint8_t> bytes, const Pixels& wanted) {
  const auto outline = webp_outline_of(bytes);
  if (!outline) return outline.error();
  outline_ = *outline;
  frame_ = wanted.frame;
  wants_frames_ = wanted.frames > 0;
  if (static_cast<uint64_t>(frame_) >= outline_.frames) return no_such_frame(kWebpName, outline_.frames, frame_);
  constexpr uint64_t kGroupsMax = uint64_t{1} << 16, kGroupsOfEncoder = 2'600;  // libwebp's encoder makes no more
  StoredOutline outlined{outline_.width,
                         outline_.height,
                         outline_.orientation,
                         PixelFormat{wanted.colours == Colours::kRgba ? 4 : 3, 1},
                         library_bytes(kGroupsMax),
                         outline_.frames};
  outlined.likely_bytes = library_bytes(kGroupsOfEncoder);
  return outlined;
}

// A later frame may be as large as the canvas, and lossless.
uint64_t WebpCodec::library_bytes(uint64_t groups_max) const {
  if (!is_moving()) return libwebp_bytes(outline_, groups_max);
  WebpOutline largest = outline_;
  largest.frame = {0, 0, static_cast<int>(outline_.width), static_cast<int>(outline_.height)};
  largest.coded = outline_.file;
  largest.lossless = true;
  return libwebp_bytes(largest, groups_max) + webp_animation_bytes(outline_);
}

// Gives libwebp the coded bytes in a few pieces, so that the CPU time is looked at between them.
Status WebpCodec::feed(WebPIDecoder& decoder, CpuWatch& watch) const {
  constexpr size_t kPieceBytes = 64 << 10, kPieces = 8;
  const auto coded = outline_.coded;
  const size_t piece = std::max(kPieceBytes, coded.size() / kPieces);
  const auto pixels = static_cast<uint64_t>(outline_.frame.width) * static_cast<uint64_t>(outline_.frame.height);
  const uint64_t blocks = (pixels / 64 + 1) * piece / coded.size() + 1;
  VP8StatusCode status = VP8_STATUS_SUSPENDED;
  for (size_t fed = 0; fed < coded.size() && status == VP8_STATUS_SUSPENDED;) {
    if (watch.is_over(blocks)) return costs_too_much(kWebpName, kTooMuchCpuTime);
    fed = std::min(coded.size(), fed + piece);
    status = WebPIUpdate(&decoder, coded.data(), fed);
  }
  switch (status) {
    case VP8_STATUS_OK:
      return Done{};
    case VP8_STATUS_OUT_OF_MEMORY:
      return Error{Trouble::kMemory, "there is not enough memory to decode a WebP"};
    case VP8_STATUS_SUSPENDED:
      return damaged(kWebpName, "its coded data end too early");
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return not_decoded(kWebpName, "a feature that libwebp does not know");
    default:
      return damaged(kWebpName, "libwebp can't decode its coded data");
  }
}

Status WebpCodec::decode(const Box& box, CpuWatch& watch, PixelRows& rows) {
  if (frame_ > 0) return decode_frames({&frame_, 1}, box, watch, rows, [](const PixelRows&) { return Done{}; });
  const Box& frame = outline_.frame;
  const DecodedArea area = area_of(frame, box, outline_.has_alpha_plane && rows.format.channels == 4);
  const Box decoded{frame.x + area.left, frame.y + area.top, area.right - area.left, frame.height - area.top};
  const Size canvas = rows.picture;
  const bool fills_canvas = frame.width == canvas.width && frame.height == canvas.height;
  // A frame may be smaller than the canvas, which is transparent and black around it.
  uint8_t* memory = cover(fills_canvas ? decoded : Box{0, 0, canvas.width, canvas.height}, rows);
  if (!fills_canvas) std::memset(memory, 0, rows.stride_bytes * static_cast<size_t>(canvas.height));
  const auto place = [&](int x, int y) {
    return rows.stride_bytes * static_cast<size_t>(y - rows.covers.y) +
           static_cast<size_t>(rows.format.pixel_bytes()) * static_cast<size_t>(x - rows.covers.x);
  };
  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0)
    return Error{Trouble::kInternal, "libwebp has another version than its headers"};
  config.options.use_cropping = 1;
  config.options.crop_left = area.left;
  config.options.crop_top = area.top;
  config.options.crop_width = decoded.width;
  config.options.crop_height = decoded.height;
  config.output.colorspace = rows.format.channels == 4 ? MODE_RGBA : MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = memory + place(decoded.x, decoded.y);
  config.output.u.RGBA.stride = static_cast<int>(rows.stride_bytes);
  config.output.u.RGBA.size = rows.memory.size() - place(decoded.x, decoded.y) - PixelRows::kSlackBytes;
  const std::unique_ptr<WebPIDecoder, DeleteWebp> decoder(WebPIDecode(nullptr, 0, &config));
  if (!decoder) return Error{Trouble::kMemory, "there is not enough memory to decode a WebP"};
  const Status fed = feed(*decoder, watch);
  rows.offset = place(box.x, box.y);
  rows.covers = box;
  return fed;
}

}  // namespace

std::unique_ptr<ImageDecoder> make_webp_decoder(const media::DecodeLimits& limits) {
  return make_stored_decoder(std::make_unique<WebpCodec>(), limits);
}

std::string webp_code() {
  const int version = WebPGetDecoderVersion();
  return "libwebp " + std::to_string(version >> 16) + "." + std::to_string(version >> 8 & 0xFF) + "." +
         std::to_string(version & 0xFF);
}

}  // namespace spdld::image
