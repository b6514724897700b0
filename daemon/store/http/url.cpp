#include "daemon/store/http/url.h"

#include <arpa/inet.h>
#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "config/text/words.h"
#include "daemon/store/http/cloud_address.h"
#include "daemon/store/http/curl_library.h"

namespace spdld::store::http {
namespace {

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
  void operator()(char* text) const { curl_free(text); }
};

std::string part(CURLU* url, CURLUPart what, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, what, &text, flags) != CURLUE_OK) return {};
  const std::unique_ptr<char, FreeUrl> owner(text);
  return text;
}

Ipv4 v4_of(const std::string& host, bool& is_v4) {
  Ipv4 bytes{};
  is_v4 = inet_pton(AF_INET, host.c_str(), bytes.data()) == 1;
  return bytes;
}

Ipv6 v6_of(const std::string& host, bool& is_v6) {
  Ipv6 bytes{};
  is_v6 = inet_pton(AF_INET6, host.substr(0, host.find('%')).c_str(), bytes.data()) == 1;  // a zone follows '%'
  return bytes;
}

}  // namespace

Result<Url> read_url(const std::string& text, const std::string& what) {
  const auto refused = [&](const std::string& why) { return Error{Trouble::kUsage, what + " " + why + "."}; };
  if (text.size() > kUrlBytesMax)
    return refused("is no URL: it has more than " + std::to_string(kUrlBytesMax) + " bytes");
  if (std::any_of(text.begin(), text.end(), [](unsigned char c) { return c <= ' ' || c == 0x7F; }))
    return refused("is no URL: it has a blank or a control character");
  use_curl();
  const std::unique_ptr<CURLU, FreeUrl> url(curl_url());
  if (!url) return Error{Trouble::kMemory, "there is no memory to read a URL."};
  // Each URL is read alike, whether libcurl knows its scheme or not, so that the error can name what is wrong.
  constexpr unsigned kFlags = CURLU_NON_SUPPORT_SCHEME | CURLU_PATH_AS_IS;
  const CURLUcode code = curl_url_set(url.get(), CURLUPART_URL, text.c_str(), kFlags);
  if (code != CURLUE_OK) return refused(std::string("is no URL: ") + curl_url_strerror(code));
  Url out{part(url.get(), CURLUPART_SCHEME), part(url.get(), CURLUPART_HOST), 0, part(url.get(), CURLUPART_PATH),
          !part(url.get(), CURLUPART_QUERY).empty()};
  if (out.scheme != "http" && out.scheme != "https")
    return refused("must begin with http:// or https://, not with " + config::printable(out.scheme) + "://");
  if (!part(url.get(), CURLUPART_USER).empty() || !part(url.get(), CURLUPART_PASSWORD).empty())
    return refused("must not hold a user or a password");
  std::transform(out.host.begin(), out.host.end(), out.host.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (out.host.size() > 2 && out.host.front() == '[') out.host = out.host.substr(1, out.host.size() - 2);
  const std::string port = part(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
  std::from_chars(port.data(), port.data() + port.size(), out.port);
  if (out.host.empty() || out.port == 0) return refused("is no URL: it names no host, or no port");
  return out;
}

std::string host_header(const Url& url) {
  const std::string host = url.host.find(':') == std::string::npos ? url.host : "[" + url.host + "]";
  return url.port == (url.is_https() ? 443 : 80) ? host : host + ":" + std::to_string(url.port);
}

bool is_ip_address(const std::string& host) {
  bool is_v4 = false, is_v6 = false;
  v4_of(host, is_v4);
  v6_of(host, is_v6);
  return is_v4 || is_v6;
}

bool is_loopback(const std::string& host) {
  bool is_v4 = false, is_v6 = false;
  const auto v4 = v4_of(host, is_v4);
  const auto v6 = v6_of(host, is_v6);
  constexpr Ipv6 kOne = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return host == "localhost" || (is_v4 && v4[0] == 127) || (is_v6 && v6 == kOne);
}

bool is_at_hand(const std::string& host) {
  if (is_loopback(host)) return true;
  bool is_v4 = false, is_v6 = false;
  const auto v4 = v4_of(host, is_v4);
  const auto v6 = v6_of(host, is_v6);
  return (is_v4 && is_cloud_address(v4)) || (is_v6 && is_cloud_address(v6));
}

}  // namespace spdld::store::http
