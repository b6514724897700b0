#include "client/cli/doctor/gather.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <spdld.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <type_traits>
#include <utility>

#include "client/cli/doctor/looks.h"
#include "client/cli/doctor/reading.h"
#include "client/cli/query.h"
#include "config/checks/load.h"
#include "config/text/state_folder.h"

namespace spdld::cli::doctor {
namespace {

namespace fs = std::filesystem;

constexpr size_t kFileBytesMax = 65'536;  // of the kernel's files
constexpr size_t kRootsMax = 64, kServersMax = 64;
constexpr int kLevelsMax = 32;  // of control groups
constexpr const char* kServiceUser = "spdld";
constexpr const char* kServiceStateFolder = "/var/cache/spdld";

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kFileBytesMax, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

std::string user_name(uid_t uid) {
  const passwd* const entry = getpwuid(uid);
  return entry == nullptr ? std::to_string(uid) : entry->pw_name;
}

std::string group_name(gid_t gid) {
  const group* const entry = getgrgid(gid);
  return entry == nullptr ? std::to_string(gid) : entry->gr_name;
}

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void gather_kernel(Facts& facts) {
  utsname names{};
  if (uname(&names) == 0) facts.kernel = names.release;
  facts.huge_pages = chosen_in(text_of("/sys/kernel/mm/transparent_hugepage/shmem_enabled"));
  timex clock{};
  if (const int state = adjtimex(&clock); state >= 0)
    facts.is_clock_synchronised = state != TIME_ERROR && (clock.status & STA_UNSYNC) == 0;
  struct sysinfo machine {};
  if (sysinfo(&machine) == 0) facts.memory_bytes = uint64_t{machine.totalram} * machine.mem_unit;
}

void gather_settings(Facts& facts, const std::string& path) {
  std::error_code error;
  facts.file.path = path;
  facts.file.exists = fs::exists(path, error) || error == std::errc::permission_denied;
  facts.file.is_readable = facts.file.exists && faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) == 0;
  if (!facts.file.is_readable) return;
  auto loaded = config::load_daemon_file(path);
  for (const auto& complaint : loaded.complaints) facts.file.complaints.push_back(complaint.sentence());
  if (loaded) facts.settings = std::move(*loaded.value);
}

void gather_service(Facts& facts) {
  std::error_code ignored;
  for (const char* folder : {"/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system",
                             "/usr/lib/systemd/system", "/lib/systemd/system"})
    facts.service.is_installed |= fs::exists(fs::path(folder) / "spdld.service", ignored);
  facts.service.has_user = getpwnam(kServiceUser) != nullptr;
}

void gather_daemon(Facts& facts, const Globals& globals) {
  try {
    facts.daemon.status = ask(globals, "status");
    facts.daemon.answered = true;
  } catch (const Failure& failure) {
    facts.daemon.trouble = failure.what();
    facts.daemon.is_denied = failure.code() == kDenied;
    facts.daemon.is_silent = failure.code() == kTimedOut;
  }
}

// The limits that are in force, whatever the file says: it may have changed, or be another daemon's.
void take_limits(Facts& facts) {
  if (!facts.daemon.answered) return;
  const config::Json& status = facts.daemon.status;
  const auto take = [&](const char* table, const char* key, auto& limit) {
    const config::Json* const found = table_or_empty(status, table).find(key);
    if (found != nullptr && found->is_number()) limit = static_cast<std::decay_t<decltype(limit)>>(found->count());
  };
  config::DaemonSettings& settings = facts.settings;
  take("memory", "slot_bytes_max", settings.slot_bytes_max);
  take("limits", "sessions_max", settings.sessions_max);
  take("limits", "sessions_reserve", settings.sessions_reserve);
  uint64_t ram_bytes_max = 0;
  take("cache", "ram_bytes_max", ram_bytes_max);
  if (ram_bytes_max > 0) settings.cache_ram_bytes_max = ram_bytes_max;
}

// The limits of the control groups, from the process's own up to the root.
void gather_groups(Process& process, const fs::path& proc) {
  fs::path group = fs::path("/sys/fs/cgroup") / fs::path(group_in(text_of(proc / "cgroup"))).relative_path();
  const std::string cpu = text_of(group / "cpu.stat");
  process.cpu_periods = number_in(cpu, "nr_periods").value_or(0);
  process.cpu_throttled = number_in(cpu, "nr_throttled").value_or(0);
  process.oom_kills = number_in(text_of(group / "memory.events"), "oom_kill").value_or(0);
  for (int level = 0; level < kLevelsMax && group.string().starts_with("/sys/fs/cgroup"); level++) {
    process.memory_bytes_max =
        std::min(process.memory_bytes_max, memory_max_in(text_of(group / "memory.max")).value_or(kUnlimited));
    const double quota = cpu_quota_in(text_of(group / "cpu.max"));
    if (quota > 0) process.cpu_quota = process.cpu_quota > 0 ? std::min(process.cpu_quota, quota) : quota;
    group = group.parent_path();
  }
}

std::optional<uint64_t> count_files(const fs::path& folder) {
  std::error_code error;
  uint64_t count = 0;
  for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator(); at.increment(error)) count++;
  return error ? std::nullopt : std::optional(count);
}

