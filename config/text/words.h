// Words of files, command lines and messages: texts from outside as they may stand in a sentence, and the small rules
// for names. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace spdld::config {

// A text from outside as it may stand in a message: at most `bytes_max`, valid UTF-8, nothing that steers a terminal.
std::string printable(std::string_view text, size_t bytes_max = 80);
std::string in_quotes(std::string_view text);  // printable, between quotes

// ' (did you mean "scale"?)', or nothing where no known name is near.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> known);

// Whether the two are one name, but for one slip of the hand, case and the signs between words. Long names are not
// compared.
bool is_nearly(std::string_view name, std::string_view known);

std::string joined(std::span<const std::string_view> words);  // "a", "b", "c"

// 1 to 64 letters, digits (ASCII) and characters of `also`.
bool is_word(std::string_view text, std::string_view also);
bool is_digits(std::string_view text);  // 1 to 9 of them
// A text for messages and paths alike has no use for control characters, and a C interface ends at a NUL.
bool is_plain(std::string_view text);

}  // namespace spdld::config
