#include "config/text/http_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <charconv>
#include <filesystem>

#include "config/text/words.h"

namespace spdld::config {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr size_t kPathMax = sizeof(sockaddr_un::sun_path) - 1;

ParsedHttpAddress wrong(std::string error) { return {std::nullopt, std::move(error)}; }

ParsedHttpAddress parse_unix(const std::string& path) {
  if (!std::filesystem::path(path).is_absolute() || !is_plain(path))
    return wrong("needs an absolute path behind \"unix:\", such as \"unix:/run/spdld/http.sock\"");
  if (path.size() > kPathMax)
    return wrong("must have a path of at most " + std::to_string(kPathMax) + " bytes: a socket's name is no longer");
  return {HttpAddress{.path = path}, ""};
}

std::optional<uint16_t> port_of(std::string_view text) {
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return port;
}

}  // namespace

bool is_loopback(const std::string& host) {
  if (host.find('\0') != std::string::npos) return false;  // the text would end there for inet_pton
  in_addr four{};
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == IN_LOOPBACKNET;
  in6_addr six{};
  return inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

std::string HttpAddress::text() const {
  if (is_unix()) return std::string(kUnix) + path;
  const bool is_six = host.find(':') != std::string::npos;
  return (is_six ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

ParsedHttpAddress parse_http_address(std::string_view text) {
  if (text.starts_with(kUnix)) return parse_unix(std::string(text.substr(kUnix.size())));
  const size_t colon = text.rfind(':');
  const auto port = colon == std::string_view::npos ? std::nullopt : port_of(text.substr(colon + 1));
  if (!port) return wrong("must be \"127.0.0.1:PORT\", \"[::1]:PORT\" or \"unix:PATH\", not " + in_quotes(text));
  std::string_view host = text.substr(0, colon);
  const bool is_six = host.starts_with('[') && host.ends_with(']');
  if (is_six) host = host.substr(1, host.size() - 2);
  const std::string digits(host);
  if ((digits.find(':') != std::string::npos) != is_six || !is_loopback(digits))
    return wrong("must be an address of this machine alone (127.0.0.1 or [::1], in digits) or \"unix:PATH\", not " +
                 in_quotes(text) + ": a proxy or ssh gives other machines access");
  return {HttpAddress{.host = digits, .port = *port}, ""};
}

}  // namespace spdld::config
