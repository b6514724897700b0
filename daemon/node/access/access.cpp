#include "daemon/node/access/access.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

namespace spdld::node {
namespace {

constexpr uid_t kNobody = 65534;       // the overflow uid and gid: who and what this user namespace does not know
constexpr size_t kEntryBytes = 4096;   // of an entry of the database at first
constexpr size_t kEntryMax = 4 << 20;  // a group of a large directory names its members
constexpr int kGroupsMax = 65536;      // the kernel's NGROUPS_MAX

// Calls look_up(text, bytes), one of the getpw..._r and getgr..._r calls, with as much memory as it wants.
template <typename LookUp>
bool found_in_database(std::vector<char>& text, const LookUp& look_up) {
  for (size_t bytes = kEntryBytes; bytes <= kEntryMax; bytes *= 4) {
    text.resize(bytes);
    const int error = look_up(text.data(), bytes);
    if (error != ERANGE && error != EINTR) return error == 0;
  }
  return false;
}

struct User {
  std::string name;
  gid_t gid;
};

std::optional<User> find_user(uid_t uid) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> text;
  const bool known = found_in_database(
      text, [&](char* memory, size_t bytes) { return getpwuid_r(uid, &entry, memory, bytes, &found); });
  if (!known || !found) return std::nullopt;
  return User{entry.pw_name, entry.pw_gid};
}

// The group of this name or number.
std::optional<gid_t> find_group(const std::string& wanted) {
  gid_t gid = 0;
  const auto [end, error] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), gid);
  if (error == std::errc() && end == wanted.data() + wanted.size()) return gid;
  group entry{};
  group* found = nullptr;
  std::vector<char> text;
  const bool known = found_in_database(
      text, [&](char* memory, size_t bytes) { return getgrnam_r(wanted.c_str(), &entry, memory, bytes, &found); });
  if (!known || !found) return std::nullopt;
  return entry.gr_gid;
}

// The groups of the user, as the database says.
std::vector<gid_t> groups_of_user(uid_t uid) {
  const auto user = find_user(uid);
  if (!user) return {};
  std::vector<gid_t> gids(64);
  for (int count = static_cast<int>(gids.size()); count <= kGroupsMax;) {
    gids.resize(static_cast<size_t>(count));
    if (getgrouplist(user->name.c_str(), user->gid, gids.data(), &count) >= 0) {
      gids.resize(static_cast<size_t>(count));
      return gids;
    }
    count = std::max(count, static_cast<int>(gids.size()) * 2);  // it tells how many there are
  }
  return {user->gid};
}

std::vector<gid_t> groups_of(const control::Client& client) {
  std::vector<gid_t> gids = groups_of_user(client.uid);
  gids.push_back(client.gid);
  gids.insert(gids.end(), client.groups.begin(), client.groups.end());
  std::erase(gids, kNobody);  // whatever group that is, it is none of this namespace
  return gids;
}

// Both are absolute. A "/" at the folder's end does not count.
bool begins_with(const std::filesystem::path& path, const std::filesystem::path& folder) {
  if (folder.empty()) return false;
  const auto last = folder.has_filename() ? folder.end() : std::prev(folder.end());
  return std::mismatch(folder.begin(), last, path.begin(), path.end()).first == last;
}

}  // namespace

void give_to_group(const std::filesystem::path& socket, const std::string& group) {
  if (group.empty()) return;
  const auto gid = find_group(group);
  if (!gid) throw SetupError(Trouble::kUsage, "socket.group: there is no group '" + group + "' on this machine");
  if (chown(socket.c_str(), static_cast<uid_t>(-1), *gid) != 0)
    throw SetupError(Trouble::kUsage, "socket.group: " + socket.string() + " can't be given to group '" + group +
                                          "': " + std::strerror(errno));
}

std::string user_name(uid_t uid) {
  const auto user = find_user(uid);
  return user ? user->name : std::to_string(uid);
}

bool is_owner(uid_t uid) { return uid == 0 || uid == geteuid(); }

bool is_same_user(const control::Client& client, uid_t uid) { return client.uid == uid && uid != kNobody; }

namespace {

// A client in the words of an access table; its name and its groups are looked up once, where they are needed.
class Person {
 public:
  explicit Person(const control::Client& client) : client_(client) {}

  bool is_in(const config::Allowed& allowed) {
    const auto& users = allowed.users;
    const auto has = [&users](const std::string& user) {
      return std::find(users.begin(), users.end(), user) != users.end();
    };
    if (has("*")) return true;
    if (client_.uid == kNobody) return false;
    if (has(std::to_string(client_.uid)) || (!users.empty() && has(name()))) return true;
    return std::any_of(allowed.groups.begin(), allowed.groups.end(), [&](const std::string& wanted) {
      const auto gid = find_group(wanted);
      return gid && std::find(gids().begin(), gids().end(), *gid) != gids().end();
    });
  }

 private:
  const std::string& name() {
    if (!name_) name_ = user_name(client_.uid);
    return *name_;
  }
  const std::vector<gid_t>& gids() {
    if (!gids_) gids_ = groups_of(client_);
    return *gids_;
  }

  const control::Client& client_;
  std::optional<std::string> name_;
  std::optional<std::vector<gid_t>> gids_;
};

}  // namespace

bool is_among(const config::Allowed& allowed, const control::Client& client) { return Person(client).is_in(allowed); }

bool may_use(const config::DaemonSettings& settings, const std::string& pipeline, const control::Client& client) {
  if (is_owner(client.uid)) return true;
  Person person(client);
  bool is_written = false, by_name = false, by_star = false;
  for (const auto& [name, allowed] : settings.access) {
    const bool is_allowed = person.is_in(allowed);
    if (name == "*") by_star = is_allowed;
    if (name != pipeline) continue;
    is_written = true;
    by_name = is_allowed;
  }
  return is_written ? by_name : by_star;
}

Folders data_roots(const config::DaemonSettings& settings) {
  Folders folders;
  for (const auto& root : settings.data_roots) folders.push_back({root.path, root.follow_links});
  return folders;
}

Folders open_roots(const config::DaemonSettings& settings, const control::Client& client) {
  Folders folders;
  for (const auto& root : settings.data_roots)
    if (is_among(root.senders, client)) folders.push_back({root.path, root.follow_links});
  return folders;
}

AllowedUris data_stores(const config::DaemonSettings& settings) {
  AllowedUris uris{.is_bound = !settings.data_roots.empty() || !settings.data_stores.empty()};
  for (const auto& store : settings.data_stores) uris.beginnings.push_back(store.uri);
  return uris;
}

AllowedUris open_stores(const config::DaemonSettings& settings, const control::Client& client) {
  AllowedUris uris{.is_bound = true};
  for (const auto& store : settings.data_stores)
    if (is_among(store.senders, client)) uris.beginnings.push_back(store.uri);
  return uris;
}

bool lies_in(const std::filesystem::path& folder, const std::filesystem::path& path) {
  std::error_code error;
  const auto real = std::filesystem::weakly_canonical(path, error);
  if (error) return false;
  const auto real_folder = std::filesystem::weakly_canonical(folder, error);
  if (error) return false;
  return begins_with(real, real_folder);
}

bool lies_in_any(const Folders& folders, const std::filesystem::path& path) {
  const bool is_plain = std::find(path.begin(), path.end(), "..") == path.end();
  return std::any_of(folders.begin(), folders.end(), [&](const Folder& folder) {
    const bool is_linked = folder.follow_links && is_plain && begins_with(path, folder.path.lexically_normal());
    return is_linked || lies_in(folder.path, path);
  });
}

}  // namespace spdld::node
