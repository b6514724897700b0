// How a store is asked, and what else may be connected to. Values.
#pragma once

#include "config/daemon_settings.h"

namespace spdld::store::http {

using Limits = config::StoreLimits;

// Further addresses that may be connected to, beside the store itself.
struct Reach {
  bool follows_redirects = false;
  bool link_local = false;  // addresses of cloud_address.h, where clouds serve credentials
};

}  // namespace spdld::store::http
