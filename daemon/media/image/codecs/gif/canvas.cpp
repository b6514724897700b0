#include "daemon/media/image/codecs/gif/canvas.h"

#include <algorithm>
#include <cstring>

namespace spdld::image {

using Disposal = GifReader::Disposal;

uint64_t GifCanvas::bytes_of(const Size& size, int frame) {
  constexpr uint64_t kGiflibFrame = 2 << 10;  // its header and its palette
  const uint64_t pixels = static_cast<uint64_t>(size.width) * static_cast<uint64_t>(size.height);
  return 2 * kPixel * pixels + kGiflibFrame * static_cast<uint64_t>(frame + 1);
}

void GifCanvas::fill(const Box& place, const std::array<uint8_t, 4>& colour) {
  for (int y = 0; y < place.height; ++y) {
    uint8_t* to = at(place, y);
    for (int x = 0; x < place.width; ++x, to += kPixel) std::memcpy(to, colour.data(), kPixel);
  }
}

void GifCanvas::keep(const Box& place) {
  const size_t row_bytes = kPixel * static_cast<size_t>(place.width);
  uint8_t* to = kept_.resize(row_bytes * static_cast<size_t>(place.height));
  for (int y = 0; y < place.height; ++y, to += row_bytes) std::memcpy(to, at(place, y), row_bytes);
}

void GifCanvas::put_back(const Box& place) {
  const size_t row_bytes = kPixel * static_cast<size_t>(place.width);
  const uint8_t* from = kept_.data();
  for (int y = 0; y < place.height; ++y, from += row_bytes) std::memcpy(at(place, y), from, row_bytes);
}

void GifCanvas::leave() {
  if (leaving_.disposal == Disposal::kBackground) fill(leaving_.place, leaving_.colour);
  if (leaving_.disposal == Disposal::kPrevious) put_back(leaving_.place);
}

// Around the first frame lies the transparent colour, or the first one. A frame that is disposed of leaves the
// transparent colour, or else the background. No picture stood before the first frame: without a transparent colour it
// stays.
Status GifCanvas::draw_first(GifReader& reader, CpuWatch& watch) {
  const GifColours colours = reader.colours();
  const Box place = reader.frame();
  has_alpha_ = reader.transparent().has_value();
  const auto clear = static_cast<size_t>(reader.transparent().value_or(0));
  fill({0, 0, size_.width, size_.height}, colours[clear]);
  leaving_ = {reader.disposal(), place, colours[clear]};
  if (!has_alpha_ && leaving_.disposal == Disposal::kPrevious) leaving_.disposal = Disposal::kKeep;
  if (leaving_.disposal == Disposal::kPrevious) leaving_.disposal = Disposal::kBackground;
  if (!has_alpha_) leaving_.colour = colours[static_cast<size_t>(reader.background())];
  return reader.read_rows(watch, numbers_, [&](int y, std::span<const uint8_t> numbers) {
    uint8_t* to = at(place, y);
    for (const uint8_t number : numbers) {
      std::memcpy(to, colours[number].data(), kPixel);
      to += kPixel;
    }
  });
}

// Transparent pixels leave what was there.
Status GifCanvas::draw_next(GifReader& reader, CpuWatch& watch) {
  const GifColours colours = reader.colours();
  const Box place = reader.frame();
  leaving_ = {reader.disposal(), place,
              colours[static_cast<size_t>(reader.transparent().value_or(reader.background()))]};
  if (leaving_.disposal == Disposal::kPrevious) keep(place);
  return reader.read_rows(watch, numbers_, [&](int y, std::span<const uint8_t> numbers) {
    uint8_t* to = at(place, y);
    for (const uint8_t number : numbers) {
      if (colours[number][3] != 0) std::memcpy(to, colours[number].data(), kPixel);
      to += kPixel;
    }
  });
}

Status GifCanvas::draw_later(GifReader& reader, int frame, int last, CpuWatch& watch) {
  const auto found = reader.find_next();
  if (!found) return found.error();
  if (!*found) return no_such_frame(kGifName, static_cast<uint64_t>(frame), last);
  const Box place = reader.frame();
  if (place.x + place.width > size_.width || place.y + place.height > size_.height)
    return damaged(kGifName, "its frame " + std::to_string(frame) + " reaches beyond the picture");
  leave();
  return draw_next(reader, watch);
}

Status GifCanvas::draw(std::span<const uint8_t> gif, std::span<const int> wanted, const Size& size, CpuWatch& watch,
                       const std::function<Status()>& drawn) {
  size_ = size;
  pixels_.resize(kPixel * static_cast<size_t>(size.width) * static_cast<size_t>(size.height));
  GifReader reader(gif);
  if (const Status found = reader.find_picture(); !found) return found;
  size_t next = 0;
  for (int frame = 0; frame <= wanted.back(); ++frame) {
    const Status done = frame == 0 ? draw_first(reader, watch) : draw_later(reader, frame, wanted.back(), watch);
    if (!done) return done;
    if (frame != wanted[next]) continue;
    ++next;
    if (const Status taken = drawn(); !taken) return taken;
  }
  return Done{};
}

void GifCanvas::give(const Box& box, PixelRows& rows) const {
  const auto channels = static_cast<size_t>(rows.format.channels);
  uint8_t* to = cover({0, box.y, size_.width, box.height}, rows);
  const size_t count = static_cast<size_t>(size_.width) * static_cast<size_t>(box.height);
  const uint8_t* from = pixels_.data() + kPixel * static_cast<size_t>(size_.width) * static_cast<size_t>(box.y);
  for (size_t i = 0; i < count; ++i, from += kPixel, to += channels) std::memcpy(to, from, channels);
}

void GifCanvas::shrink() {
  pixels_.shrink(kMemoryKeptMax);
  kept_.shrink(kMemoryKeptMax);
}

}  // namespace spdld::image
