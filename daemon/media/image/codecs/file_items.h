// The items of a file of pictures: what they are, and what they are made of (HEIF, ISO/IEC 23008-12, in the boxes of
// ISO/IEC 14496-12; AVIF and HEIC). Items and references above a bound are left out. Pure functions; any thread. The
// bytes are not trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace spdld::image {

inline constexpr size_t kFullBoxBytes = 4;  // the version and the flags that many boxes begin with

// The rest of `bytes` behind the first `count`.
std::span<const uint8_t> behind(std::span<const uint8_t> bytes, size_t count);
// The text before the first zero.
std::string_view text_at(std::span<const uint8_t> bytes);

struct FileItems {
  // A grid has at most 256 x 256 cells. No more items or references than these are looked at.
  static constexpr size_t kMost = 1 << 18;

  uint32_t primary = 0;  // the picture that the file shows
  std::unordered_map<uint32_t, uint32_t> kinds;
  std::unordered_map<uint32_t, size_t> places;                // in the order in which a reader of the boxes meets them
  std::unordered_map<uint32_t, std::vector<uint32_t>> parts;  // of an item that is made of others, in order
  std::unordered_map<uint32_t, uint32_t> uses;                // how often an item is such a part
  std::unordered_map<uint32_t, std::vector<uint32_t>> auxiliaries;  // of an item, such as its alpha
  bool has_multiplied = false;                                      // an item's colours were multiplied by its alpha

  uint32_t kind_of(uint32_t id) const;  // 0: it is not told
  bool is_grid(uint32_t id) const;
  const std::vector<uint32_t>& parts_of(uint32_t id) const;
  const std::vector<uint32_t>& auxiliaries_of(uint32_t id) const;
};

// `meta`: the content of the file's box of this kind.
FileItems file_items(std::span<const uint8_t> meta);

// Whether an auxiliary picture of this kind, as its auxC or auxi names it, is the alpha of another.
bool is_alpha_kind(std::string_view kind);

}  // namespace spdld::image
