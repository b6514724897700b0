#include "daemon/node/seats/memory_room.h"

#include <catch2/catch.hpp>
#include <limits>
#include <vector>

namespace spdld::memory_room_test {

using namespace spdld::node;

constexpr uint64_t kMiB = 1 << 20;

namespace {

MemoryLimit limit(uint64_t mib, uint64_t used_mib, const std::string& name = "memory.max grants") {
  return {mib * kMiB, used_mib * kMiB, name};
}

MemoryRoom room(const std::vector<MemoryLimit>& limits, const MemoryClaims& claims) {
  return memory_room(limits, claims);
}

}  // namespace

TEST_CASE("a ring that is larger than a limit is refused, with the limit's name and its numbers") {
  const MemoryRoom large =
      room({limit(100'000, 10, "the machine has"), limit(1600, 50)}, {.wanted_bytes = 2000 * kMiB});
  CHECK(
      large.refusal ==
      "this ring needs 2097152000 bytes of slot memory, and memory.max grants 1677721600 bytes: 52428800 are used, and "
      "104857600 are kept for other rings, the cache and decoding; lower batch.size or batch.prefetch_depth, or raise "
      "the limit");
  CHECK(room({limit(100'000, 10)}, {.wanted_bytes = 2000 * kMiB}).refusal.empty());
}

TEST_CASE("what is used, promised and kept for others counts, to the byte") {
  const MemoryClaims claims{.wanted_bytes = 1000 * kMiB, .promised_bytes = 200 * kMiB, .cache_bytes = 100 * kMiB};
  CHECK(room({limit(1600, 200)}, claims).refusal.empty());  // 1000 + 200 + 100 + 1600 / 16 + 200
  MemoryClaims more = claims;
  more.wanted_bytes++;
  CHECK_FALSE(room({limit(1600, 200)}, more).refusal.empty());
  more = claims, more.promised_bytes++;
  CHECK_FALSE(room({limit(1600, 200)}, more).refusal.empty());
  more = claims, more.cache_bytes++;
  CHECK_FALSE(room({limit(1600, 200)}, more).refusal.empty());
}

TEST_CASE("a cache that may grow beyond a quarter of a limit does not keep all rings out") {
  CHECK(room({limit(1600, 0)}, {.wanted_bytes = 1100 * kMiB, .cache_bytes = 50'000 * kMiB}).refusal.empty());
  CHECK_FALSE(room({limit(1600, 0)}, {.wanted_bytes = 1101 * kMiB, .cache_bytes = 50'000 * kMiB}).refusal.empty());
}

TEST_CASE("memory that samples may be lent is kept, up to an eighth of a limit") {
  CHECK(room({limit(1600, 0)}, {.wanted_bytes = 1400 * kMiB, .decode_bytes = 100 * kMiB}).refusal.empty());
  CHECK_FALSE(room({limit(1600, 0)}, {.wanted_bytes = 1401 * kMiB, .decode_bytes = 100 * kMiB}).refusal.empty());
  CHECK(room({limit(1600, 0)}, {.wanted_bytes = 1300 * kMiB, .decode_bytes = 50'000 * kMiB}).refusal.empty());
  CHECK_FALSE(room({limit(1600, 0)}, {.wanted_bytes = 1301 * kMiB, .decode_bytes = 50'000 * kMiB}).refusal.empty());
}

TEST_CASE("spare memory goes before a ring is refused, and no more of it than is needed") {
  const MemoryClaims claims{.wanted_bytes = 1000 * kMiB, .spare_bytes = 300 * kMiB};
  CHECK(room({limit(1600, 400)}, claims).spare_bytes_max == 300 * kMiB);
  CHECK(room({limit(1600, 600)}, claims).spare_bytes_max == 200 * kMiB);
  CHECK(room({limit(1600, 600)}, claims).refusal.empty());
  CHECK(room({limit(1600, 800)}, claims).spare_bytes_max == 0);
  CHECK_FALSE(room({limit(1600, 801)}, claims).refusal.empty());
}

TEST_CASE("each limit is looked at, and one without numbers refuses nothing") {
  const uint64_t no_limit = std::numeric_limits<uint64_t>::max();
  CHECK(room({{no_limit, 0, "the machine has"}}, {.wanted_bytes = 1ull << 50}).refusal.empty());
  CHECK(room({}, {.wanted_bytes = no_limit}).refusal.empty());
  CHECK(room({limit(1600, 0), limit(800, 0, "memory.high grants")}, {.wanted_bytes = 900 * kMiB})
            .refusal.find("memory.high grants") != std::string::npos);
  CHECK_FALSE(room({limit(100, 200)}, {.wanted_bytes = 1}).refusal.empty());  // lowered below what is used
}

}  // namespace spdld::memory_room_test
