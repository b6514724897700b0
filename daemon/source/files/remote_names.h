// The names of objects in a store, for threads that list.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "daemon/base/result.h"
#include "daemon/store/stores.h"
#include "daemon/store/waiting.h"

namespace spdld::source {

// Throws the error of a store at set-up: what is not there is kNotFound.
[[noreturn]] void refuse_remote(const Error& error);

// A look at an object of a store that is under way, so that many are at once. One thread.
class ObjectLook {
 public:
  // Begins. Borrows the store.
  ObjectLook(store::Store& store, std::string object);
  ~ObjectLook();  // a look that was not finished is cancelled
  // Waits for its end; to be called once. An error: there is no such object (kNotFound), or it may not be read
  // (kDenied). Throws SetupError for all others.
  Status finish(store::Identity& identity, const std::stop_token& stop);

 private:
  store::Store& store_;
  store::Waiting waiting_;
  store::Stat stat_;
  bool is_under_way_ = true;
};

// Calls each_page for the pages of objects whose names begin with `prefix`, in order of their names. With `folds`,
// names are cut at the first '/' behind the prefix. Throws SetupError, also where the store's pages have no end.
void for_each_page(store::Store& store, const std::string& prefix, bool folds, const std::stop_token& stop,
                   const std::function<void(const store::List&)>& each_page);

}  // namespace spdld::source
