#include "proto/seqpacket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace spdld::proto {

namespace {

constexpr int kFlags = SOCK_CLOEXEC | SOCK_NONBLOCK;
constexpr int kSocketType = SOCK_SEQPACKET | kFlags;
constexpr int kTextSeals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr int kBacklog = 128;
constexpr size_t kGroupsMax = 65536;  // the kernel's NGROUPS_MAX

using ControlBytes = std::array<char, CMSG_SPACE(kFdsMax * sizeof(int))>;

IoStatus status_of_errno() {
  switch (errno) {
    case EAGAIN:
      return IoStatus::kWouldBlock;
    case EPIPE:
    case ECONNRESET:
    case ENOTCONN:
      return IoStatus::kClosed;
    case EMSGSIZE:
      return IoStatus::kTooLarge;
    default:
      return IoStatus::kFailed;
  }
}

// Takes over every descriptor of the message, so that none leaks whatever becomes of it.
void take_fds(msghdr& header, std::vector<UniqueFd>& fds) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      fds.emplace_back(fd);
    }
  }
}

bool address_of(const std::string& path, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path || path.find('\0') != std::string::npos) {
    errno = path.empty() ? EINVAL : ENAMETOOLONG;
    return false;
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return true;
}

bool bind_to(int socket, const sockaddr_un& address) {
  return ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

// Removes the socket file of a listener that is gone. False: it is answered, or is no socket; errno says which.
bool remove_stale(const std::string& path) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0) return errno == ENOENT;
  if (!S_ISSOCK(status.st_mode)) {
    errno = EEXIST;
    return false;
  }
  if (connect_to(path) || errno != ECONNREFUSED) {
    errno = EADDRINUSE;
    return false;
  }
  return ::unlink(path.c_str()) == 0 || errno == ENOENT;
}

UniqueFd listen_as(int type, const std::string& path, unsigned mode) {
  sockaddr_un address;
  if (!address_of(path, address)) return {};
  UniqueFd socket(::socket(AF_UNIX, type, 0));
  // The mode of the socket before bind is the most that its file gets: it is never open wider than asked for.
  const bool bound =
      socket && ::fchmod(socket.get(), mode) == 0 &&
      (bind_to(socket.get(), address) || (errno == EADDRINUSE && remove_stale(path) && bind_to(socket.get(), address)));
  const bool listening = bound && ::chmod(path.c_str(), mode) == 0 && ::listen(socket.get(), kBacklog) == 0;
  if (listening) return socket;
  const int reason = errno;
  if (bound) ::unlink(path.c_str());
  socket.reset();
  errno = reason;
  return {};
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

}  // namespace

IoStatus send_message(int socket, std::span<const uint8_t> bytes, std::span<const int> fds) {
  if (bytes.size() > kMessageBytesMax || fds.size() > kFdsMax) return IoStatus::kTooLarge;
  if (bytes.empty()) {  // would read as the end of the connection
    errno = EINVAL;
    return IoStatus::kFailed;
  }
  iovec part{const_cast<uint8_t*>(bytes.data()), bytes.size()};
  msghdr header = {};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) ControlBytes control;
  if (!fds.empty()) {
    control.fill(0);
    header.msg_control = control.data();
    header.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
  }
  ssize_t count = 0;
  do {
    count = ::sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (count < 0 && errno == EINTR);
  return count < 0 ? status_of_errno() : IoStatus::kOk;
}

IoStatus receive_message(int socket, Received& received) {
  received.fds.clear();
  received.bytes = {};
  if (!received.room) received.room = std::make_unique_for_overwrite<uint8_t[]>(kMessageBytesMax);
  iovec part{received.room.get(), kMessageBytesMax};
  alignas(cmsghdr) ControlBytes control;
  msghdr header = {};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  ssize_t count = ::recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  // A peer that closed without reading everything is reported once (ECONNRESET), before what it had still sent.
  for (int i = 0; i < 8 && count < 0 && (errno == EINTR || errno == ECONNRESET); ++i) {
    count = ::recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  }
  if (count < 0) return status_of_errno();
  take_fds(header, received.fds);
  if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) return IoStatus::kTooLarge;
  received.bytes = {received.room.get(), static_cast<size_t>(count)};
  return count == 0 ? IoStatus::kClosed : IoStatus::kOk;
}

