// The network thread: all requests to remote stores run on it, through one libcurl multi handle, which keeps and reuses
// the connections.
#pragma once

#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "daemon/store/http/endpoint.h"

namespace spdld::store::http {

class Network {
 public:
  // Throws SetupError.
  Network();
  // Requests that have not ended yet end with kStopping, on the network thread, before this returns.
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // Any thread, as are the following. The endpoint stays as long as it has requests.
  void submit(const std::shared_ptr<Endpoint>& endpoint, Read& read);
  void submit(const std::shared_ptr<Endpoint>& endpoint, Stat& stat);
  void submit(const std::shared_ptr<Endpoint>& endpoint, List& list);
  void cancel(const std::shared_ptr<Endpoint>& endpoint, Request& request);
  // From now on requests end with kStopping: soon the requests that are under way, and at once later ones.
  void stop();

 private:
  struct Thread;
  struct Order {
    enum class Action : uint8_t { kRead, kStat, kList, kCancel } action;
    std::shared_ptr<Endpoint> endpoint;
    Request* request;
  };

  void order(Order order);

  std::mutex mutex_;
  std::vector<Order> orders_;  // under the mutex, as the following
  bool is_stopped_ = false, is_closing_ = false;
  std::unique_ptr<Thread> thread_;
};

}  // namespace spdld::store::http
