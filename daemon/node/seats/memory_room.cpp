#include "daemon/node/seats/memory_room.h"

#include <algorithm>

namespace spdld::node {
namespace {

std::string refusal_by(const MemoryLimit& limit, const MemoryClaims& claims, uint64_t for_others) {
  return "this ring needs " + std::to_string(claims.wanted_bytes) + " bytes of slot memory, and " + limit.name + " " +
         std::to_string(limit.bytes) + " bytes: " + std::to_string(limit.used_bytes) + " are used, and " +
         std::to_string(for_others) +
         " are kept for other rings, the cache and decoding; lower batch.size or batch.prefetch_depth, or raise the "
         "limit";
}

}  // namespace

MemoryRoom memory_room(std::span<const MemoryLimit> limits, const MemoryClaims& claims) {
  MemoryRoom room{claims.spare_bytes, {}};
  for (const MemoryLimit& limit : limits) {
    const uint64_t cache = std::min(claims.cache_bytes, limit.bytes / kMemoryPartOfCache);
    const uint64_t decoding = std::min(claims.decode_bytes, limit.bytes / kMemoryPartOfDecoding);
    const uint64_t for_others = claims.promised_bytes + cache + decoding + limit.bytes / kMemoryPartKept;
    const uint64_t taken = limit.used_bytes + for_others;
    const uint64_t left = limit.bytes - std::min(limit.bytes, taken);
    if (claims.wanted_bytes <= left) continue;
    // `taken` may be above the limit, where spare memory has to make up for that as well.
    const uint64_t short_by = claims.wanted_bytes + taken - limit.bytes;
    if (short_by > claims.spare_bytes) return {claims.spare_bytes, refusal_by(limit, claims, for_others)};
    room.spare_bytes_max = std::min(room.spare_bytes_max, claims.spare_bytes - short_by);
  }
  return room;
}

}  // namespace spdld::node
