// All that `spdlctl doctor` knows of a node. gather() fills it, and the checks are functions of it. Plain values.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "config/daemon_settings.h"
#include "config/text/json.h"

namespace spdld::cli::doctor {

inline constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

struct SettingsFile {
  std::string path;
  bool exists = false, is_readable = false;
  std::vector<std::string> complaints;  // sentences
};

// The daemon's process, or this one where the daemon's can't be looked at: a private daemon has its limits.
struct Process {
  bool is_daemons = false;
  uint64_t files_max = kUnlimited;  // RLIMIT_NOFILE, to which the daemon raises its own
  std::optional<uint64_t> files_open;
  uint64_t memlock_bytes_max = kUnlimited;
  std::optional<bool> shares_network;  // with this process; a service may have no network at all

  // Of its control groups.
  uint64_t memory_bytes_max = kUnlimited;
  uint64_t oom_kills = 0;
  double cpu_quota = 0;  // cores; 0: none
  uint64_t cpu_periods = 0, cpu_throttled = 0;
};

// A folder, as the user who reads it sees it.
struct Folder {
  std::string path;
  bool answered = true;  // false: its file system did not answer in time
  bool exists = false, is_folder = false, may_read = false, may_write = false;
  uid_t owner = 0;
  uint32_t mode = 0;
  std::string file_system;  // "nfs", "tmpfs"; empty: a local disk's
  uint64_t free_bytes = 0;
};

// A server that stores are read from.
struct Endpoint {
  std::string server;  // "data.example.org:443"
  std::string uri;     // of the first store there
  bool is_s3 = false, is_proxy = false;
  bool answered = false;
  std::string trouble;                  // why it did not
  std::optional<double> clock_ahead_s;  // of the server's, where it says
};

struct Gpus {
  bool has_device = false;  // the kernel shows one
  bool answered = true;     // false: the driver did not answer in time
  int driver_version = 0;   // 12040 is CUDA 12.4; 0: no driver can be used
  std::string reason;       // why not
  std::vector<std::string> names;
};

struct Socket {
  std::string path;
  Folder folder;
  bool exists = false, may_connect = false;
  uint32_t mode = 0;
  std::string group;
};

struct Service {
  bool is_installed = false;  // its unit is there
  bool has_user = false;      // the user "spdld"
};

struct Daemon {
  bool answered = false;
  bool is_denied = false, is_silent = false;  // it refused this user; it did not answer in time
  std::string trouble;                        // why it did not answer
  config::Json status = config::Json::object();
};

struct Facts {
  std::string version;      // of spdlctl
  std::string user;         // who asks
  std::string reader;       // as whom the folders were looked at
  std::string daemon_user;  // as whom the daemon reads
  std::string kernel;       // "6.1.0-18-amd64"
  std::string huge_pages;   // the setting for shared memory; empty: the kernel has none
  std::optional<bool> is_clock_synchronised;
  uint64_t memory_bytes = 0;  // of the machine

  SettingsFile file;
  config::DaemonSettings settings;  // of the file; the defaults where it can't be read
  Process process;
  Gpus gpus;
  Socket socket;
  Service service;
  Daemon daemon;
  std::vector<Folder> roots;
  std::optional<Folder> cache, state;
  std::vector<Endpoint> endpoints;
  uint64_t endpoints_left_out = 0;
};

}  // namespace spdld::cli::doctor
