#include "daemon/media/ffmpeg/packets/stream_changes.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "daemon/base/formats/kept_bytes.h"

namespace spdld::stream_changes_test {
namespace {

using ffmpeg::ChangeKind;
using ffmpeg::StreamChanges;
using Bytes = std::vector<uint8_t>;

Bytes copy(std::span<const uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

StreamChanges some() {
  StreamChanges changes;
  CHECK(changes.add(ChangeKind::kHeader, 3, Bytes{1, 2}));
  CHECK(changes.add(ChangeKind::kPalette, 3, Bytes{7}));
  CHECK(changes.add(ChangeKind::kHeader, 5, Bytes{1, 2}));  // it counts already
  CHECK(changes.add(ChangeKind::kHeader, 8, Bytes{4}));
  CHECK(changes.add(ChangeKind::kHeader, 9, Bytes{}));  // nothing
  CHECK(changes.add(ChangeKind::kHeader, 12, Bytes{1, 2}));
  return changes;
}

void check_some(const StreamChanges& changes) {
  const Bytes nothing, first = {1, 2}, second = {4}, palette = {7};
  const std::vector<std::pair<uint32_t, Bytes>> headers = {{0, nothing}, {2, nothing}, {3, first},  {7, first},
                                                           {8, second},  {11, second}, {12, first}, {99, first}};
  for (const auto& [packet, header] : headers) {
    INFO(packet);
    CHECK(copy(changes.at(ChangeKind::kHeader, packet)) == header);
    const bool is_change = packet == 3 || packet == 8 || packet == 12;
    CHECK(copy(changes.of(ChangeKind::kHeader, packet)) == (is_change ? header : nothing));
    CHECK(copy(changes.at(ChangeKind::kPalette, packet)) == (packet >= 3 ? palette : nothing));
  }
  CHECK(changes.begin_of(ChangeKind::kHeader, 2) == 0);
  CHECK(changes.begin_of(ChangeKind::kHeader, 11) == 8);
}

TEST_CASE("a change counts from its packet on, until the next of its kind") { check_some(some()); }

TEST_CASE("changes that were kept are the same") {
  KeptWriter to;
  some().pack(to);
  KeptReader from(to.bytes());
  const auto kept = StreamChanges::unpacked(from, 13);
  REQUIRE(kept);
  check_some(*kept);
  CHECK(from.rest().empty());
  KeptReader again(to.bytes());
  CHECK_FALSE(StreamChanges::unpacked(again, 12));  // there is no packet 12
}

TEST_CASE("damaged bytes of changes give none, or ones within bounds") {
  KeptWriter to;
  some().pack(to);
  std::mt19937 random(3);
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = to.bytes();
    for (int flips = 1 + static_cast<int>(random() % 3); flips > 0; --flips)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    KeptReader from(bytes);
    const auto changes = StreamChanges::unpacked(from, 13);
    refused += !changes;
    if (!changes) continue;
    for (uint32_t packet = 0; packet < 13; ++packet)
      for (const ChangeKind kind : {ChangeKind::kHeader, ChangeKind::kPalette})
        REQUIRE(copy(changes->at(kind, packet)).size() <= bytes.size());
  }
  CHECK(refused > 0);
}

TEST_CASE("the bytes of changes are bounded, and equal ones count once") {
  StreamChanges changes;
  const Bytes large(StreamChanges::kBytesMax / 2, 1), other(StreamChanges::kBytesMax / 2, 2);
  for (uint32_t packet = 0; packet < 8; packet += 2) {
    CHECK(changes.add(ChangeKind::kHeader, packet, large));
    CHECK(changes.add(ChangeKind::kHeader, packet + 1, other));
  }
  CHECK_FALSE(changes.add(ChangeKind::kHeader, 8, Bytes{3}));
  StreamChanges many;
  uint32_t packet = 0;
  for (; packet < StreamChanges::kContentsMax; ++packet)
    REQUIRE(
        many.add(ChangeKind::kPalette, packet, Bytes{static_cast<uint8_t>(packet), static_cast<uint8_t>(packet >> 8)}));
  CHECK_FALSE(many.add(ChangeKind::kPalette, packet, Bytes{1, 2, 3}));
}

}  // namespace
}  // namespace spdld::stream_changes_test
