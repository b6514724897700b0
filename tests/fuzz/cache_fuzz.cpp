// Feeds arbitrary bytes to the index of a shelf on disk and to the header of its folder: as they are, and as records
// whose checksums fit. Whatever they are, an entry that is found must lie in the file of entries.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "daemon/cache/disk/disk_index.h"
#include "daemon/cache/disk/shelf_header.h"
#include "proto/unique_fd.h"

namespace {

using namespace spdld;

constexpr uint64_t kSamples = 200, kFileBytes = 100'000;
const std::string kDigits(32, 'd');

void append(std::vector<uint8_t>& file, std::span<const uint8_t> bytes) {
  file.insert(file.end(), bytes.begin(), bytes.end());
}

// Each 48 bytes of input become a record with the checksum that belongs to them.
std::vector<uint8_t> sound_file(std::span<const uint8_t> bytes) {
  std::vector<uint8_t> file;
  append(file, cache::index_header(kDigits));
  while (bytes.size() >= 48) {
    uint64_t numbers[6];
    std::memcpy(numbers, bytes.data(), sizeof numbers);
    append(file,
           cache::index_record(
               {numbers[0] % 256, {numbers[1], static_cast<int64_t>(numbers[2])}, numbers[3], numbers[4], numbers[5]}));
    bytes = bytes.subspan(48);
  }
  append(file, bytes);  // a torn tail
  return file;
}

void read(std::span<const uint8_t> file) {
  const UniqueFd fd(::memfd_create("index", MFD_CLOEXEC));
  if (!fd || ::write(fd.get(), file.data(), file.size()) != static_cast<ssize_t>(file.size())) std::abort();
  cache::DiskIndex index(kSamples);
  uint64_t loaded = 0;
  const auto result = cache::read_index(fd.get(), kDigits, [&](const cache::IndexRecord& record) {
    const bool is_true = index.load(record, kFileBytes);
    loaded += is_true ? 1 : 0;
    return is_true;
  });
  if (!result || result->sound_bytes > file.size() || index.entries() > loaded) std::abort();
  uint64_t found = 0, bytes = 0;
  for (uint64_t sample = 0; sample < kSamples + 10; ++sample) {
    const auto entry = index.find(sample, 1);
    if (!entry) continue;
    ++found;
    bytes += entry->record.bytes;
    if (entry->record.offset > kFileBytes || entry->record.bytes > kFileBytes - entry->record.offset) std::abort();
  }
  if (found != index.entries() || bytes != index.entry_bytes()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::span input(bytes, size);
  read(input);
  read(sound_file(input));
  const auto header = cache::read_header({reinterpret_cast<const char*>(bytes), size});
  if (header) {
    const auto again = cache::read_header(cache::header_text(*header));
    if (!again || again->key != header->key || again->samples != header->samples) std::abort();
  }
  return 0;
}
