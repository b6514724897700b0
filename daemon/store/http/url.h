// The parts of an http or https URL (RFC 3986), read by the same parser that libcurl connects with, so that a check of
// the host holds for the host that is asked. Plain values; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/base/result.h"

namespace spdld::store::http {

struct Url {
  std::string scheme;  // "http" or "https"
  std::string host;    // lower case, without a port; an IPv6 address without its brackets
  uint16_t port = 0;   // 80 or 443 where the URL names none
  std::string path;    // as it stands in the URL, at least "/"
  bool has_query = false;
  bool is_https() const { return scheme == "https"; }
};

constexpr size_t kUrlBytesMax = 32768;

// An error says what is wrong with the URL after `what`, which begins the sentence: "AWS_ENDPOINT_URL_STS". A URL with
// a user or a password is refused, and never shown. Throws SetupError where libcurl can't be set up.
Result<Url> read_url(const std::string& text, const std::string& what);

// The value of a URL's Host header: the host, and the port where it is not the scheme's own. IPv6 in brackets.
std::string host_header(const Url& url);

bool is_ip_address(const std::string& host);
// Whether the host is "localhost" or an address of this machine's loopback: 127.0.0.0/8, ::1.
bool is_loopback(const std::string& host);
// Whether the host is an address that no other machine than this one's own host answers for: a loopback host, or one of
// cloud_address.h. Such an address is never asked by a proxy.
bool is_at_hand(const std::string& host);

}  // namespace spdld::store::http
