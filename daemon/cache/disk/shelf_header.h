// The text file in a shelf's folder that tells its key in words; its modification time is the time of the shelf's last
// use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/cache/entries/entry.h"

namespace spdld::cache {

struct ShelfHeader {
  ShelfKey key;
  uint64_t samples = 0;
};

std::string key_digits(const ShelfKey& key);  // 32 hexadecimal digits: the name of its folder
std::string header_text(const ShelfHeader& header);
std::optional<ShelfHeader> read_header(std::string_view text);  // nothing: no header, or of another format

}  // namespace spdld::cache
