#include "daemon/node/service_supervisor.h"

#include "daemon/base/result.h"

#if SPDLD_SYSTEMD
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <time.h>

#include <cstdint>
#include <utility>
#endif

namespace spdld::node {

#if SPDLD_SYSTEMD

ServiceSupervisor::Sockets ServiceSupervisor::passed_sockets() const {
  Sockets sockets;
  bool fits = true;
  const int count = sd_listen_fds(1);
  for (int fd = SD_LISTEN_FDS_START; fd < SD_LISTEN_FDS_START + count; fd++) {
    UniqueFd socket(fd);
    const bool is_control = sd_is_socket_unix(fd, SOCK_SEQPACKET, 1, nullptr, 0) > 0;
    UniqueFd& place = is_control ? sockets.control : sockets.http;
    fits = fits && !place && (is_control || sd_is_socket(fd, AF_UNSPEC, SOCK_STREAM, 1) > 0);
    place = std::move(socket);
  }
  if (!fits)
    throw SetupError(Trouble::kUsage,
                     "the service manager passed something else than one listening SOCK_SEQPACKET socket and one for "
                     "HTTP: spdld.socket needs ListenSequentialPacket=, and spdld-http.socket one ListenStream=");
  return sockets;
}

void ServiceSupervisor::ready(const std::string& status) const { sd_notify(0, ("READY=1\nSTATUS=" + status).c_str()); }

void ServiceSupervisor::reloading() const {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const uint64_t now_us = static_cast<uint64_t>(now.tv_sec) * 1'000'000 + static_cast<uint64_t>(now.tv_nsec) / 1000;
  sd_notify(0, ("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(now_us)).c_str());
}

void ServiceSupervisor::stopping() const { sd_notify(0, "STOPPING=1"); }
void ServiceSupervisor::alive() const { sd_notify(0, "WATCHDOG=1"); }

std::optional<std::chrono::microseconds> ServiceSupervisor::watchdog_period() const {
  uint64_t limit_us = 0;
  if (sd_watchdog_enabled(0, &limit_us) <= 0) return std::nullopt;
  return std::chrono::microseconds(limit_us / 2);
}

#else

ServiceSupervisor::Sockets ServiceSupervisor::passed_sockets() const { return {}; }
void ServiceSupervisor::ready(const std::string&) const {}
void ServiceSupervisor::reloading() const {}
void ServiceSupervisor::stopping() const {}
void ServiceSupervisor::alive() const {}
std::optional<std::chrono::microseconds> ServiceSupervisor::watchdog_period() const { return std::nullopt; }

#endif

}  // namespace spdld::node
