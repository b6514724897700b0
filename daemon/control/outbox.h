// Messages that wait to be sent to one client. A full socket is back-pressure on that client alone: its messages wait
// here, nothing is read from it meanwhile, and past a bound it is cut off. Control thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "proto/message.h"

namespace spdld::control {

class Outbox {
 public:
  static constexpr size_t kMessagesMax = 1024;
  static constexpr size_t kFdsMax = 1024;  // copies that wait with them

  explicit Outbox(int socket) : socket_(socket) {}

  // false: the client is gone or over the bound. fds are sent as copies, and kept as copies while they wait.
  bool send(std::span<const uint8_t> bytes, std::span<const int> fds = {});
  // Sends waiting messages as far as the socket takes them. false: the client is gone.
  bool flush();
  bool empty() const { return waiting_.empty(); }

 private:
  struct Waiting {
    std::vector<uint8_t> bytes;
    std::vector<UniqueFd> fds;
  };
  int socket_;
  std::deque<Waiting> waiting_;
  size_t waiting_fds_ = 0;
};

}  // namespace spdld::control
