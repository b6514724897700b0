// A store that is asked over the network, in its dialect. Any thread.
#pragma once

#include <memory>
#include <string>

#include "daemon/store/http/endpoint.h"
#include "daemon/store/http/network.h"
#include "daemon/store/store.h"

namespace spdld::store::http {

class NetworkStore final : public Store {
 public:
  // Borrows the network, which outlives it.
  NetworkStore(Network& network, std::shared_ptr<Endpoint> endpoint)
      : network_(network), endpoint_(std::move(endpoint)) {}

  void read(Read& read) override { network_.submit(endpoint_, read); }
  void stat(Stat& stat) override { network_.submit(endpoint_, stat); }
  void list(List& list) override { network_.submit(endpoint_, list); }
  void cancel(Request& request) override { network_.cancel(endpoint_, request); }
  std::string uri_of(std::string_view object) const override { return endpoint_->dialect().uri_of(object); }
  unsigned concurrency() const override { return endpoint_->settings().limits.connections_max; }
  const Endpoint& endpoint() const { return *endpoint_; }

 private:
  Network& network_;
  const std::shared_ptr<Endpoint> endpoint_;
};

}  // namespace spdld::store::http
