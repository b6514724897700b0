// What clients of the HTTP server write: targets, hosts, tokens; and the addresses of the daemon's file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "config/text/http_address.h"
#include "daemon/http/request.h"

namespace {

using namespace spdld;

void require(bool holds) {
  if (!holds) std::abort();
}

void read_target(std::string_view text) {
  const auto request = http::parse_target(text);
  if (!request) return;
  require(request->path.starts_with('/') && request->path.size() <= http::kTargetBytesMax);
  require(request->parameters.size() <= http::kParametersMax);
  for (const auto& [name, value] : request->parameters) {
    require(!name.empty() && request->parameter(name) == value);
    for (const char c : name + value) require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  }
  require(http::parse_target(text)->key() == request->key());
}

void read_address(std::string_view text) {
  const auto [address, error] = config::parse_http_address(text);
  require(address.has_value() == error.empty());
  if (!address) return;
  require(address->is_unix() || config::is_loopback(address->host));
  const auto again = config::parse_http_address(address->text());
  require(again.address == address);
  if (!address->is_unix()) require(http::is_local_host(address->text()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);  // so that reading behind its end shows
  read_target(text);
  read_address(text);
  if (http::is_local_host(text)) require(text.find_first_of(" /@\\") == std::string::npos);
  const std::string_view token = http::bearer_token(text);
  require(token.size() <= text.size() && http::is_same_secret(token, token));
  require(http::is_same_secret(text, token) == (text == token));
  return 0;
}
