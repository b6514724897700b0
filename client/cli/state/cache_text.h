// The parts of `describe` and `status` about the node's cache, its tuning and its limits, as text. A pipeline that is
// being listed has no cache and no tuning yet: nothing is shown of them. Pure functions; any thread.
#pragma once

#include <string>

#include "client/cli/table.h"
#include "config/text/json.h"

namespace spdld::cli {

// From `describe`: one line for the cache form that was chosen, and one for the tuning's last change.
void add_cache(Facts& facts, const config::Json& describe);
void add_tuning(Facts& facts, const config::Json& describe);
// From `describe`: a table with a blank line below it; "" where there is no table.
std::string cached_fields_text(const config::Json& describe, const Page& page);
std::string tuning_text(const config::Json& describe, const Page& page);

// From `status`.
void add_cpu_limits(Facts& facts, const config::Json& status);
void add_decode_limits(Facts& facts, const config::Json& status);
void add_cache_limits(Facts& facts, const config::Json& status);
std::string shelves_text(const config::Json& status, const Page& page);

}  // namespace spdld::cli