UniqueFd connect_to(const std::string& path) {
  sockaddr_un address;
  if (!address_of(path, address)) return {};
  UniqueFd socket(::socket(AF_UNIX, kSocketType, 0));
  if (!socket) return {};
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return socket;
  const int reason = errno;
  socket.reset();
  errno = reason;
  return {};
}

UniqueFd connect_within(const std::string& path, int64_t wait_ms) {
  sockaddr_un address;
  if (!address_of(path, address)) return {};
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  // SO_SNDTIMEO bounds connect() as well; the kernel wakes the clients that wait in their order, one at each accept().
  const timeval most{static_cast<time_t>(wait_ms / 1000), static_cast<suseconds_t>(wait_ms % 1000 * 1000)};
  const bool connected = socket && ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most) == 0 &&
                         ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
                         ::fcntl(socket.get(), F_SETFL, O_NONBLOCK) == 0;
  if (connected) return socket;
  const int reason = errno;
  socket.reset();
  errno = reason;
  return {};
}

UniqueFd listen_at(const std::string& path, unsigned mode) { return listen_as(kSocketType, path, mode); }

UniqueFd listen_stream_at(const std::string& path, unsigned mode) {
  return listen_as(SOCK_STREAM | kFlags, path, mode);
}

std::pair<UniqueFd, UniqueFd> socket_pair() {
  int sockets[2] = {-1, -1};
  if (::socketpair(AF_UNIX, kSocketType, 0, sockets) != 0) return {};
  return {UniqueFd(sockets[0]), UniqueFd(sockets[1])};
}

PeerCredentials peer_credentials(int socket) {
  ucred credentials = {};
  socklen_t bytes = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0) return {};
  return {credentials.pid, credentials.uid, credentials.gid};
}

std::vector<gid_t> peer_groups(int socket) {
  std::vector<gid_t> groups(32);
  // A second try with the number that the first one told; they do not change while the socket lives.
  for (int i = 0; i < 2; ++i) {
    auto bytes = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
    const bool known = ::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &bytes) == 0;
    if (!known && errno != ERANGE) return {};
    groups.resize(std::min<size_t>(bytes / sizeof(gid_t), kGroupsMax));
    if (known) return groups;
  }
  return {};
}

UniqueFd open_pidfd(pid_t pid) { return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); }

bool is_pidfd(int fd) {
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  char target[64];
  const ssize_t count = ::readlink(link.c_str(), target, sizeof target);
  const std::string_view name(target, count < 0 ? 0 : static_cast<size_t>(count));
  // An anonymous inode until Linux 6.8, a file system of its own since; a real path would begin with a slash.
  return name == "anon_inode:[pidfd]" || name.substr(0, 7) == "pidfd:[";
}

bool process_has_ended(int pidfd) {
  pollfd entry{pidfd, POLLIN, 0};
  return ::poll(&entry, 1, 0) == 1 && (entry.revents & (POLLIN | POLLHUP)) != 0;
}

UniqueFd text_to_memfd(std::string_view text, const char* name) {
  if (text.size() > kTextBytesMax) {
    errno = EFBIG;
    return {};
  }
  UniqueFd memory(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (memory && write_all(memory.get(), text) && ::fcntl(memory.get(), F_ADD_SEALS, kTextSeals) == 0) return memory;
  const int reason = errno;
  memory.reset();
  errno = reason;
  return {};
}

bool text_from_memfd(int fd, size_t bytes_max, std::string& text) {
  text.clear();
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0) return false;
  struct stat status = {};
  if (::fstat(fd, &status) != 0) return false;
  const bool sealed = (seals & kTextSeals) == kTextSeals;
  const bool fits = status.st_size >= 0 && static_cast<uint64_t>(status.st_size) <= bytes_max;
  if (!sealed || !fits) {
    errno = sealed ? EFBIG : EPERM;
    return false;
  }
  text.resize(static_cast<size_t>(status.st_size));
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::pread(fd, text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      text.clear();
      return false;
    }
    done += static_cast<size_t>(count);
  }
  return true;
}

}  // namespace spdld::proto
