#include "tests/fuzz/jpeg_mutator.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "daemon/media/image/codecs/jpeg/segments.h"

namespace spdld::fuzz {
namespace {

namespace marker = image::marker;

// Further markers of ITU-T T.81, table B.1.
constexpr uint8_t kBaseline = 0xC0, kExtended = 0xC1, kProgressive = 0xC2, kArithmetic = 0xC9, kSteps = 0xDB;
constexpr size_t kPartsMax = 200;

size_t below(size_t bound, std::mt19937& random) { return bound == 0 ? 0 : random() % bound; }

uint8_t byte_of(std::mt19937& random) { return static_cast<uint8_t>(random()); }

template <typename Item, size_t kCount>
Item one_of(const Item (&items)[kCount], std::mt19937& random) {
  return items[below(kCount, random)];
}

bool is_frame(uint8_t found) {
  return found == kBaseline || found == kExtended || found == kProgressive || found == kArithmetic;
}

bool is_coded(uint8_t found) { return found == JpegPart::kCoded; }

bool has_length(uint8_t found) { return found != JpegPart::kStart && found != marker::kEnd; }

// One of the parts that `is_wanted` takes; null: there is none.
template <typename IsWanted>
JpegPart* find_part(JpegParts& parts, IsWanted is_wanted, std::mt19937& random) {
  std::vector<JpegPart*> found;
  for (JpegPart& part : parts)
    if (is_wanted(part.marker)) found.push_back(&part);
  return found.empty() ? nullptr : found[below(found.size(), random)];
}

JpegPart* find_part(JpegParts& parts, uint8_t wanted, std::mt19937& random) {
  return find_part(
      parts, [=](uint8_t one) { return one == wanted; }, random);
}

void set(Bytes& bytes, size_t at, uint8_t value) {
  if (at < bytes.size()) bytes[at] = value;
}

void change_order(JpegParts& parts, std::mt19937& random) {
  if (parts.empty()) return;
  const size_t at = below(parts.size(), random), other = below(parts.size(), random);
  const auto place = parts.begin() + static_cast<ptrdiff_t>(at);
  switch (below(3, random)) {
    case 0:
      parts.erase(place);
      break;
    case 1:
      std::swap(parts[at], parts[other]);
      break;
    default:
      if (parts.size() < kPartsMax) parts.insert(parts.begin() + static_cast<ptrdiff_t>(other), JpegPart(*place));
  }
}

// A segment of one table: class and number, counts of the codes of 1 to 16 bits, their symbols.
void change_codes(JpegParts& parts, std::mt19937& random) {
  constexpr size_t kLengths = 16, kSymbols = 1 + kLengths;
  JpegPart* part = find_part(parts, marker::kHuffman, random);
  if (part == nullptr || part->content.size() < kSymbols) return;
  Bytes& table = part->content;
  uint8_t &longer = table[1 + below(kLengths, random)], &shorter = table[1 + below(kLengths, random)];
  switch (below(7, random)) {
    case 0:
      if (shorter > 0) --shorter, ++longer;
      break;
    case 1:
      ++longer;
      table.insert(table.begin() + static_cast<ptrdiff_t>(kSymbols + below(table.size() - kSymbols + 1, random)),
                   byte_of(random));
      break;
    case 2:
      if (shorter > 0 && table.size() > kSymbols) --shorter, table.pop_back();
      break;
    case 3:
      if (table.size() > kSymbols) table[kSymbols + below(table.size() - kSymbols, random)] = byte_of(random);
      break;
    case 4:
      std::shuffle(table.begin() + kSymbols, table.end(), random);
      break;
    case 5:
      std::fill(table.begin() + 1, table.end(), uint8_t{0});
      table.resize(kSymbols);
      break;
    default:
      table[0] = static_cast<uint8_t>(below(2, random) << 4 | below(4, random));
  }
}

void change_steps(JpegParts& parts, std::mt19937& random) {
  JpegPart* part = find_part(parts, kSteps, random);
  if (part == nullptr || part->content.empty()) return;
  Bytes& table = part->content;
  switch (below(4, random)) {
    case 0:
      table[0] = static_cast<uint8_t>(below(4, random));
      break;
    case 1: {  // of 16 bits
      Bytes wide{static_cast<uint8_t>(0x10 | (table[0] & 3))};
      for (size_t i = 1; i < table.size(); ++i)
        wide.insert(wide.end(), {static_cast<uint8_t>(below(2, random)), table[i]});
      table = std::move(wide);
      break;
    }
    case 2:
      std::fill(table.begin() + 1, table.end(), one_of({0, 1, 2, 255}, random));
      break;
    default:
      set(table, 1 + below(table.size(), random), byte_of(random));
  }
}

// Precision, height, width, the number of components; of each its name, factors and table of steps.
void change_frame(JpegParts& parts, std::mt19937& random) {
  constexpr size_t kSides = 1, kCount = 5, kComponents = 6;
  JpegPart* part = find_part(parts, is_frame, random);
  if (part == nullptr || part->content.size() <= kComponents) return;
  Bytes& frame = part->content;
  const size_t component = kComponents + 3 * below((frame.size() - kComponents) / 3, random);
  switch (below(7, random)) {
    case 0:
      part->marker = one_of({kBaseline, kExtended, kProgressive, kArithmetic}, random);
      break;
    case 1:
      set(frame, kSides + 1 + 2 * below(2, random), byte_of(random));
      break;
    case 2:
      set(frame, component + 1, static_cast<uint8_t>((1 + below(4, random)) << 4 | (1 + below(4, random))));
      break;
    case 3:
      set(frame, component, byte_of(random));
      break;
    case 4:
      set(frame, component + 2, static_cast<uint8_t>(below(4, random)));
      break;
    case 5:
      set(frame, kSides + 2 * below(2, random), static_cast<uint8_t>(below(3, random)));
      break;
    default:
      frame[kCount] = static_cast<uint8_t>(1 + below(4, random));
      frame.resize(kComponents + 3u * frame[kCount], 0x11);
  }
}

// The number of components; of each its name and tables; the band's first and last coefficient, and its bits.
void change_scan(JpegParts& parts, std::mt19937& random) {
  constexpr size_t kBand = 3;
  JpegPart* part = find_part(parts, marker::kScan, random);
  if (part == nullptr || part->content.size() < 1 + 2 + kBand) return;
  Bytes& scan = part->content;
  const size_t band = scan.size() - kBand;
  const size_t count = (band - 1) / 2, at = 1 + 2 * below(count, random), other = 1 + 2 * below(count, random);
  switch (below(6, random)) {
    case 0:
      std::swap(scan[at], scan[other]);
      std::swap(scan[at + 1], scan[other + 1]);
      break;
    case 1:
      scan[at + 1] = static_cast<uint8_t>(below(4, random) << 4 | below(4, random));
      break;
    case 2:
      scan[band + below(2, random)] = static_cast<uint8_t>(below(64, random));
      break;
    case 3:
      scan[band + 2] = static_cast<uint8_t>(below(4, random) << 4 | below(4, random));
      break;
    case 4:
      if (count > 1) {
        scan.erase(scan.begin() + static_cast<ptrdiff_t>(at), scan.begin() + static_cast<ptrdiff_t>(at) + 2);
        scan[0] = static_cast<uint8_t>(count - 1);
      }
      break;
    default:
      scan[at] = byte_of(random);
  }
}

// Coded data is random enough that a marker may stand anywhere in it.
void change_restarts(JpegParts& parts, std::mt19937& random) {
  JpegPart* interval = find_part(parts, marker::kRestartInterval, random);
  const auto mcus = static_cast<uint8_t>(below(9, random));
  if (below(3, random) == 0) {
    if (interval != nullptr) {
      interval->content = {0, mcus};
    } else if (JpegPart* scan = find_part(parts, marker::kScan, random); scan != nullptr && parts.size() < kPartsMax) {
      parts.insert(parts.begin() + (scan - parts.data()), JpegPart{marker::kRestartInterval, {0, mcus}});
    }
    return;
  }
  JpegPart* coded = find_part(parts, is_coded, random);
  if (coded == nullptr) return;
  Bytes& data = coded->content;
  std::vector<size_t> markers;
  for (size_t i = 0; i + 1 < data.size(); ++i)
    if (data[i] == 0xFF && marker::is_restart(data[i + 1])) markers.push_back(i);
  const auto restart = static_cast<uint8_t>(marker::kFirstRestart + below(8, random));
  if (markers.empty() || below(3, random) == 0) {
    data.insert(data.begin() + static_cast<ptrdiff_t>(below(data.size() + 1, random)), {0xFF, restart});
  } else if (const size_t at = markers[below(markers.size(), random)]; below(2, random) == 0) {
    data[at + 1] = restart;
  } else {
    data.erase(data.begin() + static_cast<ptrdiff_t>(at), data.begin() + static_cast<ptrdiff_t>(at) + 2);
  }
}

void change_coded(JpegParts& parts, std::mt19937& random) {
  JpegPart* part = find_part(parts, is_coded, random);
  if (part == nullptr || part->content.empty()) return;
  Bytes& data = part->content;
  const size_t at = below(data.size(), random), count = 1 + below(std::min<size_t>(data.size() - at, 16), random);
  const auto from = data.begin() + static_cast<ptrdiff_t>(at), to = from + static_cast<ptrdiff_t>(count);
  switch (below(7, random)) {
    case 0:
      data[at] = static_cast<uint8_t>(data[at] ^ 1u << below(8, random));
      break;
    case 1:
      data[at] = byte_of(random);
      break;
    case 2:
      data.erase(from, to);
      break;
    case 3: {
      const Bytes again(from, to);
      data.insert(data.begin() + static_cast<ptrdiff_t>(below(data.size(), random)), again.begin(), again.end());
      break;
    }
    case 4:
      data.resize(at);
      break;
    case 5:
      data.insert(from, {0xFF, 0});
      break;
    default:
      std::fill(from, to, one_of({uint8_t{0}, uint8_t{0xFE}, uint8_t{0x55}}, random));
  }
}

}  // namespace

JpegParts split_jpeg(std::span<const uint8_t> bytes) {
  JpegParts parts;
  size_t at = 0;
  const auto is_marker = [&](size_t i) {
    return i + 1 < bytes.size() && bytes[i] == 0xFF && bytes[i + 1] >= marker::kFirstWithLength &&
           bytes[i + 1] != 0xFF && !marker::is_restart(bytes[i + 1]);
  };
  while (at < bytes.size() && parts.size() < kPartsMax) {
    const size_t start = at;
    while (at < bytes.size() && !is_marker(at)) ++at;
    if (at > start)
      parts.push_back({JpegPart::kCoded, Bytes(bytes.begin() + static_cast<ptrdiff_t>(start),
                                               bytes.begin() + static_cast<ptrdiff_t>(at))});
    if (at == bytes.size()) break;
    const uint8_t found = bytes[at + 1];
    at += 2;
    size_t length = 0;
    if (has_length(found) && at + 2 <= bytes.size()) {
      length = std::clamp<size_t>(size_t{bytes[at]} << 8 | bytes[at + 1], 2, bytes.size() - at) - 2;
      at += 2;
    }
    parts.push_back({found, Bytes(bytes.begin() + static_cast<ptrdiff_t>(at),
                                  bytes.begin() + static_cast<ptrdiff_t>(at + length))});
    at += length;
  }
  return parts;
}

Bytes join_jpeg(const JpegParts& parts) {
  Bytes bytes;
  for (const JpegPart& part : parts) {
    if (part.marker != JpegPart::kCoded) {
      bytes.insert(bytes.end(), {0xFF, part.marker});
      const size_t length = part.content.size() + 2;
      if (has_length(part.marker))
        bytes.insert(bytes.end(), {static_cast<uint8_t>(length >> 8), static_cast<uint8_t>(length)});
    }
    bytes.insert(bytes.end(), part.content.begin(), part.content.end());
  }
  return bytes;
}

void change_jpeg(JpegParts& parts, std::mt19937& random) {
  constexpr std::array kChanges{change_order, change_codes,    change_codes, change_steps, change_frame,
                                change_scan,  change_restarts, change_coded, change_coded};
  kChanges[below(kChanges.size(), random)](parts, random);
}

void cross_jpegs(JpegParts& parts, const JpegParts& other, std::mt19937& random) {
  if (parts.empty() || other.empty()) return;
  const JpegPart& from = other[below(other.size(), random)];
  JpegPart* to = find_part(parts, from.marker, random);
  if (to != nullptr && below(4, random) != 0) {
    *to = from;
  } else if (parts.size() < kPartsMax) {
    parts.insert(parts.begin() + static_cast<ptrdiff_t>(below(parts.size(), random)), from);
  }
}

}  // namespace spdld::fuzz
