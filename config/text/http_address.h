// Where the daemon's HTTP server listens, as its file says it. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace spdld::config {

// "127.0.0.1:9464", "[::1]:9464", or "unix:/run/spdld/http.sock".
struct HttpAddress {
  std::string host = {};  // a loopback address in digits; empty: a Unix socket
  uint16_t port = 0;      // 0: the kernel chooses one
  std::string path = {};  // absolute, of a Unix socket

  bool is_unix() const { return host.empty(); }
  std::string text() const;
  friend bool operator==(const HttpAddress&, const HttpAddress&) = default;
};

// Either an address, or one sentence that says what is allowed.
struct ParsedHttpAddress {
  std::optional<HttpAddress> address;
  std::string error;
};
ParsedHttpAddress parse_http_address(std::string_view text);

// "127.0.0.1", "127.8.9.10" and "::1" are; names are not.
bool is_loopback(const std::string& host);

}  // namespace spdld::config
