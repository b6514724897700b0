#include "daemon/base/formats/utc_time.h"

#include <algorithm>
#include <array>
#include <ctime>

namespace spdld {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes as many digits as `form` has 'd's, and its other characters as they are; the numbers go to `numbers`.
bool take(std::string_view& text, std::string_view form, int* numbers) {
  if (text.size() < form.size()) return false;
  bool in_number = false;
  for (size_t i = 0; i < form.size(); ++i) {
    if (form[i] != 'd') {
      if (text[i] != form[i]) return false;
      numbers += in_number ? 1 : 0;
      in_number = false;
      continue;
    }
    if (!is_digit(text[i])) return false;
    *numbers = in_number ? *numbers * 10 + (text[i] - '0') : text[i] - '0';
    in_number = true;
  }
  text.remove_prefix(form.size());
  return true;
}

}  // namespace

std::optional<int64_t> parse_utc(std::string_view text) {
  int numbers[6] = {};
  if (!take(text, "dddd-dd-ddTdd:dd:dd", numbers)) return std::nullopt;
  const auto [year, month, day, hour, minute, second] = numbers;
  const std::chrono::year_month_day date(std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day)));
  if (!date.ok() || year < 1970 || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  if (text.starts_with('.')) {
    const auto end = std::find_if_not(text.begin() + 1, text.end(), is_digit);
    if (end == text.begin() + 1) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.begin()));
  }
  int64_t offset_s = 0;
  if (text != "Z" && text != "z") {
    const int sign = text.starts_with('-') ? -1 : text.starts_with('+') ? 1 : 0;
    if (sign == 0) return std::nullopt;
    text.remove_prefix(1);
    int parts[2] = {};
    if (!take(text, "dd:dd", parts) || !text.empty() || parts[0] > 23 || parts[1] > 59) return std::nullopt;
    offset_s = sign * (parts[0] * 3600 + parts[1] * 60);
  }
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return days * 86400 + hour * 3600 + minute * 60 + second - offset_s;
}

std::string utc_text(std::chrono::system_clock::time_point time) {
  const std::time_t at = std::chrono::system_clock::to_time_t(time);
  std::tm utc{};
  gmtime_r(&at, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

}  // namespace spdld
