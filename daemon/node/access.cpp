#include "daemon/node/access.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

namespace spdld::node {
namespace {

constexpr uid_t kNobody = 65534;  // the overflow uid: somebody whom this user namespace does not know
constexpr int kGroupsMax = 256;

struct User {
  std::string name;
  gid_t gid;
};

std::optional<User> find_user(uid_t uid) {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 4096> text{};
  if (getpwuid_r(uid, &entry, text.data(), text.size(), &found) != 0 || !found) return std::nullopt;
  return User{entry.pw_name, entry.pw_gid};
}

bool group_matches(const std::string& wanted, gid_t gid) {
  if (wanted == std::to_string(gid)) return true;
  group entry{};
  group* found = nullptr;
  std::array<char, 16384> text{};
  return getgrgid_r(gid, &entry, text.data(), text.size(), &found) == 0 && found && wanted == entry.gr_name;
}

std::vector<gid_t> groups_of(uid_t uid, gid_t gid) {
  std::vector<gid_t> gids(kGroupsMax);
  int count = kGroupsMax;
  const auto user = find_user(uid);
  if (!user || getgrouplist(user->name.c_str(), user->gid, gids.data(), &count) < 0) return {gid};
  gids.resize(static_cast<size_t>(count));
  gids.push_back(gid);
  return gids;
}

}  // namespace

void give_to_group(const std::filesystem::path& socket, const std::string& group) {
  if (group.empty()) return;
  struct group entry {};
  struct group* found = nullptr;
  std::array<char, 16384> text{};
  gid_t gid = 0;
  const auto [end, error] = std::from_chars(group.data(), group.data() + group.size(), gid);
  const bool is_number = error == std::errc() && end == group.data() + group.size();
  if (!is_number) {
    if (getgrnam_r(group.c_str(), &entry, text.data(), text.size(), &found) != 0 || !found)
      throw SetupError(Trouble::kUsage, "socket.group: there is no group '" + group + "' on this machine");
    gid = entry.gr_gid;
  }
  if (chown(socket.c_str(), static_cast<uid_t>(-1), gid) != 0)
    throw SetupError(Trouble::kUsage, "socket.group: " + socket.string() + " can't be given to group '" + group +
                                          "': " + std::strerror(errno));
}

std::string user_name(uid_t uid) {
  const auto user = find_user(uid);
  return user ? user->name : std::to_string(uid);
}

bool is_owner(uid_t uid) { return uid == 0 || uid == geteuid(); }

bool may_use(const config::DaemonSettings& settings, const std::string& pipeline, uid_t uid, gid_t gid) {
  if (is_owner(uid)) return true;
  auto access = settings.access.find(pipeline);
  if (access == settings.access.end()) access = settings.access.find("*");
  if (access == settings.access.end()) return false;
  const auto& users = access->second.users;
  if (std::find(users.begin(), users.end(), "*") != users.end()) return true;
  if (uid == kNobody) return false;
  const std::string name = user_name(uid), number = std::to_string(uid);
  if (std::any_of(users.begin(), users.end(), [&](const auto& user) { return user == name || user == number; }))
    return true;
  if (access->second.groups.empty()) return false;
  const auto gids = groups_of(uid, gid);
  for (const auto& wanted : access->second.groups)
    if (std::any_of(gids.begin(), gids.end(), [&](gid_t g) { return group_matches(wanted, g); })) return true;
  return false;
}

bool lies_in(const std::filesystem::path& folder, const std::filesystem::path& path) {
  std::error_code error;
  const auto real = std::filesystem::weakly_canonical(path, error);
  if (error) return false;
  const auto real_folder = std::filesystem::weakly_canonical(folder, error);
  if (error) return false;
  const auto [end, rest] = std::mismatch(real_folder.begin(), real_folder.end(), real.begin(), real.end());
  return end == real_folder.end();
}

bool in_data_roots(const config::DaemonSettings& settings, const std::filesystem::path& path) {
  const auto& roots = settings.data_roots;
  return roots.empty() ||
         std::any_of(roots.begin(), roots.end(), [&](const auto& root) { return lies_in(root, path); });
}

}  // namespace spdld::node
