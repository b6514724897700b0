#include "daemon/store/http/pace.h"

#include <curl/curl.h>

#include <charconv>
#include <string>

namespace spdld::store::http {

std::optional<uint64_t> retry_after_s(std::string_view text, int64_t unix_s) {
  if (text.empty()) return {};
  uint64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error == std::errc() && end == text.data() + text.size()) return seconds;
  const time_t date = curl_getdate(std::string(text).c_str(), nullptr);
  if (date < 0) return {};
  return date > unix_s ? static_cast<uint64_t>(date - unix_s) : 0;
}

}  // namespace spdld::store::http
