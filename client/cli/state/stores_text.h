// The part of `status` about remote stores, as text. Pure functions; any thread.
#pragma once

#include <string>

#include "client/cli/table.h"
#include "config/text/json.h"

namespace spdld::cli {

// A table of the stores that pipelines read from, and a line for what is wrong with one, each with a blank line below
// it; "" where there is no store.
std::string stores_text(const config::Json& status, const Page& page);

}  // namespace spdld::cli
