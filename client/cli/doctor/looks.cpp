#include "client/cli/doctor/looks.h"

#include <fcntl.h>
#include <grp.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include "client/cli/doctor/apart.h"
#include "client/cli/query.h"
#include "proto/cuda/driver.h"
#include "proto/unique_fd.h"

namespace spdld::cli::doctor {
namespace {

using config::Json;
using SystemClock = std::chrono::system_clock;

constexpr double kFolderS = 5, kServerS = 3, kGpuS = 15;
constexpr int kConnectMs = 2'500, kDateMs = 400;  // of kServerS

// File systems that are no local disk's, by the numbers that statfs(2) gives.
std::string_view file_system_of(const struct statfs& status) {
  static constexpr std::array<std::pair<uint64_t, std::string_view>, 13> kKnown = {{{0x01021994, "tmpfs"},
                                                                                    {0x858458F6, "tmpfs"},
                                                                                    {0x6969, "nfs"},
                                                                                    {0x517B, "smb"},
                                                                                    {0xFF534D42, "cifs"},
                                                                                    {0xFE534D42, "smb"},
                                                                                    {0x65735546, "fuse"},
                                                                                    {0x00C36400, "ceph"},
                                                                                    {0x0BD00BD0, "lustre"},
                                                                                    {0x47504653, "gpfs"},
                                                                                    {0x5346414F, "afs"},
                                                                                    {0x01021997, "9p"},
                                                                                    {0x19830326, "beegfs"}}};
  for (const auto& [number, name] : kKnown)
    if (static_cast<uint32_t>(status.f_type) == number) return name;
  return {};
}

// In a process of its own: there is no way back.
bool become(const Reader& reader) {
  return reader.is_self ||
         (initgroups(reader.name.c_str(), reader.gid) == 0 && setgid(reader.gid) == 0 && setuid(reader.uid) == 0);
}

std::string folder_seen(const std::filesystem::path& path, const Reader& reader) {
  if (!become(reader)) return {};
  struct stat status {};
  struct statfs disk {};
  const bool exists = stat(path.c_str(), &status) == 0;
  const bool is_known = exists && statfs(path.c_str(), &disk) == 0;
  const auto may = [&](int how) { return exists && faccessat(AT_FDCWD, path.c_str(), how, AT_EACCESS) == 0; };
  const Json seen = {{"exists", exists},
                     {"is_folder", exists && S_ISDIR(status.st_mode)},
                     {"may_read", may(R_OK | X_OK)},
                     {"may_write", may(W_OK | X_OK)},
                     {"owner", exists ? status.st_uid : 0},
                     {"mode", exists ? status.st_mode & 07777 : 0},
                     {"file_system", is_known ? file_system_of(disk) : std::string_view()},
                     {"free_bytes", is_known ? uint64_t{disk.f_bavail} * static_cast<uint64_t>(disk.f_bsize) : 0}};
  return seen.dump();
}

Json table_of(const std::optional<std::string>& answer) {
  std::optional<Json> read = answer ? Json::parse(*answer) : std::nullopt;
  return read && read->is_object() ? std::move(*read) : Json::object();
}

Folder folder_of(const std::filesystem::path& path, const std::optional<std::string>& answer) {
  const Json seen = table_of(answer);
  Folder folder;
  folder.path = path.string();
  folder.answered = answer.has_value();
  folder.exists = flag_or_false(seen, "exists");
  folder.is_folder = flag_or_false(seen, "is_folder");
  folder.may_read = flag_or_false(seen, "may_read");
  folder.may_write = flag_or_false(seen, "may_write");
  folder.owner = static_cast<uid_t>(count_or_zero(seen, "owner"));
  folder.mode = static_cast<uint32_t>(count_or_zero(seen, "mode"));
  folder.file_system = text_or_empty(seen, "file_system");
  folder.free_bytes = count_or_zero(seen, "free_bytes");
  return folder;
}

// Empty: it is connected.
std::string connect_to(const addrinfo& address, int limit_ms, UniqueFd& fd) {
  fd.reset(::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, address.ai_protocol));
  if (!fd) return std::strerror(errno);
  if (connect(fd.get(), address.ai_addr, address.ai_addrlen) == 0) return {};
  if (errno != EINPROGRESS) return std::strerror(errno);
  pollfd ready{fd.get(), POLLOUT, 0};
  if (poll(&ready, 1, limit_ms) <= 0) return "it did not answer in time";
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  return error == 0 ? std::string() : std::strerror(error);
}

// How far the server's clock is ahead of this node's. Nothing: it does not say.
std::optional<double> clock_ahead(const Server& server, int fd) {
  constexpr size_t kHeadBytesMax = 16'384;
  const std::string request = "HEAD / HTTP/1.1\r\nHost: " + server.text() + "\r\nConnection: close\r\n\r\n";
  const auto before = SystemClock::now();
  if (send(fd, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) return {};
  std::string head;
  std::array<char, 2048> bytes{};
  for (pollfd ready{fd, POLLIN, 0}; head.size() < kHeadBytesMax && poll(&ready, 1, kDateMs) > 0;) {
    const ssize_t size = recv(fd, bytes.data(), bytes.size(), 0);
    if (size <= 0) break;
    head.append(bytes.data(), static_cast<size_t>(size));
    if (head.find("\r\n\r\n") != std::string::npos) break;
  }
  const std::optional<int64_t> date = date_in(head);
  if (!date) return {};
  const auto middle = before + (SystemClock::now() - before) / 2;
  const double ahead_s = static_cast<double>(*date) - std::chrono::duration<double>(middle.time_since_epoch()).count();
  return ahead_s > -1 && ahead_s < 1 ? 0 : ahead_s;  // a header has whole seconds
}

std::string server_seen(const Server& server) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(server.host.c_str(), server.port.c_str(), &hints, &found);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> held(found, &freeaddrinfo);
  Json seen = Json::object();
  seen["trouble"] = error != 0 ? std::string("the name is not known: ") + gai_strerror(error) : "it has no address";
  int addresses = 0;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) addresses++;
  for (const addrinfo* at = error == 0 ? found : nullptr; at != nullptr; at = at->ai_next) {
    UniqueFd fd;
    const std::string trouble = connect_to(*at, kConnectMs / addresses, fd);
    seen["trouble"] = trouble;
    if (!trouble.empty()) continue;
    if (const auto ahead_s = server.is_plain_http ? clock_ahead(server, fd.get()) : std::nullopt)
      seen["ahead_s"] = *ahead_s;
    break;
  }
  return seen.dump();
}

