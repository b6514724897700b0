#include "daemon/http/request.h"

#include <algorithm>
#include <utility>

#include "config/text/http_address.h"
#include "proto/hex.h"

namespace spdld::http {
namespace {

bool is_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

bool is_path(std::string_view path) {
  const auto fits = [](char c) {
    return is_letter_or_digit(c) || std::string_view("/_.-").find(c) != std::string_view::npos;
  };
  return path.starts_with('/') && std::all_of(path.begin(), path.end(), fits);
}

std::optional<std::string> decode(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); i++) {
    char c = text[i] == '+' ? ' ' : text[i];
    if (text[i] == '%') {
      if (text.size() - i < 3) return std::nullopt;
      const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return std::nullopt;
    decoded += c;
  }
  return decoded;
}

bool add_parameter(std::string_view pair, Request& request) {
  const size_t equals = pair.find('=');
  const auto name = decode(pair.substr(0, equals));
  const auto value = decode(equals == std::string_view::npos ? "" : pair.substr(equals + 1));
  if (!name || name->empty() || !value || request.parameters.size() == kParametersMax) return false;
  return request.parameters.emplace(*name, *value).second;
}

bool is_digits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

}  // namespace

std::string Request::parameter(const std::string& name) const {
  const auto found = parameters.find(name);
  return found == parameters.end() ? "" : found->second;
}

std::string Request::key() const {
  std::string key = path;
  for (const auto& [name, value] : parameters) key += '\n' + name + '\t' + value;  // neither holds such a character
  return key;
}

std::optional<Request> parse_target(std::string_view target) {
  if (target.size() > kTargetBytesMax) return std::nullopt;
  const size_t mark = target.find('?');
  Request request{std::string(target.substr(0, mark)), {}};
  if (!is_path(request.path)) return std::nullopt;
  std::string_view query = mark == std::string_view::npos ? "" : target.substr(mark + 1);
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    if (!add_parameter(query.substr(0, end), request)) return std::nullopt;
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return request;
}

bool is_local_host(std::string_view host) {
  std::string_view name = host, port;
  if (host.starts_with('[')) {
    const size_t end = host.find(']');
    if (end == std::string_view::npos) return false;
    name = host.substr(1, end - 1);
    port = host.substr(end + 1);
    if (name.find(':') == std::string_view::npos) return false;
  } else if (const size_t colon = host.find(':'); colon != std::string_view::npos) {
    name = host.substr(0, colon);
    port = host.substr(colon);
  }
  if (!port.empty() && (port.front() != ':' || port.size() > 6 || !is_digits(port.substr(1)))) return false;
  return lower(name) == "localhost" || config::is_loopback(std::string(name));
}

std::string_view bearer_token(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (lower(authorization.substr(0, kScheme.size())) != kScheme) return {};
  authorization.remove_prefix(kScheme.size());
  while (authorization.starts_with(' ')) authorization.remove_prefix(1);
  while (authorization.ends_with(' ')) authorization.remove_suffix(1);
  return authorization;
}

bool is_same_secret(std::string_view left, std::string_view right) {
  unsigned difference = left.size() == right.size() ? 0 : 1;
  for (size_t i = 0; i < left.size(); i++)
    difference |= static_cast<unsigned char>(left[i]) ^ static_cast<unsigned char>(i < right.size() ? right[i] : 0);
  return difference == 0;
}

}  // namespace spdld::http
