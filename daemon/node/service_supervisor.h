// The service manager (systemd), where there is one: passed sockets, readiness, the watchdog. Without libsystemd, or
// when not started by it, every call does nothing. Control thread only.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "proto/unique_fd.h"

namespace spdld::node {

class ServiceSupervisor {
 public:
  // The sockets of socket activation. Any of these sockets may be missing.
  struct Sockets {
    UniqueFd control;  // spdld.socket's: SOCK_SEQPACKET
    UniqueFd http;     // spdld-http.socket's: SOCK_STREAM
  };
  // To be called once. Throws SetupError when something else was passed.
  Sockets passed_sockets() const;

  void ready(const std::string& status) const;
  void reloading() const;
  void stopping() const;
  void alive() const;  // to be called at least every watchdog_period()
  // Half of systemd's watchdog time; none: systemd does not watch.
  std::optional<std::chrono::microseconds> watchdog_period() const;
};

}  // namespace spdld::node
