// What `describe` and `status` say about the node's cache, its tuning and its limits, as text. A daemon that is older
// leaves these fields out: what is not there is not shown. Pure functions; any thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "client/cli/table.h"

namespace spdld::cli {

// Of describe: a line each for the form that was chosen and for the tuning's last change.
void add_cache(Facts& facts, const nlohmann::json& describe);
void add_tuning(Facts& facts, const nlohmann::json& describe);
// A table with a blank line below it; "" where there is none.
std::string cached_fields_text(const nlohmann::json& describe, const Page& page);
std::string tuning_text(const nlohmann::json& describe, const Page& page);

// Of status.
void add_cpu_limits(Facts& facts, const nlohmann::json& status);
void add_cache_limits(Facts& facts, const nlohmann::json& status);
std::string shelves_text(const nlohmann::json& status, const Page& page);

}  // namespace spdld::cli
