// Headers of the codec and palettes that a video's packets bring beside their data: each of several descriptions of an
// MP4 file has a header. A change counts from its packet on, until the next of its kind. Any thread, objects by one at
// a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace spdld {
class KeptReader;
class KeptWriter;
}  // namespace spdld

namespace spdld::ffmpeg {

enum class ChangeKind : uint8_t { kHeader, kPalette };

class StreamChanges {
 public:
  static constexpr size_t kBytesMax = size_t{16} << 20;  // of all of them; equal ones count once
  static constexpr size_t kContentsMax = size_t{1} << 14;

  // To be called by rising packets, and once a packet and kind. Content that counts already is no change. False: there
  // is no room for it.
  bool add(ChangeKind kind, uint32_t packet, std::span<const uint8_t> content);

  // The content that counts at this packet; empty: the packets up to it brought nothing.
  std::span<const uint8_t> at(ChangeKind kind, uint32_t packet) const;
  // The content that this very packet brings; empty: nothing.
  std::span<const uint8_t> of(ChangeKind kind, uint32_t packet) const;
  // The packet that brought what counts at this packet; 0: none did.
  uint32_t begin_of(ChangeKind kind, uint32_t packet) const;

  void pack(KeptWriter& to) const;
  // None: the bytes are damaged. All changes are of packets below `packets`.
  static std::optional<StreamChanges> unpacked(KeptReader& from, uint64_t packets);

 private:
  struct Change {
    uint32_t packet, content;  // its number in contents_
  };
  struct Content {
    size_t offset, bytes;  // in bytes_
    uint64_t hash;
  };
  const Change* last(ChangeKind kind, uint32_t packet) const;
  std::span<const uint8_t> bytes_of(const Change& change) const;
  std::optional<uint32_t> content_of(std::span<const uint8_t> content);

  std::array<std::vector<Change>, 2> changes_;  // of each kind
  std::vector<Content> contents_;
  std::vector<uint8_t> bytes_;
};

}  // namespace spdld::ffmpeg
