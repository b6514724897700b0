// Waits for a store's answer. It is for threads that may block: threads that list, and threads that decode from a view.
#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>

#include "daemon/store/store.h"

namespace spdld::store {

// One request at a time; one thread.
class Waiting final : private Request::Observer {
 public:
  explicit Waiting(Store& store) : store_(store) {}

  Status read(Read& request, const std::stop_token& stop = {}) { return ask(request, &Store::read, stop); }
  Status stat(Stat& request, const std::stop_token& stop = {}) { return ask(request, &Store::stat, stop); }
  Status list(List& request, const std::stop_token& stop = {}) { return ask(request, &Store::list, stop); }

  // A request in two steps. Each begin() is followed by a finish().
  template <typename AnyRequest>
  void begin(AnyRequest& request, void (Store::*start)(AnyRequest&)) {
    is_done_ = false;
    request.observer = this;
    (store_.*start)(request);
  }
  // Where `stop` is asked for, the request is cancelled. Moves its status out.
  Status finish(Request& request, const std::stop_token& stop);

 private:
  template <typename AnyRequest>
  Status ask(AnyRequest& request, void (Store::*start)(AnyRequest&), const std::stop_token& stop) {
    begin(request, start);
    return finish(request, stop);
  }
  void on_done(Request& request) override;

  Store& store_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_done_ = false;  // under the mutex, but before a request begins
};

}  // namespace spdld::store
