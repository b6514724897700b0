// Numbers as people read them, and what may stand on a terminal. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace spdld::cli {

std::string bytes_text(double bytes);       // "512 B", "1.5 GiB"
std::string duration_text(double seconds);  // "85 us", "12.3 ms", "4.2 s", "3 min 4 s", "2 h 5 min", "3 d 4 h"
std::string count_text(uint64_t count);     // "1,281,167"
std::string decimal_text(double value, int digits);
std::string percent_text(double part);  // of 1: "42 %"

// "1 batch", "1,024 batches"; the plural is the word with an s where none is given.
std::string counted(uint64_t count, std::string_view one, std::string_view many = {});

// Columns that a text takes on a terminal, counting code points.
size_t display_width(std::string_view text);

// A text that came from elsewhere, so that it can't steer the terminal.
std::string safe_text(std::string_view text);

enum class Style : uint8_t { kPlain, kStrong, kDim, kGood, kWarning, kBad };

// Whether stdout is a terminal that wants colour (https://no-color.org).
bool colour_wanted();
std::string styled(std::string_view text, Style style, bool colour);

}  // namespace spdld::cli
