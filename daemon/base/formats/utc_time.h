// Times of day as texts of services, in UTC. Pure functions; any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace spdld {

// Reads "2013-05-24T00:00:00Z", with or without a fraction of a second, which is cut off, and with "Z" or an offset
// such as "+02:00" (RFC 3339). Returns Unix seconds; nothing where the text is no such time, or its year is beyond
// 1970-9999.
std::optional<int64_t> parse_utc(std::string_view text);
// "2013-05-24T00:00:00Z"
std::string utc_text(std::chrono::system_clock::time_point time);

}  // namespace spdld
