// What `describe` and `status` say about the node's cache, its tuning and its limits, as text. A daemon that is older
// leaves these fields out: what is not there is not shown. Pure functions; any thread.
#pragma once

#include <string>

#include "client/cli/table.h"
#include "config/json.h"

namespace spdld::cli {

// Of describe: a line each for the form that was chosen and for the tuning's last change.
void add_cache(Facts& facts, const config::Json& describe);
void add_tuning(Facts& facts, const config::Json& describe);
// A table with a blank line below it; "" where there is none.
std::string cached_fields_text(const config::Json& describe, const Page& page);
std::string tuning_text(const config::Json& describe, const Page& page);

// Of status.
void add_cpu_limits(Facts& facts, const config::Json& status);
void add_cache_limits(Facts& facts, const config::Json& status);
std::string shelves_text(const config::Json& status, const Page& page);

}  // namespace spdld::cli
