#include "client/sheet/canvas.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "client/sheet/font.h"
#include "utf8/utf8.h"

namespace spdld::sheet {
namespace {

constexpr std::array<Colour, 12> kColours = {{{255, 64, 64},
                                              {64, 200, 255},
                                              {120, 230, 60},
                                              {255, 180, 0},
                                              {220, 90, 255},
                                              {0, 220, 170},
                                              {255, 110, 190},
                                              {90, 120, 255},
                                              {230, 230, 60},
                                              {255, 130, 60},
                                              {150, 200, 160},
                                              {190, 150, 255}}};

uint8_t channel_of(uint8_t below, uint8_t above, double part) {
  return static_cast<uint8_t>(std::lround(below + (above - below) * std::clamp(part, 0.0, 1.0)));
}

// The pixels of the source that a pixel of the target covers, at least one.
struct Span {
  int begin, end;
};
Span span_of(int place, int target, int source) {
  const auto at = [&](int64_t edge) { return static_cast<int>(edge * source / target); };
  const int begin = at(place);
  return {begin, std::max(begin + 1, at(int64_t{place} + 1))};
}

Colour mean_of(const Canvas& picture, Span columns, Span rows) {
  int64_t red = 0, green = 0, blue = 0;
  for (int y = rows.begin; y < rows.end; ++y) {
    for (int x = columns.begin; x < columns.end; ++x) {
      const Colour colour = picture.at(x, y);
      red += colour.red;
      green += colour.green;
      blue += colour.blue;
    }
  }
  const int64_t count = int64_t{columns.end - columns.begin} * (rows.end - rows.begin);
  const auto rounded = [&](int64_t sum) { return static_cast<uint8_t>((sum + count / 2) / count); };
  return {rounded(red), rounded(green), rounded(blue)};
}

}  // namespace

Colour colour_of(uint64_t number) { return kColours[number % kColours.size()]; }

Colour mixed(Colour below, Colour above, double part) {
  return {channel_of(below.red, above.red, part), channel_of(below.green, above.green, part),
          channel_of(below.blue, above.blue, part)};
}

Canvas::Canvas(int width, int height, Colour background) : width_(width), height_(height) {
  if (width < 0 || height < 0 || width > kSideMax || height > kSideMax || int64_t{width} * height > kPixelsMax)
    throw std::length_error("the sheet has too many pixels: show fewer samples, or a smaller width");
  pixels_.assign(static_cast<size_t>(width) * static_cast<size_t>(height), background);
}

void Canvas::set(int x, int y, Colour colour) {
  if (holds(x, y)) pixels_[place(x, y)] = colour;
}

void Canvas::tint(int x, int y, Colour colour, double part) {
  if (holds(x, y)) pixels_[place(x, y)] = mixed(at(x, y), colour, part);
}

void Canvas::fill(int left, int top, int right, int bottom, Colour colour) {
  left = std::max(left, 0);
  right = std::min(right, width_);
  for (int y = std::max(top, 0); y < std::min(bottom, height_); ++y)
    for (int x = left; x < right; ++x) pixels_[place(x, y)] = colour;
}

void Canvas::frame(int left, int top, int right, int bottom, int thickness, Colour colour) {
  fill(left, top, right, std::min(top + thickness, bottom), colour);
  fill(left, std::max(bottom - thickness, top), right, bottom, colour);
  fill(left, top, std::min(left + thickness, right), bottom, colour);
  fill(std::max(right - thickness, left), top, right, bottom, colour);
}

void Canvas::dot(int x, int y, int radius, Colour colour) {
  const int outer = radius + 1;
  for (int dy = -outer; dy <= outer; ++dy) {
    for (int dx = -outer; dx <= outer; ++dx) {
      const int distance = dx * dx + dy * dy;
      if (distance <= outer * outer) set(x + dx, y + dy, distance <= radius * radius ? colour : Colour{});
    }
  }
}

void Canvas::lay(const Canvas& picture, int left, int top) {
  for (int y = 0; y < picture.height(); ++y)
    for (int x = 0; x < picture.width(); ++x) set(left + x, top + y, picture.at(x, y));
}

void Canvas::write(int left, int top, std::string_view text, Colour colour) {
  for (const char character : text) {
    if (utf8::goes_on(character)) continue;
    const Glyph& glyph = glyph_of(character);
    for (int y = 0; y < static_cast<int>(glyph.size()); ++y)
      for (int x = 0; x < kGlyphColumns; ++x)
        if ((glyph[static_cast<size_t>(y)] >> (kGlyphColumns - 1 - x)) & 1) set(left + x, top + 1 + y, colour);
    left += kGlyphWidth;
  }
}

size_t glyphs_of(std::string_view text) {
  return text.size() - static_cast<size_t>(std::count_if(text.begin(), text.end(), utf8::goes_on));
}

std::string shortened(std::string_view text, size_t glyphs) {
  constexpr std::string_view kDots = "..";
  if (glyphs_of(text) <= glyphs) return std::string(text);
  const size_t kept = glyphs - std::min(glyphs, kDots.size());
  size_t end = 0;
  for (size_t count = 0; end < text.size(); ++end)
    if (!utf8::goes_on(text[end]) && count++ == kept) break;
  return std::string(text.substr(0, end)) + std::string(kDots.substr(0, glyphs - kept));
}

Canvas resized(const Canvas& picture, int width, int height) {
  if (width == picture.width() && height == picture.height()) return picture;
  Canvas result(width, height);
  for (int y = 0; y < height; ++y) {
    const Span rows = span_of(y, height, picture.height());
    for (int x = 0; x < width; ++x) result.set(x, y, mean_of(picture, span_of(x, width, picture.width()), rows));
  }
  return result;
}

Canvas trimmed(const Canvas& picture, Colour border) {
  int left = picture.width(), top = picture.height(), right = 0, bottom = 0;
  for (int y = 0; y < picture.height(); ++y) {
    for (int x = 0; x < picture.width(); ++x) {
      if (picture.at(x, y) == border) continue;
      left = std::min(left, x);
      right = std::max(right, x + 1);
      top = std::min(top, y);
      bottom = y + 1;
    }
  }
  if (right <= left) return picture;
  Canvas part(right - left, bottom - top);
  for (int y = top; y < bottom; ++y)
    for (int x = left; x < right; ++x) part.set(x - left, y - top, picture.at(x, y));
  return part;
}

Size fitting(int width, int height, int side) {
  const int longer = std::max({width, height, 1});
  if (longer <= side) return {width * (side / longer), height * (side / longer)};
  const auto scaled = [&](int length) {
    return std::max(1, static_cast<int>(std::lround(static_cast<double>(length) * side / longer)));
  };
  return {scaled(width), scaled(height)};
}

}  // namespace spdld::sheet
