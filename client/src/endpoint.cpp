#include "client/src/endpoint.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "proto/seqpacket.h"

namespace spdld::client {

namespace {

std::string text_of_errno(int error) { return std::generic_category().message(error); }

// Makes the folder if it is absent. Its owner could put another daemon there, so it must belong to this user alone.
Outcome secure_folder(const std::string& folder) {
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

Outcome find_endpoint(const char* socket, Endpoint& endpoint) {
  if (!socket || !*socket) socket = std::getenv("SPDLD_SOCKET");
  if (socket && *socket) {
    endpoint = {socket, "", false};
    return {};
  }
  if (proto::connect_to(kSystemSocket)) {
    endpoint = {kSystemSocket, "", true};
    return {};
  }
  return find_private_endpoint(endpoint);
}

Outcome find_private_endpoint(Endpoint& endpoint) {
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

Outcome connect_failure(const Endpoint& endpoint, int error) {
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
