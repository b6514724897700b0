#include "daemon/media/image/codecs/jpeg/scans.h"

#include <cstddef>

#include "daemon/media/image/codecs/jpeg/segments.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace spdld::image {
namespace {

// A block of a buffered picture is cleared before its first scan, and read once more after its last one.
constexpr uint64_t kBufferVisits = 2;
// A scan that refines AC coefficients goes through all coefficients of a block, even where the block costs no bit.
constexpr uint64_t kRefinementVisits = 4;

// The blocks of the picture's components.
uint64_t blocks_of(const jpeg_component_info& component) {
  return uint64_t{component.width_in_blocks} * component.height_in_blocks;
}

uint64_t all_blocks(const jpeg_decompress_struct& jpeg) {
  uint64_t blocks = 0;
  for (int c = 0; c < jpeg.num_components; ++c) blocks += blocks_of(jpeg.comp_info[c]);
  return blocks;
}

uint64_t visits_per_block(const jpeg_decompress_struct& jpeg, int first_coefficient, int high_bit) {
  return jpeg.progressive_mode && first_coefficient > 0 && high_bit > 0 ? kRefinementVisits : 1;
}

uint64_t visits_of_first(const jpeg_decompress_struct& jpeg) {
  uint64_t blocks = 0;
  for (int c = 0; c < jpeg.comps_in_scan; ++c) blocks += blocks_of(*jpeg.cur_comp_info[c]);
  return blocks * visits_per_block(jpeg, jpeg.Ss, jpeg.Ah);
}

// `header`: what follows a scan marker's length. A header that libjpeg will refuse counts as
// all blocks.
uint64_t visits_of(const jpeg_decompress_struct& jpeg, std::span<const uint8_t> header) {
  const size_t components = header.empty() ? 0 : header[0];
  if (components == 0 || components > MAX_COMPS_IN_SCAN || header.size() < 4 + 2 * components) return all_blocks(jpeg);
  uint64_t blocks = 0;
  for (size_t i = 0; i < components; ++i) {
    for (int c = 0; c < jpeg.num_components; ++c) {
      if (jpeg.comp_info[c].component_id == header[1 + 2 * i]) blocks += blocks_of(jpeg.comp_info[c]);
    }
  }
  return blocks * visits_per_block(jpeg, header[1 + 2 * components], header[3 + 2 * components] >> 4);
}

bool is_buffered(const jpeg_decompress_struct& jpeg) {
  return jpeg.progressive_mode || jpeg.comps_in_scan < jpeg.num_components;
}

}  // namespace

size_t next_marker(std::span<const uint8_t> bytes, size_t at) {
  if (bytes.empty()) return at;
  const size_t last = bytes.size() - 1;
#if defined(__SSE2__)
  constexpr size_t kStep = 4 * sizeof(__m128i);
  const __m128i ones = _mm_set1_epi8(-1), zeroes = _mm_setzero_si128();
  const auto found = [&](size_t from) {
    const auto load = [&](size_t place) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes.data() + place));
    };
    return _mm_andnot_si128(_mm_cmpeq_epi8(load(from + 1), zeroes), _mm_cmpeq_epi8(load(from), ones));
  };
  for (; at + kStep < last; at += kStep) {
    const __m128i any =
        _mm_or_si128(_mm_or_si128(found(at), found(at + 16)), _mm_or_si128(found(at + 32), found(at + 48)));
    if (_mm_movemask_epi8(any) != 0) break;
  }
#endif
  while (at < last && (bytes[at] != 0xFF || bytes[at + 1] == 0)) ++at;
  return at;
}

Scans find_scans(const jpeg_decompress_struct& jpeg, std::span<const uint8_t> coded) {
  Scans scans;
  scans.block_visits = visits_of_first(jpeg) + (is_buffered(jpeg) ? kBufferVisits * all_blocks(jpeg) : 0);
  bool only_restarts = true;
  for (size_t at = 0;;) {
    at = next_marker(coded, at);
    if (at + 1 >= coded.size()) break;
    const uint8_t found = coded[at + 1];
    if (found == marker::kEnd) {
      scans.has_end = true;
      break;
    }
    // 0xFF may be repeated before a marker.
    if (found == 0xFF || marker::is_restart(found)) {
      at += found == 0xFF ? 1 : 2;
      continue;
    }
    only_restarts = false;
    // libjpeg passes over reserved markers, and over the lengths of all others that it does not refuse.
    const size_t length = found < marker::kFirstWithLength || at + 3 >= coded.size()
                              ? 0
                              : static_cast<size_t>(coded[at + 2]) << 8 | coded[at + 3];
    const bool has_segment = length >= 2 && length <= coded.size() - at - 2;
    if (found == marker::kScan) {
      ++scans.count;
      scans.block_visits += visits_of(jpeg, has_segment ? coded.subspan(at + 4, length - 2) : coded.first(0));
    }
    at += 2 + (has_segment ? length : 0);
  }
  scans.is_plain = scans.has_end && only_restarts;
  return scans;
}

}  // namespace spdld::image
