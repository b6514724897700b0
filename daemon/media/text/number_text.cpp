#include "daemon/media/text/number_text.h"

#include <charconv>
#include <cmath>
#include <string>

#include "daemon/base/formats/text_encoding.h"

namespace spdld::text {
namespace {

constexpr size_t kCited = 32;  // bytes

std::string_view trimmed(std::string_view text) {
  text = without_byte_order_mark(text);
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
  const auto is_blank = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\0'; };
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

Error none(std::string_view text) {
  return {Trouble::kContent, "'" + std::string(text.substr(0, kCited)) + "' is no decimal number"};
}

}  // namespace

Result<int64_t> integer_in(std::string_view text) {
  text = trimmed(text);
  int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) return none(text);
  return value;
}

Result<double> number_in(std::string_view text, bool as_float32) {
  text = trimmed(text);
  std::string_view digits = text;
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
  double value = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool whole = stop == digits.data() + digits.size();
  if (whole && error == std::errc::result_out_of_range) {
    return Error{Trouble::kContent, "'" + std::string(text.substr(0, kCited)) + "' is beyond the range of float64"};
  }
  if (!whole || error != std::errc()) return none(text);
  const bool finite = as_float32 ? std::isfinite(static_cast<float>(value)) : std::isfinite(value);
  if (finite) return value;
  return Error{Trouble::kContent,
               "'" + std::string(text.substr(0, kCited)) + "' is no finite " + (as_float32 ? "float32" : "float64")};
}

}  // namespace spdld::text
