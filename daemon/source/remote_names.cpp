#include "daemon/source/remote_names.h"

#include <utility>

#include "daemon/source/parts.h"

namespace spdld::source {

void refuse_remote(const Error& error) {
  throw SetupError(error.trouble == Trouble::kContent ? Trouble::kNotFound : error.trouble, error.message);
}

ObjectLook::ObjectLook(store::Store& store, std::string object) : store_(store), waiting_(store) {
  stat_.object = std::move(object);
  waiting_.begin(stat_, &store::Store::stat);
}

ObjectLook::~ObjectLook() {
  if (!is_under_way_) return;
  store_.cancel(stat_);
  (void)waiting_.finish(stat_, {});
}

Status ObjectLook::finish(store::Identity& identity, const std::stop_token& stop) {
  Status status = waiting_.finish(stat_, stop);
  is_under_way_ = false;
  check_stop(stop);
  const Trouble trouble = status ? Trouble::kNotFound : status.error().trouble;
  if (trouble != Trouble::kNotFound && trouble != Trouble::kDenied) refuse_remote(status.error());
  identity = stat_.identity;
  return status;
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
