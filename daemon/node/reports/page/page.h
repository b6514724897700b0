// The status page: one HTML text with its styles and scripts in it, which a script makes of the files beside this
// header when the daemon is built.
#pragma once

#include <string_view>

namespace spdld::node {

extern const std::string_view kPage;
extern const std::string_view kPagePolicy;  // Content-Security-Policy: nothing but its own style and script runs

}  // namespace spdld::node
