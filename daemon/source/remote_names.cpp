#include "daemon/source/remote_names.h"

#include "daemon/source/parts.h"
#include "daemon/store/waiting.h"

namespace spdld::source {

void refuse_remote(const Error& error) {
  throw SetupError(error.trouble == Trouble::kContent ? Trouble::kNotFound : error.trouble, error.message);
}

bool find_object(store::Store& store, const std::string& object, store::Identity& identity,
                 const std::stop_token& stop) {
  check_stop(stop);
  store::Stat stat;
  stat.object = object;
  const Status status = store::Waiting(store).stat(stat, stop);
  check_stop(stop);
  if (!status && status.error().trouble == Trouble::kContent) return false;
  if (!status) refuse_remote(status.error());
  identity = stat.identity;
  return true;
}

store::Identity look_at_object(store::Store& store, const std::string& object, const std::stop_token& stop) {
  store::Identity identity;
  if (!find_object(store, object, identity, stop))
    throw SetupError(Trouble::kNotFound, store.uri_of(object) + " does not exist, or may not be read.");
  return identity;
}

void for_each_page(store::Store& store, const std::string& prefix, bool folds, const std::stop_token& stop,
                   const std::function<void(const store::List&)>& each_page) {
  store::Waiting waiting(store);
  store::List list;
  list.prefix = prefix;
  list.folds = folds;
  do {
    check_stop(stop);
    const Status status = waiting.list(list, stop);
    check_stop(stop);
    if (!status) refuse_remote(status.error());
    each_page(list);
  } while (!list.cursor.empty());
}

}  // namespace spdld::source
