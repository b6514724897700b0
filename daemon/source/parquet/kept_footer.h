// Footers as a kept listing has them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/source/parquet/table.h"

namespace spdld::source::parquet {

std::string kept_bytes_of(const Footer& footer);
// The footer that was kept of a file with `file_bytes` bytes. None: the bytes are damaged, or columns lie beyond the
// file's bytes.
std::optional<Footer> footer_in(std::string_view bytes, uint64_t file_bytes);

}  // namespace spdld::source::parquet
