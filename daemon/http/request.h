// The parts of an HTTP request that decide who gets which answer. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace spdld::http {

inline constexpr size_t kTargetBytesMax = 2048;
inline constexpr size_t kParametersMax = 8;

struct Request {
  std::string path;                               // as it was sent: "/api/errors"
  std::map<std::string, std::string> parameters;  // decoded, without control characters

  std::string parameter(const std::string& name) const;  // empty: there is none
  // A text that all requests have in common that ask for one thing.
  std::string key() const;
};

// "/path?name=value&name=value", percent-encoded. Nothing: the text is no such target, or is longer than allowed, or
// gives a parameter twice.
std::optional<Request> parse_target(std::string_view target);

// Whether a Host header names this machine by an address or a name that no other machine can have: web pages whose
// own name suddenly leads here (DNS rebinding) are turned away.
bool is_local_host(std::string_view host);

// The token of "Bearer TOKEN"; empty: there is none.
std::string_view bearer_token(std::string_view authorization);

// The time that this takes does not tell how far the texts agree.
bool is_same_secret(std::string_view left, std::string_view right);

}  // namespace spdld::http