// The daemon's folder in /proc; empty: there is none to be seen. A daemon in another container has a number that is
// somebody else's here.
fs::path proc_of_daemon(const Facts& facts) {
  if (!facts.daemon.answered) return {};
  const fs::path proc = fs::path("/proc") / std::to_string(count_or_zero(facts.daemon.status, "pid"));
  return text_of(proc / "comm").starts_with("spdld") ? proc : fs::path();
}

void gather_process(Facts& facts) {
  Process& process = facts.process;
  const fs::path daemons = proc_of_daemon(facts);
  const std::string limits = daemons.empty() ? std::string() : text_of(daemons / "limits");
  process.is_daemons = !limits.empty();
  const fs::path proc = process.is_daemons ? daemons : fs::path("/proc/self");
  const std::string text = process.is_daemons ? limits : text_of(proc / "limits");
  process.files_max = limit_in(text, "Max open files", true).value_or(kUnlimited);
  process.memlock_bytes_max = limit_in(text, "Max locked memory", false).value_or(kUnlimited);
  gather_groups(process, proc);
  if (!process.is_daemons) return;
  process.files_open = count_files(proc / "fd");
  std::error_code error, own_error;
  const fs::path network = fs::read_symlink(proc / "ns/net", error),
                 own = fs::read_symlink("/proc/self/ns/net", own_error);
  if (!error && !own_error) process.shares_network = network == own;
}

// The daemon's user: the running daemon's, else the service's, else this user, who may start a private daemon.
Reader gather_reader(Facts& facts) {
  const passwd* entry = facts.service.is_installed ? getpwnam(kServiceUser) : nullptr;
  struct stat status {};
  const fs::path proc = proc_of_daemon(facts);
  if (!proc.empty() && stat(proc.c_str(), &status) == 0) entry = getpwuid(status.st_uid);
  facts.user = facts.reader = facts.daemon_user = user_name(geteuid());
  Reader reader{.name = facts.user};
  if (entry == nullptr || entry->pw_uid == geteuid()) return reader;
  facts.daemon_user = entry->pw_name;
  if (geteuid() != 0) return reader;
  facts.reader = entry->pw_name;
  return {facts.reader, false, entry->pw_uid, entry->pw_gid};
}

void gather_socket(Facts& facts, const Globals& globals) {
  Socket& socket = facts.socket;
  socket.path = facts.daemon.answered ? text_or_empty(facts.daemon.status, "socket") : std::string();
  if (socket.path.empty()) socket.path = globals.socket;
  if (socket.path.empty()) socket.path = environment("SPDLD_SOCKET");
  if (socket.path.empty()) socket.path = facts.settings.socket_path.string();
  struct stat status {};
  socket.exists = stat(socket.path.c_str(), &status) == 0;
  if (!socket.exists) return;
  socket.mode = status.st_mode & 07777;
  socket.group = group_name(status.st_gid);
  socket.may_connect = faccessat(AT_FDCWD, socket.path.c_str(), W_OK, AT_EACCESS) == 0;
}

fs::path state_folder(const Facts& facts) {
  if (!facts.settings.state_folder.empty()) return facts.settings.state_folder;
  const bool is_private = flag_or_false(facts.daemon.status, "private");
  if (facts.service.is_installed && !is_private) return kServiceStateFolder;
  return config::default_state_folder();
}

void gather_folders(Facts& facts, const Reader& reader) {
  std::vector<fs::path> roots;
  for (const auto& root : facts.settings.data_roots)
    if (roots.size() < kRootsMax) roots.push_back(root.path);
  facts.roots = look_at_folders(roots, reader);
  const fs::path state = state_folder(facts);
  if (facts.settings.state_kept && !state.empty()) facts.state = look_at_folders({state}, reader).front();
  if (!facts.settings.cache_folder.empty())
    facts.cache = look_at_folders({facts.settings.cache_folder}, reader).front();
  const fs::path of_socket = fs::absolute(facts.socket.path).parent_path();
  facts.socket.folder = look_at_folders({of_socket}, {}).front();
}

void gather_servers(Facts& facts) {
  StoreEnvironment said{environment("AWS_ENDPOINT_URL_S3"), environment("AWS_REGION")};
  if (said.endpoint.empty()) said.endpoint = environment("AWS_ENDPOINT_URL");
  if (said.region.empty()) said.region = environment("AWS_DEFAULT_REGION");
  std::map<std::string, Asked> by_server;
  for (const auto& store : facts.settings.data_stores) {
    const std::optional<Server> server = server_of(store, said);
    if (server) by_server.emplace(server->text(), Asked{*server, store.uri, store.uri.starts_with("s3://")});
  }
  std::vector<Asked> asked;
  for (auto& [text, one] : by_server)
    if (asked.size() < kServersMax) asked.push_back(std::move(one));
  facts.endpoints_left_out = by_server.size() - asked.size();
  facts.endpoints = look_at_servers(asked);
}

}  // namespace

Facts gather(const Globals& globals, const std::string& settings_file) {
  Facts facts;
  facts.version = spdld_version();
  gather_kernel(facts);
  gather_settings(facts, settings_file);
  gather_service(facts);
  gather_daemon(facts, globals);
  take_limits(facts);
  gather_process(facts);
  const Reader reader = gather_reader(facts);
  gather_socket(facts, globals);
  gather_folders(facts, reader);
  gather_servers(facts);
  facts.gpus = look_at_gpus();
  return facts;
}

}  // namespace spdld::cli::doctor
