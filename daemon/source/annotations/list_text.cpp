#include "daemon/source/annotations/list_text.h"

#include <charconv>
#include <cmath>

#include "daemon/source/tables/json_text.h"

namespace spdld::source {

std::string_view without_blanks(std::string_view text) {
  const size_t first = text.find_first_not_of(kJsonBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kJsonBlanks) + 1 - first);
}

std::optional<double> finite_number(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

void append_number(std::string& list, double number) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  list.append(digits, end);
}

void append_text(std::string& list, std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  list += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20)
      list.append("\\u00").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
    else
      list.append(c == '"' || c == '\\' ? 1 : 0, '\\').append(1, c);
  }
  list += '"';
}

}  // namespace spdld::source
