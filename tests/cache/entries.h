// Entries for tests of the cache: their bytes follow from the sample, so that a reader can tell whose they are.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "daemon/cache/cache.h"

namespace spdld::test {

constexpr uint64_t kMiB = 1u << 20;

cache::ShelfKey shelf_key(const std::string& uri, cache::Form form = cache::Form::kPrepared);
store::Identity identity_of(uint64_t sample);
std::vector<uint8_t> entry_of(uint64_t sample, uint64_t bytes);
bool is_entry_of(uint64_t sample, const uint8_t* bytes, uint64_t count);

// Reserves, writes and keeps an entry. False: there was no room.
bool put_in_memory(cache::Shelf& shelf, uint64_t sample, uint64_t bytes);
bool put_on_disk(cache::Shelf& shelf, uint64_t sample, uint64_t bytes);
// Puts samples from `first` on until there is no room, at most `most`; how many were put.
uint64_t fill_memory(cache::Shelf& shelf, uint64_t first, uint64_t bytes, uint64_t most);

bool is_in_memory(const cache::Shelf& shelf, uint64_t sample);
bool is_on_disk(const cache::Shelf& shelf, uint64_t sample);
// What the disk has of a sample that was found there.
std::vector<uint8_t> read_found(const cache::Found& found);
const cache::ShelfReport& line_of(const cache::Report& report, const cache::ShelfKey& key);

// The sizes of all files below a folder.
uint64_t bytes_below(const std::filesystem::path& folder);
// The one folder of a shelf below the cache's.
std::filesystem::path only_shelf_folder(const std::filesystem::path& folder);

}  // namespace spdld::test
