// Who may do what: specs, named pipelines, data roots. Control thread only (looks names up in the user database).
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "config/daemon_settings.h"
#include "daemon/base/result.h"

namespace spdld::node {

// The daemon's own uid and root may do everything that quotas allow.
bool is_owner(uid_t uid);

// May this uid use the named pipeline?
bool may_use(const config::DaemonSettings& settings, const std::string& pipeline, uid_t uid, gid_t gid);

// Does `path`, symlinks resolved, lie in `folder`?
bool lies_in(const std::filesystem::path& folder, const std::filesystem::path& path);
// Does `path`, symlinks resolved, lie in one of the data roots (or are there none)?
bool in_data_roots(const config::DaemonSettings& settings, const std::filesystem::path& path);

// Gives the socket to `group` (a name or a number; empty: as it is). Throws SetupError.
void give_to_group(const std::filesystem::path& socket, const std::string& group);

std::string user_name(uid_t uid);  // its number where it has no name

}  // namespace spdld::node
