// One blocking HTTP exchange, for the services that give credentials: small, rare, and done on a thread that may wait.
// Objects are read by other means. Source: https://curl.se/libcurl/c/ (the easy interface); HTTP/1.1, RFC 9112.
#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "daemon/base/result.h"

namespace spdld::store::http {

struct Question {
  std::string method = "GET";
  std::string url;                   // http or https alone
  std::vector<std::string> headers;  // "Name: value", without an end of line
  std::string body;                  // sent where the method is neither GET nor HEAD
  int connect_ms = 1000;             // for the connection, name lookup and TLS included; at least 1
  int total_ms = 5000;               // for the whole exchange; at least 1
  size_t body_bytes_max = 64 << 10;  // of the reply; a longer body is an error
  std::stop_token stop;              // ends the exchange within about a second, with kStopping
};

struct Reply {
  int status = 0;
  std::string body;
};

// How a question is asked; tests put another function in this place.
using Ask = std::function<Result<Reply>(const Question&)>;

// Asks once and waits for the reply. Any status is a reply; redirects are not followed, cookies are not kept, and each
// exchange has its own connection. A proxy of the environment (https_proxy, no_proxy) is used, but never for a host at
// hand (see is_at_hand). Any thread; throws SetupError where libcurl can't be set up.
// Errors: kTransient (no connection, no reply in time, a damaged reply), kDenied (the server's certificate isn't
// trusted), kLimit (a too long reply), kUsage (a bad URL or header), kStopping. An error shows the URL without its
// query, and never a header or a body: secrets stand there.
Result<Reply> ask(const Question& question);

}  // namespace spdld::store::http
