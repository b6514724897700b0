// A record: the values of an item of a user's data set, as a worker writes them into scratch memory and the daemon
// takes them out (PROTOCOL.md, "Crews"). It begins with a table, the bytes of each value as a uint64 (little endian),
// and the values follow, each at the next multiple of 64 from the record's start. It ends with the last value. Pure
// functions.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace spdld::proto::crew {

inline constexpr uint64_t kValueAlignment = 64;
inline constexpr size_t kValuesMax = 256;  // of a record

inline constexpr uint64_t aligned_value(uint64_t offset) {
  return (offset + kValueAlignment - 1) / kValueAlignment * kValueAlignment;
}

// Where a value begins, behind values of these bytes.
inline uint64_t value_offset(std::span<const uint64_t> before, size_t count) {
  uint64_t at = aligned_value(count * sizeof(uint64_t));
  for (const uint64_t bytes : before) at = aligned_value(at + bytes);
  return at;
}

// Value `number` of a record with `count` values, whose writer is not trusted: each byte of the table is read once.
// None: the value does not lie in the record.
inline std::optional<std::span<const uint8_t>> value_in(std::span<const uint8_t> record, size_t count, size_t number) {
  if (number >= count || record.size() / sizeof(uint64_t) < count) return std::nullopt;
  uint64_t at = aligned_value(count * sizeof(uint64_t));
  for (size_t i = 0;; ++i) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, record.data() + i * sizeof bytes, sizeof bytes);
    if (bytes > record.size()) return std::nullopt;
    if (i == number) {
      if (bytes == 0) return record.first(0);
      if (at > record.size() || bytes > record.size() - at) return std::nullopt;
      return record.subspan(at, bytes);
    }
    at = aligned_value(at + bytes);  // at most kValuesMax times the record's bytes
  }
}

}  // namespace spdld::proto::crew
