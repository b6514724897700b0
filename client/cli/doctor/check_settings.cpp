// The daemon's file, the folders that it names, the socket, the service, and the servers of stores.
#include <cmath>

#include "client/cli/doctor/checks.h"
#include "client/cli/format.h"
#include "client/cli/query.h"

namespace spdld::cli::doctor {
namespace {

constexpr size_t kComplaintsShown = 5;
constexpr uint64_t kStateBytesMin = uint64_t{64} << 20;
constexpr double kClockFailS = 15 * 60, kClockWarnS = 60;

std::string in_octal(uint32_t mode) {
  std::string text;
  for (int shift = 9; shift >= 0; shift -= 3) text += static_cast<char>('0' + (mode >> shift & 7));
  return text;
}

Findings check_file(const Facts& facts) {
  const SettingsFile& file = facts.file;
  if (!file.exists) return {{Level::kNote, "settings", "there is no " + file.path + ": the defaults hold", ""}};
  if (!file.is_readable)
    return {{Level::kNote, "settings", facts.user + " can't read " + file.path + ": the defaults are looked at instead",
             "sudo spdlctl doctor"}};
  if (file.complaints.empty()) return {{Level::kOk, "settings", file.path, ""}};
  Findings findings;
  for (size_t i = 0; i < file.complaints.size() && i < kComplaintsShown; i++)
    findings.push_back({Level::kFail, "settings", safe_text(file.complaints[i]), "spdlctl check " + file.path});
  return findings;
}

// Empty, and the finding is no failure: the folder is there.
std::string trouble_of(const Facts& facts, const Folder& folder, bool is_written) {
  if (!folder.answered) return "does not answer: its file system hangs";
  if (!folder.exists) return "does not exist, or " + facts.reader + " may not look for it";
  if (!folder.is_folder) return "is no folder";
  if (!folder.may_read) return "can't be read by " + facts.reader;
  if (is_written && !folder.may_write) return "can't be written to by " + facts.reader;
  return {};
}

std::string remedy_of(const Facts& facts, const Folder& folder, bool is_written) {
  if (!folder.answered) return "look at its mount: findmnt --target " + folder.path;
  if (!folder.exists)
    return is_written ? "install -d -m 700 -o " + facts.daemon_user + " " + folder.path
                      : "mount it, correct data.roots, or let " + facts.daemon_user +
                            " pass through the folders above: namei -l " + folder.path;
  if (!folder.is_folder) return "name a folder in its place";
  if (!is_written)
    return "give " + facts.daemon_user +
           " a group that may read it (SupplementaryGroups= of the service), or: setfacl -m u:" + facts.daemon_user +
           ":rx " + folder.path;
  return "chown " + facts.daemon_user + " " + folder.path + "; the service also needs ReadWritePaths=" + folder.path;
}

Findings check_roots(const Facts& facts) {
  if (facts.roots.empty())
    return {{Level::kNote, "data roots",
             "none: data may lie anywhere, and only the daemon's user and root may send pipelines", ""}};
  Findings findings;
  for (const Folder& root : facts.roots) {
    const std::string trouble = trouble_of(facts, root, false);
    if (trouble.empty())
      findings.push_back({Level::kOk, "data root", root.path, ""});
    else
      findings.push_back({Level::kFail, "data root", root.path + " " + trouble, remedy_of(facts, root, false)});
  }
  return findings;
}

Finding check_cache(const Facts& facts) {
  if (!facts.cache) return {Level::kOk, "cache folder", "none: the cache is in memory alone", ""};
  const Folder& folder = *facts.cache;
  const std::string trouble = trouble_of(facts, folder, true);
  if (!trouble.empty())
    return {Level::kFail, "cache folder", folder.path + " " + trouble, remedy_of(facts, folder, true)};
  if (folder.file_system == "tmpfs")
    return {Level::kWarn, "cache folder", folder.path + " lies in memory (tmpfs), which counts twice",
            "name a folder on a local disk in cache.folder, or leave it out"};
  if (!folder.file_system.empty())
    return {Level::kWarn, "cache folder", folder.path + " lies on a network's file system (" + folder.file_system + ")",
            "name a folder on a local disk in cache.folder"};
  const uint64_t used = count_or_zero(table_or_empty(facts.daemon.status, "cache"), "disk_bytes");
  const std::string room = bytes_text(static_cast<double>(folder.free_bytes)) + " free";
  if (folder.free_bytes + used < facts.settings.cache_disk_bytes_max)
    return {Level::kWarn, "cache folder",
            folder.path + " has " + room + ", and cache.disk_bytes_max is " +
                bytes_text(static_cast<double>(facts.settings.cache_disk_bytes_max)),
            "make room on its disk, or lower cache.disk_bytes_max"};
  return {Level::kOk, "cache folder", folder.path + ", " + room, ""};
}

Finding check_state(const Facts& facts) {
  if (!facts.state)
    return {Level::kNote, "state folder", "none: each start lists the data sets anew", "name a folder in state.folder"};
  const Folder& folder = *facts.state;
  if (folder.answered && !folder.exists)
    return {Level::kNote, "state folder", folder.path + " is not there yet: the daemon makes it", ""};
  const std::string trouble = trouble_of(facts, folder, true);
  if (!trouble.empty())
    return {Level::kWarn, "state folder", folder.path + " " + trouble + ": each start lists the data sets anew",
            remedy_of(facts, folder, true)};
  if (folder.free_bytes < kStateBytesMin)
    return {Level::kWarn, "state folder",
            folder.path + " has " + bytes_text(static_cast<double>(folder.free_bytes)) + " free",
            "make room on its disk"};
  return {Level::kOk, "state folder", folder.path, ""};
}

// A user who may write to the folder may put a socket of their own in the daemon's place.
Finding check_socket_folder(const Facts& facts) {
  const Folder& folder = facts.socket.folder;
  if (!folder.exists)
    return {facts.service.is_installed ? Level::kWarn : Level::kNote, "socket folder", folder.path + " does not exist",
            facts.service.is_installed ? "systemd-tmpfiles --create; systemctl enable --now spdld.socket" : ""};
  const bool is_open = (folder.mode & 022) != 0 && (folder.mode & 01000) == 0;
  if (is_open)
    return {Level::kFail, "socket folder",
            folder.path + " has the mode " + in_octal(folder.mode) + ": other users may take the socket's place",
            "chmod go-w " + folder.path};
  return {Level::kOk, "socket folder", folder.path, ""};
}

// Nobody is to become a member of root's group for the sake of a socket.
std::string way_in(const Facts& facts) {
  const Socket& socket = facts.socket;
  if ((socket.mode & 020) == 0) return "it is one user's alone: leave out --socket and SPDLD_SOCKET";
  if (socket.group == "root")
    return "name the trainers' group in socket.group of the daemon's file, and restart the daemon";
  return "usermod -aG " + socket.group + " " + facts.user + "; then log in anew";
}

Finding check_socket(const Facts& facts) {
  const Socket& socket = facts.socket;
  if (!socket.exists)
    return {facts.service.is_installed ? Level::kWarn : Level::kNote, "socket", "there is no " + socket.path,
            facts.service.is_installed ? "systemctl enable --now spdld.socket" : ""};
  const std::string found = socket.path + ", mode " + in_octal(socket.mode) + ", group " + socket.group;
  if (!socket.may_connect)
    return {Level::kFail, "socket", found + ": " + facts.user + " may not connect", way_in(facts)};
  if ((socket.mode & 2) != 0) return {Level::kNote, "socket", found + ": every user of the node may connect", ""};
  return {Level::kOk, "socket",
          found + ((socket.mode & 020) != 0 ? ": the group's members may connect" : ": its owner may connect"), ""};
}

Finding check_service(const Facts& facts) {
  if (!facts.service.is_installed)
    return {Level::kNote, "service", "not installed: each user has a private daemon", ""};
  if (!facts.service.has_user)
    return {Level::kFail, "service", "the user spdld, as whom the service runs, does not exist", "systemd-sysusers"};
  return {Level::kOk, "service", "installed, and runs as the user spdld", ""};
}

Finding check_endpoint(const Endpoint& endpoint) {
  const std::string server = (endpoint.is_proxy ? "proxy " : "") + endpoint.server;
  if (!endpoint.answered)
    return {Level::kFail, "store", endpoint.uri + ": " + server + " can't be reached: " + safe_text(endpoint.trouble),
            endpoint.is_proxy ? "correct `proxy` in [[data.stores]], or see to the proxy"
                              : "look at the name, the firewall and `endpoint` in [[data.stores]]: getent hosts " +
                                    endpoint.server.substr(0, endpoint.server.rfind(':'))};
  const double ahead_s = endpoint.clock_ahead_s.value_or(0), off_s = std::abs(ahead_s);
  const std::string off = endpoint.uri + ": the clock of " + server + " is " + duration_text(off_s) +
                          (ahead_s > 0 ? " ahead of" : " behind") + " this node's";
  if (off_s >= kClockFailS && endpoint.is_s3)
    return {Level::kFail, "store", off + ", and S3 refuses requests that are 15 minutes off",
            "timedatectl set-ntp true"};
  if (off_s >= kClockWarnS) return {Level::kWarn, "store", off, "timedatectl set-ntp true"};
  return {Level::kOk, "store", endpoint.uri + ": " + server + " can be reached", ""};
}

}  // namespace

Findings check_settings(const Facts& facts) {
  Findings findings = check_file(facts);
  for (Finding& finding : check_roots(facts)) findings.push_back(std::move(finding));
  for (Finding& finding : Findings{check_cache(facts), check_state(facts), check_socket_folder(facts),
                                   check_socket(facts), check_service(facts)})
    findings.push_back(std::move(finding));
  return findings;
}

Findings check_endpoints(const Facts& facts) {
  Findings findings;
  if (!facts.endpoints.empty() && !facts.process.shares_network.value_or(true))
    findings.push_back({Level::kFail, "network",
                        "the daemon has a network of its own, and stores are named in the settings",
                        "install the drop-in: install -D -m 644 spdld-stores.conf "
                        "/etc/systemd/system/spdld.service.d/stores.conf; systemctl daemon-reload; systemctl restart "
                        "spdld.service"});
  for (const Endpoint& endpoint : facts.endpoints) findings.push_back(check_endpoint(endpoint));
  if (facts.endpoints_left_out > 0)
    findings.push_back(
        {Level::kNote, "store", counted(facts.endpoints_left_out, "server") + " more were not tried", ""});
  return findings;
}

}  // namespace spdld::cli::doctor
