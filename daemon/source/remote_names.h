// The names of objects in a store, for threads that list.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "daemon/base/result.h"
#include "daemon/store/stores.h"

namespace spdld::source {

// Throws the error of a store at set-up: what is not there is kNotFound.
[[noreturn]] void refuse_remote(const Error& error);

// The object's identity. Throws SetupError where there is no such object.
store::Identity look_at_object(store::Store& store, const std::string& object, const std::stop_token& stop);
// None: there is no such object.
bool find_object(store::Store& store, const std::string& object, store::Identity& identity,
                 const std::stop_token& stop);

// Calls each_page for the pages of objects whose names begin with `prefix`, in order of their names. With `folds`,
// names are cut at the first '/' behind the prefix. Throws SetupError.
void for_each_page(store::Store& store, const std::string& prefix, bool folds, const std::stop_token& stop,
                   const std::function<void(const store::List&)>& each_page);

}  // namespace spdld::source
