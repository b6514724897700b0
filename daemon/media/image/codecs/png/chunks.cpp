#include "daemon/media/image/codecs/png/chunks.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/media/image/codecs/png/chunk.h"
#include "daemon/media/image/codecs/png/notes.h"
#include "daemon/media/image/codecs/sniff.h"

namespace spdld::image {
namespace {

using namespace std::string_view_literals;

constexpr size_t kHeaderBytes = 13;

struct Pass {
  uint32_t x, y, across, down;  // of the pass's first pixel, and from pixel to pixel
};
constexpr std::array<Pass, 1> kOnePass = {{{0, 0, 1, 1}}};
constexpr std::array<Pass, 7> kAdam7 = {
    {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}}};

Error damaged(const std::string& how) { return {Trouble::kContent, "a damaged PNG: " + how}; }
Error cut_off() { return {Trouble::kContent, "a PNG that was cut off: its end is missing"}; }

// PNG allows these pairs in a header (third edition, 11.2.1).
bool is_possible(uint8_t depth, uint8_t colour) {
  switch (colour) {
    case 0:
      return depth == 1 || depth == 2 || depth == 4 || depth == 8 || depth == 16;
    case 2:
    case 4:
    case 6:
      return depth == 8 || depth == 16;
    case 3:
      return depth == 1 || depth == 2 || depth == 4 || depth == 8;
    default:
      return false;
  }
}

bool is_unknown_critical(const PngChunk& chunk) {
  const auto type = chunk.type();
  return chunk.is_critical() && type != "IHDR"sv && type != "PLTE"sv && type != "IDAT"sv && type != "IEND"sv;
}

// A chunk's name, for a sentence; damaged bytes are no letters.
std::string name_of(std::string_view type) {
  std::string name(type);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return (c < 'A' || c > 'Z') && (c < 'a' || c > 'z'); }, '?');
  return name;
}

Error refusal_of_critical(const PngChunk& chunk) {
  const std::string name = name_of(chunk.type());
  if (!chunk.is_sound()) return damaged("a chunk \"" + name + "\" that no PNG has");
  return unsupported("a PNG with the critical chunk \"" + name + "\", which PNG does not define");
}

Result<PngHeader> header_in(const PngChunk& chunk) {
  const auto content = chunk.content();
  if (is_unknown_critical(chunk)) return refusal_of_critical(chunk);  // Apple's own kind begins so
  if (chunk.type() != "IHDR"sv || content.size() != kHeaderBytes) return damaged("it does not begin with a header");
  const PngHeader header{number_at(content, 0), number_at(content, 4), content[8], content[9], content[12] != 0};
  const auto is_size = [](uint32_t side) { return side > 0 && side <= INT32_MAX; };
  const bool is_sound = chunk.is_sound() && is_size(header.width) && is_size(header.height) &&
                        is_possible(header.depth, header.colour) && content[10] == 0 && content[11] == 0 &&
                        content[12] <= 1;
  if (!is_sound) return damaged("its header says what no PNG's header says");
  return header;
}

}  // namespace

uint64_t PngHeader::row_bytes(uint32_t pixels) const {
  const uint64_t channels = colour == 2 ? 3 : colour == 4 ? 2 : colour == 6 ? 4 : 1;
  return (channels * depth * pixels + 7) / 8;
}

uint64_t PngHeader::inflated_bytes() const {
  const auto passes = interlaced ? std::span<const Pass>(kAdam7) : std::span<const Pass>(kOnePass);
  uint64_t bytes = 0;
  for (const Pass& pass : passes) {
    if (width <= pass.x || height <= pass.y) continue;
    const uint32_t columns = (width - pass.x - 1) / pass.across + 1, rows = (height - pass.y - 1) / pass.down + 1;
    bytes += (row_bytes(columns) + 1) * rows;
  }
  return bytes;
}

Result<PngOutline> outline_of(std::span<const uint8_t> png) {
  if (png.size() < kPngSignature.size()) return cut_off();
  if (!std::equal(kPngSignature.begin(), kPngSignature.end(), png.begin())) {
    return damaged("its signature was changed, as by a transfer that takes it for text");
  }
  auto rest = png.subspan(kPngSignature.size());
  auto chunk = first_chunk(rest);
  if (!chunk) return cut_off();
  const auto header = header_in(*chunk);
  if (!header) return header.error();
  PngOutline outline{.header = *header};
  PngNotes notes;
  bool has_data = false, data_ended = false;
  while (chunk->type() != "IEND"sv) {
    rest = rest.subspan(chunk->whole.size());
    chunk = first_chunk(rest);
    if (!chunk) return cut_off();
    const auto type = chunk->type();
    if (is_unknown_critical(*chunk)) return refusal_of_critical(*chunk);
    if (type == "IDAT"sv) {
      if (data_ended) return damaged("another chunk interrupts its coded data");
      has_data = true;
      outline.coded_bytes += chunk->content().size();
    } else {
      data_ended = has_data;
    }
    outline.is_animated |= type == "acTL"sv;
    notes.take(*chunk);
  }
  outline.orientation = notes.orientation();
  return outline;
}

CriticalBytes::CriticalBytes(std::span<const uint8_t> png, bool with_transparency)
    : rest_(png.subspan(kPngSignature.size())),
      with_transparency_(with_transparency),
      piece_(png.first(kPngSignature.size())) {}

bool CriticalBytes::read(uint8_t* to, size_t count) {
  while (count > 0) {
    while (piece_.empty()) {
      const auto chunk = first_chunk(rest_);
      if (!chunk) return false;
      rest_ = rest_.subspan(chunk->whole.size());
      const bool is_passed_on = chunk->is_critical() || (with_transparency_ && chunk->type() == "tRNS"sv);
      if (is_passed_on) piece_ = chunk->whole;
      if (chunk->type() == "IEND"sv) rest_ = {};
    }
    const size_t part = std::min(count, piece_.size());
    std::memcpy(to, piece_.data(), part);
    piece_ = piece_.subspan(part);
    to += part;
    count -= part;
  }
  return true;
}

}  // namespace spdld::image
