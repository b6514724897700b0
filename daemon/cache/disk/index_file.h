// The index of a shelf on disk: a header, then records in the order in which the entries were put. Append-only; where a
// sample has several records, its last record counts.
//
//   header, 48 bytes:  "SPDLDix1", 32 hexadecimal digits of the shelf's key, XXH3-64 of the 40 bytes before
//   record, 56 bytes:  sample, size of the sample's file, its time of change (signed, ns since 1970), offset of the
//                      entry in the file of entries, its bytes, XXH3-64 of the entry, XXH3-64 of the 48 bytes before
//
// The highest bit of an offset says that the entry has the shelf's prepared form; without it the bytes are as fetched.
//
// Numbers have 64 bits in the machine's own order (a local disk stays in its machine; with another byte order no
// checksum would fit).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "daemon/base/result.h"
#include "daemon/cache/entries/entry.h"
#include "daemon/store/object.h"

namespace spdld::cache {

struct IndexRecord {
  uint64_t sample = 0;
  store::Identity identity;
  uint64_t offset = 0, bytes = 0;
  uint64_t checksum = 0;
  Form form = Form::kEncoded;

  static constexpr uint64_t kOffsetMax = ~0ull >> 1;
};

constexpr uint64_t kIndexHeaderBytes = 48, kIndexRecordBytes = 56;

uint64_t checksum_of(std::span<const uint8_t> bytes);  // XXH3-64

std::array<uint8_t, kIndexHeaderBytes> index_header(std::string_view key_digits);
std::array<uint8_t, kIndexRecordBytes> index_record(const IndexRecord& record);

struct IndexRead {
  uint64_t sound_bytes = 0;  // up to the end of the last record that was accepted; 0: the header is not sound
  uint64_t damaged = 0;      // records whose checksum is wrong, or that were not accepted
};
// `accept` says of each sound record whether it can be true. The only errors are the system's.
Result<IndexRead> read_index(int fd, std::string_view key_digits,
                             const std::function<bool(const IndexRecord&)>& accept);

}  // namespace spdld::cache