std::string gpus_seen() {
  std::string why;
  const cuda::Driver* const driver = cuda::Driver::find(&why);
  Json names = Json::array();
  if (driver != nullptr)
    for (const cuda::Device& device : driver->devices()) names.push_back(device.name);
  const Json seen = {{"version", driver == nullptr ? 0 : driver->version()}, {"reason", why}, {"names", names}};
  return seen.dump();
}

}  // namespace

std::vector<Folder> look_at_folders(const std::vector<std::filesystem::path>& paths, const Reader& reader) {
  std::vector<Work> works;
  for (const auto& path : paths) works.emplace_back([&path, &reader] { return folder_seen(path, reader); });
  const auto answers = do_apart(works, kFolderS);
  std::vector<Folder> folders;
  for (size_t i = 0; i < paths.size(); i++) folders.push_back(folder_of(paths[i], answers[i]));
  return folders;
}

std::vector<Endpoint> look_at_servers(const std::vector<Asked>& servers) {
  std::vector<Work> works;
  for (const auto& asked : servers) works.emplace_back([&asked] { return server_seen(asked.server); });
  const auto answers = do_apart(works, kServerS);
  std::vector<Endpoint> endpoints;
  for (size_t i = 0; i < servers.size(); i++) {
    const Json seen = table_of(answers[i]);
    Endpoint endpoint;
    endpoint.server = servers[i].server.text();
    endpoint.uri = servers[i].uri;
    endpoint.is_s3 = servers[i].is_s3;
    endpoint.is_proxy = servers[i].server.is_proxy;
    endpoint.trouble = answers[i] ? text_or_empty(seen, "trouble") : "it did not answer in time";
    endpoint.answered = endpoint.trouble.empty();
    if (seen.contains("ahead_s")) endpoint.clock_ahead_s = number_or_zero(seen, "ahead_s");
    endpoints.push_back(std::move(endpoint));
  }
  return endpoints;
}

Gpus look_at_gpus() {
  Gpus gpus;
  std::error_code ignored;
  for (const char* device : {"/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg", "/proc/driver/nvidia/version"})
    gpus.has_device |= std::filesystem::exists(device, ignored);
  const auto answer = do_apart({&gpus_seen}, kGpuS).front();
  const Json seen = table_of(answer);
  gpus.answered = answer.has_value();
  gpus.driver_version = static_cast<int>(count_or_zero(seen, "version"));
  gpus.reason = text_or_empty(seen, "reason");
  for (const Json& name : list_or_empty(seen, "names"))
    if (name.is_string()) gpus.names.push_back(name.text());
  return gpus;
}

}  // namespace spdld::cli::doctor
