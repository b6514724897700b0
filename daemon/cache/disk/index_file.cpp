#define XXH_INLINE_ALL  // header only: no library to link
#include "daemon/cache/disk/index_file.h"

#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

namespace spdld::cache {
namespace {

constexpr std::string_view kMagic = "SPDLDix1";
constexpr size_t kKeyDigits = 32;

constexpr uint64_t kPreparedBit = IndexRecord::kOffsetMax + 1;

struct RecordBytes {
  uint64_t sample, size;
  int64_t changed;
  uint64_t place, bytes, checksum, own_checksum;
};
static_assert(sizeof(RecordBytes) == kIndexRecordBytes);

uint64_t own_checksum(const RecordBytes& record) { return XXH3_64bits(&record, offsetof(RecordBytes, own_checksum)); }

// As many bytes as the file has from `offset` on, at most `bytes`; -1: errno says it.
ssize_t read_fully(int fd, uint8_t* to, size_t bytes, uint64_t offset) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t n = ::pread(fd, to + done, bytes - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  return static_cast<ssize_t>(done);
}

Error read_error() {
  return {Trouble::kTransient, "its index can't be read: " + std::generic_category().message(errno)};
}

// The sound records of `bytes`, which begin at `at` in the file.
void read_records(std::span<const uint8_t> bytes, uint64_t at, const std::function<bool(const IndexRecord&)>& accept,
                  IndexRead& read) {
  for (size_t i = 0; i + kIndexRecordBytes <= bytes.size(); i += kIndexRecordBytes) {
    RecordBytes r;
    std::memcpy(&r, bytes.data() + i, sizeof r);
    const Form form = r.place & kPreparedBit ? Form::kPrepared : Form::kEncoded;
    const bool is_sound =
        r.own_checksum == own_checksum(r) &&
        accept({r.sample, {r.size, r.changed}, r.place & IndexRecord::kOffsetMax, r.bytes, r.checksum, form});
    if (is_sound) {
      read.sound_bytes = at + i + kIndexRecordBytes;
    } else {
      ++read.damaged;
    }
  }
}

}  // namespace

uint64_t checksum_of(std::span<const uint8_t> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::array<uint8_t, kIndexHeaderBytes> index_header(std::string_view key_digits) {
  std::array<uint8_t, kIndexHeaderBytes> header{};
  std::memcpy(header.data(), kMagic.data(), kMagic.size());
  std::memcpy(header.data() + kMagic.size(), key_digits.data(), std::min(key_digits.size(), kKeyDigits));
  const uint64_t checksum = checksum_of(std::span(header).first<kMagic.size() + kKeyDigits>());
  std::memcpy(header.data() + kMagic.size() + kKeyDigits, &checksum, sizeof checksum);
  return header;
}

std::array<uint8_t, kIndexRecordBytes> index_record(const IndexRecord& record) {
  const uint64_t place = record.offset | (record.form == Form::kPrepared ? kPreparedBit : 0);
  RecordBytes r{record.sample, record.identity.size, record.identity.changed, place, record.bytes, record.checksum, 0};
  r.own_checksum = own_checksum(r);
  std::array<uint8_t, kIndexRecordBytes> bytes;
  std::memcpy(bytes.data(), &r, sizeof r);
  return bytes;
}

Result<IndexRead> read_index(int fd, std::string_view key_digits,
                             const std::function<bool(const IndexRecord&)>& accept) {
  constexpr size_t kRecordsAtOnce = 16'384;
  IndexRead read;
  std::array<uint8_t, kIndexHeaderBytes> header;
  const ssize_t header_bytes = read_fully(fd, header.data(), header.size(), 0);
  if (header_bytes < 0) return read_error();
  if (static_cast<uint64_t>(header_bytes) < header.size() || header != index_header(key_digits)) return read;
  read.sound_bytes = kIndexHeaderBytes;
  std::vector<uint8_t> bytes(kRecordsAtOnce * kIndexRecordBytes);
  for (uint64_t at = kIndexHeaderBytes;; at += bytes.size()) {  // ends with the file
    const ssize_t n = read_fully(fd, bytes.data(), bytes.size(), at);
    if (n < 0) return read_error();
    read_records(std::span(bytes).first(static_cast<size_t>(n)), at, accept, read);
    if (static_cast<size_t>(n) < bytes.size()) return read;
  }
}

}  // namespace spdld::cache
