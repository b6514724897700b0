#include "daemon/http/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "daemon/base/result.h"
#include "proto/seqpacket.h"

namespace spdld::http {
namespace {

constexpr int kBacklog = 64;

struct Place {
  sockaddr_storage address{};
  socklen_t bytes = 0;
};

Place place_of(const config::HttpAddress& address) {
  Place place;
  auto* four = reinterpret_cast<sockaddr_in*>(&place.address);
  if (inet_pton(AF_INET, address.host.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(address.port);
    place.bytes = sizeof *four;
    return place;
  }
  auto* six = reinterpret_cast<sockaddr_in6*>(&place.address);
  if (inet_pton(AF_INET6, address.host.c_str(), &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(address.port);
    place.bytes = sizeof *six;
  }
  return place;
}

UniqueFd listen_tcp(const config::HttpAddress& address) {
  const Place place = place_of(address);
  UniqueFd socket(::socket(place.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;  // a port of connections that have just ended is free
  if (socket && ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&place.address), place.bytes) == 0 &&
      ::listen(socket.get(), kBacklog) == 0)
    return socket;
  const int reason = errno;
  socket.reset();
  errno = reason;
  return {};
}

std::string why() {
  if (errno == EADDRINUSE) return "another program listens there";
  if (errno == EAFNOSUPPORT) return "this service has no network: enable spdld-http.socket, which brings the socket";
  return std::strerror(errno);
}

template <typename T>
T part(const sockaddr_storage& address) {
  T typed{};
  std::memcpy(&typed, &address, sizeof typed);
  return typed;
}

}  // namespace

UniqueFd listen_at(const config::HttpAddress& address, unsigned mode) {
  UniqueFd socket = address.is_unix() ? proto::listen_stream_at(address.path, mode) : listen_tcp(address);
  if (!socket) throw SetupError(Trouble::kUsage, "http.listen: " + address.text() + " can't be had: " + why());
  return socket;
}

std::optional<config::HttpAddress> address_of(int listener) {
  int type = 0, listens = 0;
  socklen_t bytes = sizeof type;
  if (::getsockopt(listener, SOL_SOCKET, SO_TYPE, &type, &bytes) != 0 || type != SOCK_STREAM) return std::nullopt;
  bytes = sizeof listens;
  if (::getsockopt(listener, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) != 0 || !listens) return std::nullopt;
  sockaddr_storage address{};
  bytes = sizeof address;
  if (::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &bytes) != 0) return std::nullopt;
  config::HttpAddress found;
  std::array<char, INET6_ADDRSTRLEN> digits{};
  if (address.ss_family == AF_UNIX) {
    const auto place = part<sockaddr_un>(address);
    const size_t room = bytes > offsetof(sockaddr_un, sun_path) ? bytes - offsetof(sockaddr_un, sun_path) : 0;
    found.path.assign(place.sun_path, strnlen(place.sun_path, room));
    return found.path.starts_with('/') ? std::optional(found) : std::nullopt;
  }
  if (address.ss_family == AF_INET) {
    const auto place = part<sockaddr_in>(address);
    inet_ntop(AF_INET, &place.sin_addr, digits.data(), digits.size());
    found.port = ntohs(place.sin_port);
  } else if (address.ss_family == AF_INET6) {
    const auto place = part<sockaddr_in6>(address);
    inet_ntop(AF_INET6, &place.sin6_addr, digits.data(), digits.size());
    found.port = ntohs(place.sin6_port);
  }
  found.host = digits.data();
  return config::is_loopback(found.host) ? std::optional(found) : std::nullopt;
}

}  // namespace spdld::http
