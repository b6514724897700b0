// The remote stores that a pipeline may read from, by the beginnings of uris.
#pragma once

#include <memory>
#include <string>

#include "daemon/store/store.h"

namespace spdld::store {

// Any thread.
class Stores {
 public:
  struct Found {
    std::shared_ptr<Store> store;
    std::string object;  // its name in the store
  };

  virtual ~Stores() = default;
  // `uri`: as config/text/remote_uri.h has it. Waits for a store's credentials. Throws SetupError: kDenied, the
  // operator does not let this pipeline read there; or there are no credentials.
  virtual Found find(const std::string& uri) const = 0;
};

}  // namespace spdld::store
