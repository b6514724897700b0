#include "client/src/calls/endpoint.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "proto/seqpacket.h"

namespace spdld::client {

namespace {

constexpr int64_t kConnectTurn_ms = 1000;  // of a wait without a deadline

// Makes the folder if it is absent. Its owner could put another daemon there, so it must belong to this user alone.
CallOutcome secure_folder(const std::string& folder) {
  const int made = ::mkdir(folder.c_str(), 0700);
  if (made != 0 && errno != EEXIST) {
    return failure(SPDLD_NO_DAEMON, "cannot make the folder " + folder + " of the private daemon (" +
                                        text_of_errno(errno) + "): set XDG_RUNTIME_DIR to a folder of yours");
  }
  struct stat status = {};
  if (::lstat(folder.c_str(), &status) != 0) {
    return failure(SPDLD_NO_DAEMON, "cannot look at " + folder + ": " + text_of_errno(errno));
  }
  const bool own = S_ISDIR(status.st_mode) && status.st_uid == ::geteuid();
  if (!own || (status.st_mode & 077) != 0) {
    return failure(SPDLD_DENIED, folder +
                                     (own ? " is open to others: chmod 700 it" : " is not a folder of this user's") +
                                     ", or set XDG_RUNTIME_DIR to another place");
  }
  return {};
}

}  // namespace

CallOutcome find_endpoint(const char* socket, Endpoint& endpoint) {
  if (!socket || !*socket) socket = std::getenv("SPDLD_SOCKET");
  if (socket && *socket) {
    endpoint = {socket, "", false};
    return {};
  }
  if (proto::connect_to(kSystemSocket) || errno == EAGAIN) {  // EAGAIN: it is there, and many connect to it
    endpoint = {kSystemSocket, "", true};
    return {};
  }
  return find_private_endpoint(endpoint);
}

CallOutcome find_private_endpoint(Endpoint& endpoint) {
  const char* base = std::getenv("XDG_RUNTIME_DIR");
  const std::string folder =
      std::string(base && *base == '/' ? base : "/tmp") + "/spdld-" + std::to_string(::geteuid());
  endpoint = {folder + "/private.sock", folder, false};
  return secure_folder(folder);
}

bool has_folder(const Endpoint& endpoint) {
  const size_t slash = endpoint.path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : endpoint.path.substr(0, slash + 1);
  return ::access(folder.c_str(), F_OK) == 0;
}

UniqueFd connect_before(const std::string& path, Deadline deadline) {
  UniqueFd socket = proto::connect_to(path);
  while (!socket && errno == EAGAIN && !deadline.passed()) {
    int64_t left_ms = kConnectTurn_ms;
    if (!deadline.is_never())
      left_ms = std::chrono::ceil<std::chrono::milliseconds>(deadline.at() - Deadline::Clock::now()).count();
    socket = proto::connect_within(path, std::clamp<int64_t>(left_ms, 1, kConnectTurn_ms));
  }
  return socket;
}

CallOutcome connect_failure(const Endpoint& endpoint, int error) {
  if (error == EINTR) return failure(SPDLD_INTERRUPTED, "interrupted by a signal");
  if (error == EAGAIN) {
    return failure(SPDLD_TIMEOUT,
                   "the daemon at " + endpoint.path + " has not taken this connection yet: many clients connect to it");
  }
  const spdld_result result = error == EACCES || error == EPERM ? SPDLD_DENIED : SPDLD_NO_DAEMON;
  std::string text = "no daemon answers at " + endpoint.path + " (" + text_of_errno(error) + ")";
  if (error == EACCES || error == EPERM) {
    text = "this user may not connect to the daemon at " + endpoint.path + " (" + text_of_errno(error) + ")";
  } else if (endpoint.is_private()) {
    text += ", and none at " + std::string(kSystemSocket);
  }
  return failure(result, std::move(text));
}

}  // namespace spdld::client
