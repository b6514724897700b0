#include "daemon/source/annotations/list_text.h"

#include <charconv>
#include <cmath>

#include "daemon/source/tables/reading/json_text.h"

namespace spdld::source {

std::string_view without_blanks(std::string_view text) {
  const size_t first = text.find_first_not_of(kJsonBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kJsonBlanks) + 1 - first);
}

std::optional<double> finite_number(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);  // as Python's float() takes it
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

}  // namespace spdld::source
