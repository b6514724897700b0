// Reads what a data file holds, from its beginning to its end: its bytes, or what they unpack to where the file is
// compressed as a whole. Pure functions; any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "daemon/store/unpack/compression.h"
#include "daemon/store/view.h"

namespace spdld::source {

using store::unpack::Compression;

struct Content {
  Compression compression = Compression::kNone;
  uint64_t unpacker_bytes = 0;  // the memory that unpacking takes
  std::string damage = {};      // a clause: why its compressed bytes can't be read to their end; empty: they can
};

// Calls read(view, done) once, with a view of the content that goes forward alone; `done` counts the file's own bytes.
// Throws SetupError: what `read` throws, or the damage of the compressed bytes where this is the reason; and where the
// file is compressed in a way that is not read here.
using ReadContent = std::function<void(store::View& view, std::atomic<uint64_t>& done)>;
Content read_content(store::View& file, const std::string& path, std::atomic<uint64_t>& done,
                     const std::stop_token& stop, const ReadContent& read);

// The most bytes that the content of a file of `file_bytes` bytes may have.
uint64_t content_bytes_max(Compression compression, uint64_t file_bytes);

// "train.csv" for "train.csv.gz": the name of what a compressed file holds.
std::string_view content_name(std::string_view path);

}  // namespace spdld::source
