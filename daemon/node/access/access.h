// Access rights to specs, named pipelines and data roots. Control thread only (looks names up in the user database).
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "config/daemon_settings.h"
#include "daemon/base/result.h"
#include "daemon/control/service.h"
#include "daemon/source/files/bounds.h"

namespace spdld::node {

using Folder = source::Bounds::Folder;
using Folders = std::vector<Folder>;

// The daemon's own uid and root may do everything that quotas allow.
bool is_owner(uid_t uid);

// Whether the client is in `allowed`. Its groups are its process's groups and the groups that the database gives its
// user. A client from another user namespace, which has the overflow uid, is only in "*" (everybody).
bool is_among(const config::Allowed& allowed, const control::Client& client);

// Whether `uid` is the client's user. The overflow uid stands for many users, none of whom is another's.
bool is_same_user(const control::Client& client, uid_t uid);

// May this client use the named pipeline? The whole table is looked at for every name, so that the time that the answer
// takes does not tell which names the table has.
bool may_use(const config::DaemonSettings& settings, const std::string& pipeline, const control::Client& client);

// For whom a document is made: a client, who outlives it, or the owner by a way without a client, such as the status
// page and the file of last errors.
class Asker {
 public:
  Asker(const control::Client& client) : client_(&client) {}
  static Asker owner() { return Asker(); }

  bool is_owner() const { return client_ == nullptr || node::is_owner(client_->uid); }
  bool has_uid(uid_t uid) const { return client_ != nullptr && client_->uid == uid; }
  bool is_user(uid_t uid) const { return client_ != nullptr && is_same_user(*client_, uid); }
  bool has_session(uint64_t session) const { return client_ != nullptr && client_->session == session; }
  bool may_use(const config::DaemonSettings& settings, const std::string& pipeline) const {
    return client_ == nullptr || node::may_use(settings, pipeline, *client_);
  }

 private:
  Asker() = default;
  const control::Client* client_ = nullptr;
};

// All data roots, and the data roots over which this client, who is not the owner, may send specs.
Folders data_roots(const config::DaemonSettings& settings);
Folders open_roots(const config::DaemonSettings& settings, const control::Client& client);

// The beginnings of uris below which remote sources may lie.
struct AllowedUris {
  std::vector<std::string> beginnings = {};
  bool is_bound = false;  // false: they may lie anywhere
};
// All data stores, and the data stores over which this client, who is not the owner, may send specs.
AllowedUris data_stores(const config::DaemonSettings& settings);
AllowedUris open_stores(const config::DaemonSettings& settings, const control::Client& client);

// Does `path`, symlinks resolved, lie in `folder`, or in one of `folders`?
bool lies_in(const std::filesystem::path& folder, const std::filesystem::path& path);
// Where a folder's links are followed, its own text is enough for a path.
bool lies_in_any(const Folders& folders, const std::filesystem::path& path);

// Gives the socket to `group` (a name or a number; empty: the group stays). Throws SetupError.
void give_to_group(const std::filesystem::path& socket, const std::string& group);

std::string user_name(uid_t uid);  // the uid as a number where it has no name

}  // namespace spdld::node
