#include "tests/cache/entries.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace spdld::test {
namespace {

uint8_t byte_of(uint64_t sample, uint64_t at) { return static_cast<uint8_t>((sample + 1) * 2654435761u + at * 7); }

}  // namespace

cache::ShelfKey shelf_key(const std::string& uri, cache::Form form) {
  return {uri, "f1", "image", form == cache::Form::kPrepared ? "planes 1" : ""};
}

store::Identity identity_of(uint64_t sample) {
  return {sample * 1'000'003 + 17, static_cast<int64_t>(sample) * 1'000'000'007 - 5};
}

std::vector<uint8_t> entry_of(uint64_t sample, uint64_t bytes) {
  std::vector<uint8_t> entry(bytes);
  for (uint64_t i = 0; i < bytes; ++i) entry[i] = byte_of(sample, i);
  return entry;
}

bool is_entry_of(uint64_t sample, const uint8_t* bytes, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    if (bytes[i] != byte_of(sample, i)) return false;
  }
  return true;
}

bool put_in_memory(cache::Shelf& shelf, uint64_t sample, uint64_t bytes) {
  auto room = shelf.reserve(sample, bytes);
  if (!room) return false;
  const auto entry = entry_of(sample, bytes);
  std::memcpy(room.memory(), entry.data(), bytes);
  room.keep(identity_of(sample));
  return true;
}

bool put_on_disk(cache::Shelf& shelf, uint64_t sample, uint64_t bytes) {
  const auto entry = entry_of(sample, bytes);
  return shelf.put_on_disk(sample, identity_of(sample), entry.data(), bytes);
}

uint64_t fill_memory(cache::Shelf& shelf, uint64_t first, uint64_t bytes, uint64_t most) {
  uint64_t count = 0;
  while (count < most && put_in_memory(shelf, first + count, bytes)) ++count;
  return count;
}

bool is_in_memory(const cache::Shelf& shelf, uint64_t sample) {
  const auto found = shelf.find(sample);
  return found.where == cache::Found::Where::kMemory && is_entry_of(sample, found.memory, found.bytes) &&
         found.identity == identity_of(sample);
}

bool is_on_disk(const cache::Shelf& shelf, uint64_t sample) {
  const auto found = shelf.find(sample);
  if (found.where != cache::Found::Where::kDisk || found.identity != identity_of(sample)) return false;
  const auto bytes = read_found(found);
  return is_entry_of(sample, bytes.data(), bytes.size()) && shelf.is_sound(sample, bytes);
}

std::vector<uint8_t> read_found(const cache::Found& found) {
  std::vector<uint8_t> bytes(found.bytes);
  const ssize_t n = ::pread(found.fd, bytes.data(), bytes.size(), static_cast<off_t>(found.offset));
  if (n != static_cast<ssize_t>(bytes.size())) throw std::runtime_error("an entry on disk can't be read");
  return bytes;
}

const cache::ShelfReport& line_of(const cache::Report& report, const cache::ShelfKey& key) {
  const auto at = std::find_if(report.shelves.begin(), report.shelves.end(), [&](auto& s) { return s.key == key; });
  if (at == report.shelves.end()) throw std::runtime_error("the report has no line of " + key.uri);
  return *at;
}

uint64_t bytes_below(const std::filesystem::path& folder) {
  uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

std::filesystem::path only_shelf_folder(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_directory()) found.push_back(entry.path());
  }
  if (found.size() != 1) throw std::runtime_error("there is not one shelf's folder");
  return found.front();
}

}  // namespace spdld::test
