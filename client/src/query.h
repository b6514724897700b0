// Asks a daemon for one JSON document, over a session of its own.
#pragma once

#include <string>
#include <string_view>

#include "client/src/calls/deadline.h"
#include "client/src/calls/outcome.h"

namespace spdld::client {

// Never starts a daemon. `socket`: as for find_endpoint.
CallOutcome query(const char* socket, std::string_view topic, const std::string& argument, Deadline deadline,
                  std::string& json);

}  // namespace spdld::client
