#include "daemon/media/image/codecs/webp/animation.h"

#include <webp/demux.h>

#include <cstring>
#include <memory>
#include <string>

#include "daemon/media/image/codecs/stored_codec.h"

namespace spdld::image {
namespace {

constexpr char kAnimatedName[] = "a WebP";

struct DeleteAnimation {
  void operator()(WebPAnimDecoder* decoder) const { WebPAnimDecoderDelete(decoder); }
};
using AnimationHandle = std::unique_ptr<WebPAnimDecoder, DeleteAnimation>;

Result<AnimationHandle> start_animation(std::span<const uint8_t> file) {
  WebPAnimDecoderOptions options;
  if (WebPAnimDecoderOptionsInit(&options) == 0)
    return Error{Trouble::kInternal, "libwebp has another version than its headers"};
  options.color_mode = MODE_RGBA;
  options.use_threads = 0;
  const WebPData data{file.data(), file.size()};
  AnimationHandle decoder(WebPAnimDecoderNew(&data, &options));
  if (!decoder) return damaged(kAnimatedName, "libwebp can't read its frames");
  return decoder;
}

// Colours under transparent pixels stay as they are. Without alpha in its header an animation is opaque.
void put_canvas_row(const uint8_t* canvas, int channels, bool has_alpha, size_t width, uint8_t* out) {
  for (size_t x = 0; x < width; ++x, canvas += 4, out += channels) {
    std::memcpy(out, canvas, 3);
    if (channels == 4) out[3] = has_alpha ? canvas[3] : 255;
  }
}

void give_canvas(const uint8_t* canvas, bool has_alpha, const Box& box, PixelRows& rows) {
  const auto width = static_cast<size_t>(rows.picture.width);
  uint8_t* out = cover({0, box.y, rows.picture.width, box.height}, rows);
  canvas += static_cast<size_t>(box.y) * width * 4;
  for (int y = 0; y < box.height; ++y, canvas += width * 4, out += rows.stride_bytes)
    put_canvas_row(canvas, rows.format.channels, has_alpha, width, out);
}

}  // namespace

uint64_t webp_animation_bytes(const WebpOutline& outline) { return uint64_t{outline.width} * outline.height * 2 * 4; }

Status draw_webp_frames(const WebpOutline& outline, std::span<const int> wanted, const Box& box, CpuWatch& watch,
                        PixelRows& rows, const FrameSink& sink) {
  const auto decoder = start_animation(outline.file);
  if (!decoder) return decoder.error();
  const auto width = static_cast<size_t>(rows.picture.width), height = static_cast<size_t>(rows.picture.height);
  WebPAnimInfo info;
  if (WebPAnimDecoderGetInfo(decoder->get(), &info) == 0 || info.canvas_width != width || info.canvas_height != height)
    return damaged(kAnimatedName, "its frames have another canvas than its header claims");
  size_t next = 0;
  for (int frame = 0; frame <= wanted.back(); ++frame) {
    uint8_t* canvas = nullptr;
    int shown_until = 0;
    if (watch.is_over(width * height / 64 + 1)) return costs_too_much(kAnimatedName, kTooMuchCpuTime);
    if (WebPAnimDecoderGetNext(decoder->get(), &canvas, &shown_until) == 0)
      return damaged(kAnimatedName, "libwebp can't decode its frame " + std::to_string(frame));
    if (frame != wanted[next]) continue;
    ++next;
    give_canvas(canvas, outline.canvas_has_alpha, box, rows);
    if (const Status taken = sink(rows); !taken) return taken;
  }
  return Done{};
}

}  // namespace spdld::image
