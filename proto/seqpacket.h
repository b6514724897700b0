// Messages and file descriptors over a Unix SOCK_SEQPACKET socket (or, where messages are single bytes, a stream), and
// the memfds that carry texts too large for a message. No thread of its own: the caller serialises calls on one socket
// per direction (sendmsg and recvmsg of one message are atomic).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/unique_fd.h"

namespace spdld::proto {

inline constexpr size_t kMessageBytesMax = 64 * 1024;
inline constexpr size_t kFdsMax = 253;              // the kernel's SCM_MAX_FD
inline constexpr size_t kTextBytesMax = 16u << 20;  // in a memfd: a spec, an answer

enum class IoStatus : uint8_t {
  kOk,
  kWouldBlock,  // not now: wait for POLLIN or POLLOUT
  kClosed,      // the other side is gone
  kTooLarge,    // received: truncated, and so its bytes dropped; to send: over kMessageBytesMax or kFdsMax
  kFailed,      // errno says why
};

struct Received {
  std::span<const uint8_t> bytes;  // of the message, in `room`, until the next call
  std::vector<UniqueFd> fds;       // closed by the next call; after every status these are all that came
  // kMessageBytesMax bytes, from the first call on. They are never zeroed: that took longer than all else that is done
  // with a message.
  std::unique_ptr<uint8_t[]> room;
};

// Both functions never block (MSG_DONTWAIT) and never raise SIGPIPE. fds are sent as copies: the caller keeps its own.
// To close a received descriptor may block: a caller that must not wait takes `fds` away before the next call.
IoStatus send_message(int socket, std::span<const uint8_t> bytes, std::span<const int> fds = {});
IoStatus receive_message(int socket, Received& received);

// Sockets; all are close-on-exec and non-blocking. An empty UniqueFd: errno says why.
UniqueFd connect_to(const std::string& path);
// As connect_to, but where so many clients connect that the listener's backlog is full, it waits in the kernel for
// room, for at most `wait_ms` (at least 1). Empty: errno is EAGAIN where no room came, EINTR where a signal came.
UniqueFd connect_within(const std::string& path, int64_t wait_ms);
UniqueFd listen_at(const std::string& path, unsigned mode);  // removes a stale socket file, never one that is answered
UniqueFd listen_stream_at(const std::string& path, unsigned mode);  // the same, SOCK_STREAM, for another protocol
std::pair<UniqueFd, UniqueFd> socket_pair();

// The process at the other end, as the kernel identifies it.
struct PeerCredentials {
  pid_t pid = 0;
  uid_t uid = 65534;
  gid_t gid = 65534;
};
PeerCredentials peer_credentials(int socket);
// The supplementary groups of its process, as they were when it connected (SO_PEERGROUPS, Linux 4.13); none: not known.
std::vector<gid_t> peer_groups(int socket);

// A pidfd of a process (pidfd_open); readable once it has ended. Empty: errno says why.
UniqueFd open_pidfd(pid_t pid);
bool is_pidfd(int fd);
bool process_has_ended(int pidfd);

// A text in a memfd, sealed against every change; reading verifies the seals and the size. false/empty: errno says why.
UniqueFd text_to_memfd(std::string_view text, const char* name);
bool text_from_memfd(int fd, size_t bytes_max, std::string& text);

}  // namespace spdld::proto
