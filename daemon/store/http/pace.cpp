#include "daemon/store/http/pace.h"

#include <curl/curl.h>

#include <charconv>
#include <string>

namespace spdld::store::http {

std::optional<uint64_t> retry_after_s(std::string_view text, int64_t unix_s) {
  if (text.empty()) return {};
  uint64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool is_number = end == text.data() + text.size() && text.front() != '-';
  if (is_number && error == std::errc()) return seconds;
  if (is_number && error == std::errc::result_out_of_range) return UINT64_MAX;
  // A date begins with the name of its day.
  const bool begins_with_letter =
      (text.front() >= 'A' && text.front() <= 'Z') || (text.front() >= 'a' && text.front() <= 'z');
  if (!begins_with_letter) return {};
  const time_t date = curl_getdate(std::string(text).c_str(), nullptr);
  if (date < 0) return {};
  return date > unix_s ? static_cast<uint64_t>(date - unix_s) : 0;
}

}  // namespace spdld::store::http
