// A TCP socket whose last close takes 40 s: it lingers over bytes that its peer never reads.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "proto/unique_fd.h"

namespace spdld::test {

// Sends one byte and a descriptor.
inline void send_with(int socket, int fd) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control = {};
  msghdr header = {};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  cmsghdr* rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  if (sendmsg(socket, &header, MSG_NOSIGNAL) != 1) throw std::runtime_error("a descriptor can't be sent");
}

class Lingering {
 public:
  Lingering() {
    const auto check = [](bool holds) {
      if (!holds) throw std::runtime_error("there is no lingering socket to be had");
    };
    const UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    socklen_t bytes = sizeof address;
    check(bind(listener.get(), plain, bytes) == 0 && listen(listener.get(), 1) == 0);
    check(getsockname(listener.get(), plain, &bytes) == 0);
    socket_ = UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    check(connect(socket_.get(), plain, bytes) == 0);
    peer_ = UniqueFd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const linger forty{1, 40};
    check(peer_ && setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &forty, sizeof forty) == 0);
    static constexpr std::array<char, 65536> kZeros = {};
    while (send(socket_.get(), kZeros.data(), kZeros.size(), MSG_DONTWAIT) > 0) {
    }
  }
  // A close of the socket while it is the only one would wait here: its peer goes first, which ends the lingering.
  ~Lingering() { peer_.reset(); }
  Lingering(Lingering&&) = default;
  Lingering& operator=(Lingering&&) = default;

  int fd() const { return socket_.get(); }
  // The copy that was sent, or that the caller closes, is then the last.
  UniqueFd take() { return std::move(socket_); }
  void close_own_copy() { socket_.reset(); }

 private:
  UniqueFd socket_, peer_;
};

}  // namespace spdld::test
