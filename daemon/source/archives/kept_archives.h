// The index of an archive as bytes, for a kept listing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/source/archives/archive_index.h"

namespace spdld::source {

std::string kept_bytes_of(const ArchiveIndex& index);
// None: the bytes are damaged, or members lie beyond the archive's bytes.
std::optional<ArchiveIndex> archive_index_in(std::string_view bytes, uint64_t archive_bytes);

}  // namespace spdld::source
