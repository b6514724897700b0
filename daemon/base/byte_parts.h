// The bytes of a file or of an object: all of them, or the parts that have been read so far. A value that borrows the
// bytes; any thread.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <span>
#include <vector>

namespace spdld {

struct ByteRange {
  uint64_t offset = 0, bytes = 0;

  uint64_t end() const { return offset + bytes; }
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

// Makes the ranges rise, and makes one range of ranges with at most `gap_max` bytes between them. Ranges without bytes
// are left out.
inline void join_ranges(std::vector<ByteRange>& ranges, uint64_t gap_max) {
  std::erase_if(ranges, [](const ByteRange& range) { return range.bytes == 0; });
  std::sort(ranges.begin(), ranges.end(), [](const ByteRange& a, const ByteRange& b) { return a.offset < b.offset; });
  size_t kept = 0;
  for (const ByteRange& range : ranges) {
    if (kept > 0 && range.offset <= ranges[kept - 1].end() + gap_max) {
      ranges[kept - 1].bytes = std::max(ranges[kept - 1].end(), range.end()) - ranges[kept - 1].offset;
    } else {
      ranges[kept++] = range;
    }
  }
  ranges.resize(kept);
}

class ByteParts {
 public:
  // All of the bytes.
  template <typename Bytes>
  requires std::convertible_to<const Bytes&, std::span<const uint8_t>> ByteParts(const Bytes& whole)
      : bytes_(whole), size_(bytes_.size()), is_whole_(true) {}
  // Of `size` bytes in all, these ranges, which rise and do not touch; `bytes` has them one behind another.
  ByteParts(uint64_t size, std::span<const ByteRange> ranges, std::span<const uint8_t> bytes)
      : bytes_(bytes),
        ranges_(ranges),
        size_(size),
        is_whole_(size == 0 || (ranges.size() == 1 && ranges.front() == ByteRange{0, size})) {}

  uint64_t size() const { return size_; }
  bool is_whole() const { return is_whole_; }
  // The parts that are there, unless the object was made of all bytes.
  std::span<const ByteRange> ranges() const { return ranges_; }

  // The bytes from `offset` on that lie together; empty: the byte there was not read, or there is none.
  std::span<const uint8_t> from(uint64_t offset) const {
    if (is_whole_) return offset < size_ ? bytes_.subspan(offset) : std::span<const uint8_t>();
    uint64_t at = 0;
    for (const ByteRange& range : ranges_) {
      if (offset >= range.offset && offset < range.end())
        return bytes_.subspan(at + (offset - range.offset), range.end() - offset);
      at += range.bytes;
    }
    return {};
  }
  // Exactly these bytes; empty: not all of them are there. Precondition: bytes > 0.
  std::span<const uint8_t> at(uint64_t offset, uint64_t bytes) const {
    const std::span<const uint8_t> found = from(offset);
    return found.size() < bytes ? std::span<const uint8_t>() : found.first(bytes);
  }
  // Where the next part behind `offset` begins; size() where there is none. Precondition: from(offset) is empty.
  uint64_t next_part(uint64_t offset) const {
    for (const ByteRange& range : ranges_)
      if (range.offset > offset) return range.offset;
    return size_;
  }
  bool has(const ByteRange& range) const { return range.bytes == 0 || !at(range.offset, range.bytes).empty(); }

 private:
  std::span<const uint8_t> bytes_;
  std::span<const ByteRange> ranges_;
  uint64_t size_ = 0;
  bool is_whole_ = false;
};

}  // namespace spdld
