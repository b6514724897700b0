#include "daemon/store/waiting.h"

#include <utility>

namespace spdld::store {

Status Waiting::finish(Request& request, const std::stop_token& stop) {
  // A request that has ended is not known to the store any more, and a late cancelling finds nothing.
  const std::stop_callback on_stop(stop, [&] { store_.cancel(request); });
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return is_done_; });
  return std::move(request.status);
}

void Waiting::on_done(Request&) {
  const std::scoped_lock lock(mutex_);
  is_done_ = true;
  wake_.notify_one();  // under the lock: this object may end as soon as the lock is free
}

}  // namespace spdld::store
