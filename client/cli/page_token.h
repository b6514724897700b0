// The token of a daemon's status page, as this client knows it: the daemon may be anybody's, and no file is read
// because a daemon names it. One thread.
#pragma once

#include <string>

#include "config/text/http_address.h"

namespace spdld::cli {

struct PageToken {
  std::string token;  // empty: there is none that this user knows
  std::string why;    // why there is none, as a sentence; empty: nothing is to be said
};

// Reads the daemon's settings file `settings`, and the token's file that it names, where the page at `address` is the
// settings' own. Both files must belong to root, to this user or (the token) to the user spdld, and must not be open to
// others.
PageToken page_token(const std::string& settings, const config::HttpAddress& address);

}  // namespace spdld::cli
