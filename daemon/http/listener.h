// The listening sockets of the HTTP server. Any thread.
#pragma once

#include <optional>
#include <string>

#include "config/text/http_address.h"
#include "proto/unique_fd.h"

namespace spdld::http {

// Listens at `address`; a Unix socket gets `mode`, and replaces the socket of a daemon that is gone. Throws SetupError.
UniqueFd listen_at(const config::HttpAddress& address, unsigned mode);

// Where a socket listens. Nothing: it is no listening stream socket of this machine alone.
std::optional<config::HttpAddress> address_of(int listener);

}  // namespace spdld::http
