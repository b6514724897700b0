#include "client/cli/doctor/reading.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <utility>

#include "client/cli/doctor/facts.h"
#include "config/text/remote_uri.h"

namespace spdld::cli::doctor {
namespace {

template <typename T>
std::optional<T> whole_number(std::string_view text) {
  T number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

// The first line of `text`, which is cut off.
std::string_view take_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// The first word of `text`, which is cut off.
std::string_view take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  const size_t end = std::min(text.find_first_of(" \t\r\n"), text.size());
  return std::exchange(text, text.substr(end)).substr(0, end);
}

bool equals_any_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

// "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110)
std::optional<int64_t> moment_of(std::string_view text) {
  static constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                               "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  take_word(text);
  const auto day = whole_number<unsigned>(take_word(text));
  const auto month = std::find(kMonths.begin(), kMonths.end(), take_word(text));
  const auto year = whole_number<int>(take_word(text));
  const std::string_view time = take_word(text);
  if (time.size() != 8 || time[2] != ':' || time[5] != ':' || take_word(text) != "GMT") return {};
  const auto hours = whole_number<unsigned>(time.substr(0, 2)), minutes = whole_number<unsigned>(time.substr(3, 2)),
             seconds = whole_number<unsigned>(time.substr(6, 2));
  if (!day || !year || month == kMonths.end() || !hours || !minutes || !seconds) return {};
  if (*year < 1970 || *year > 9999 || *hours > 23 || *minutes > 59 || *seconds > 60) return {};
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(month - kMonths.begin()) + 1),
                                         std::chrono::day(*day)};
  if (!date.ok()) return {};
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return days * 86'400 + *hours * 3'600 + *minutes * 60 + *seconds;
}

}  // namespace

std::string chosen_in(std::string_view text) {
  for (std::string_view word = take_word(text); !word.empty(); word = take_word(text))
    if (word.size() > 2 && word.front() == '[' && word.back() == ']')
      return std::string(word.substr(1, word.size() - 2));
  return {};
}

std::optional<uint64_t> limit_in(std::string_view text, std::string_view name, bool is_hard) {
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (!line.starts_with(name) || line.substr(name.size(), 2) != "  ") continue;
    line.remove_prefix(name.size());
    const std::string_view soft = take_word(line), hard = take_word(line), chosen = is_hard ? hard : soft;
    return chosen == "unlimited" ? kUnlimited : whole_number<uint64_t>(chosen);
  }
  return {};
}

std::optional<uint64_t> number_in(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (take_word(line) == key) return whole_number<uint64_t>(take_word(line));
  }
  return {};
}

std::optional<uint64_t> memory_max_in(std::string_view text) {
  const std::string_view word = take_word(text);
  return word == "max" ? kUnlimited : whole_number<uint64_t>(word);
}

double cpu_quota_in(std::string_view text) {
  const auto quota = whole_number<uint64_t>(take_word(text)), period = whole_number<uint64_t>(take_word(text));
  return quota && period && *period > 0 ? static_cast<double>(*quota) / static_cast<double>(*period) : 0;
}

std::string group_in(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (line.starts_with("0::/") && line.find("/..") == std::string_view::npos) return std::string(line.substr(3));
  }
  return "/";
}

std::optional<int64_t> date_in(std::string_view response) {
  if (!take_line(response).starts_with("HTTP/")) return {};
  while (!response.empty()) {
    std::string_view line = take_line(response);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) return {};  // the head's end
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos && equals_any_case(line.substr(0, colon), "date"))
      return moment_of(line.substr(colon + 1));
  }
  return {};
}

std::string Server::text() const {
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port;
}

std::optional<Server> server_of(std::string_view url) {
  Server server;
  server.is_plain_http = url.starts_with("http://");
  if (!server.is_plain_http && !url.starts_with("https://")) return {};
  std::string_view rest = url.substr(url.find("://") + 3);
  rest = rest.substr(0, rest.find('/'));
  const size_t bracket = rest.starts_with('[') ? rest.find(']') : std::string_view::npos;
  if (rest.starts_with('[') && bracket == std::string_view::npos) return {};
  const size_t from = bracket == std::string_view::npos ? 0 : bracket + 1;
  const size_t colon = rest.find(':', from);
  server.host = bracket == std::string_view::npos ? rest.substr(0, colon) : rest.substr(1, bracket - 1);
  server.port = server.is_plain_http ? "80" : "443";
  if (colon != std::string_view::npos) server.port = rest.substr(colon + 1);
  if (server.host.empty() || !whole_number<uint16_t>(server.port)) return {};
  return server;
}

std::optional<Server> server_of(const config::StoreSettings& store, const StoreEnvironment& environment) {
  if (!store.proxy.empty()) {
    std::optional<Server> proxy = server_of(store.proxy);
    if (proxy) {
      proxy->is_proxy = true;
      proxy->is_plain_http = false;
    }
    return proxy;
  }
  if (!store.uri.starts_with("s3://")) return server_of(store.uri);
  const std::string& endpoint = store.endpoint.empty() ? environment.endpoint : store.endpoint;
  if (!endpoint.empty()) return server_of(endpoint);
  std::string region = store.region.empty() ? environment.region : store.region;
  if (region.empty()) region = "us-east-1";
  return server_of("https://s3." + region + (region.starts_with("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com"));
}

}  // namespace spdld::cli::doctor
