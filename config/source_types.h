// The type of each source of config/sources.inc, and the parameters that several types have. Pure; any thread.
#pragma once

#include <string_view>

#include "config/catalogue.h"

namespace spdld::config::source_types {

#define SOURCE(name, room) SourceType name();
#include "config/sources.inc"
#undef SOURCE

}  // namespace spdld::config::source_types
