// Reads what the kernel and servers say. Texts come from outside: anything else than expected is read as nothing. Pure
// functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/daemon_settings.h"

namespace spdld::cli::doctor {

// The choice of a file in /sys: "advise" of "always [advise] never".
std::string chosen_in(std::string_view text);

// Of /proc/PID/limits: the limit called `name` ("Max open files"), soft or hard; kUnlimited for "unlimited".
std::optional<uint64_t> limit_in(std::string_view text, std::string_view name, bool is_hard);

// Of a file with lines of a key and a number, such as cpu.stat.
std::optional<uint64_t> number_in(std::string_view text, std::string_view key);

// Of a cgroup's memory.max; kUnlimited for "max".
std::optional<uint64_t> memory_max_in(std::string_view text);
// Of a cgroup's cpu.max, in cores; 0: no limit.
double cpu_quota_in(std::string_view text);

// Of /proc/PID/cgroup: the group of version 2, from its root: "/system.slice/spdld.service".
std::string group_in(std::string_view text);

// The moment of the Date header of an HTTP response, in Unix seconds.
std::optional<int64_t> date_in(std::string_view response);

// Where a store's requests go.
struct Server {
  std::string host, port;  // "data.example.org", "443"; an IPv6 address has no brackets
  bool is_plain_http = false;
  bool is_proxy = false;

  std::string text() const;  // "data.example.org:443"
};
// "https://data.example.org" and "http://[::1]:8080". Nothing: it is no such address.
std::optional<Server> server_of(std::string_view url);

// The values of the environment, which hold where the settings name none, as in the daemon.
struct StoreEnvironment {
  std::string endpoint, region;
};
// The server, or the proxy, that a store is read from.
std::optional<Server> server_of(const config::StoreSettings& store, const StoreEnvironment& environment);

}  // namespace spdld::cli::doctor
