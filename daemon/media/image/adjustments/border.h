// Borders around a picture, and the pixels of the picture that stand in them. Pure functions; any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace spdld::image {

// Of a picture, on each of its sides, in pixels; not negative.
struct Border {
  int left = 0, top = 0, right = 0, bottom = 0;
  friend bool operator==(const Border&, const Border&) = default;
};

// The pixels of a border.
enum class BorderKind : uint8_t {
  kConstant,
  kEdge,      // repeats the outermost pixel
  kReflect,   // mirrors the picture at its outermost pixel
  kSymmetric  // mirrors the picture with its outermost pixel
};

inline BorderKind border_kind_named(std::string_view name) {
  if (name == "constant") return BorderKind::kConstant;
  if (name == "edge") return BorderKind::kEdge;
  if (name == "reflect") return BorderKind::kReflect;
  if (name == "symmetric") return BorderKind::kSymmetric;
  throw std::logic_error("no border is called " + std::string(name));
}

// The place of `length` ones that stands at place `at`, which may lie outside of them: mirrored as often as needed. A
// constant border has none there: -1.
inline int place_behind(BorderKind kind, int at, int length) {
  if (at >= 0 && at < length) return at;
  if (kind == BorderKind::kConstant) return -1;
  if (kind == BorderKind::kEdge || length == 1) return std::clamp(at, 0, length - 1);
  const int again = kind == BorderKind::kReflect ? 1 : 0;  // the outermost place stands once in a period
  const int period = 2 * (length - again), within = ((at % period) + period) % period;
  return within < length ? within : period - 1 + again - within;
}

}  // namespace spdld::image
