// Numbers as people read them. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace spdld::text {

std::string bytes_text(double bytes);        // "512 B", "1.5 GiB"
std::string duration_text(double seconds);   // "85 us", "12.3 ms", "4.2 s", "3 min 4 s", "2 h 5 min", "3 d 4 h"
std::string time_left_text(double seconds);  // As duration_text, in whole seconds: "1 s", "42 s", "3 min 4 s"
std::string count_text(uint64_t count);      // "1,281,167"
std::string decimal_text(double value, int digits);
std::string percent_text(double part);  // of 1: "42 %"
// The part of `total` that is done, in percent, rounded down: "100 %" says that all is done. Precondition: total > 0.
std::string percent_done_text(uint64_t done, uint64_t total);
// Events in a second: "98,123", "12.5", "0.25".
std::string rate_text(double per_s);

// "1 batch", "1,024 batches". Where no plural is given, it is the word with an s.
std::string counted(uint64_t count, std::string_view one, std::string_view many = {});

// Columns that a text takes on a terminal, counting code points.
size_t display_width(std::string_view text);

}  // namespace spdld::text
