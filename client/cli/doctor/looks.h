// Looks that may hang or need another user's rights, and so are taken in processes of their own. Their results cross as
// JSON. One thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "client/cli/doctor/facts.h"
#include "client/cli/doctor/reading.h"

namespace spdld::cli::doctor {

// As whom folders are looked at. Another user than this process's takes root.
struct Reader {
  std::string name;
  bool is_self = true;
  uid_t uid = 0;
  gid_t gid = 0;
};

std::vector<Folder> look_at_folders(const std::vector<std::filesystem::path>& paths, const Reader& reader);

struct Asked {
  Server server;
  std::string uri;  // of a store there
  bool is_s3 = false;
};
// Resolves each server's name and connects to it. A server of plain HTTP is asked for its clock, too.
std::vector<Endpoint> look_at_servers(const std::vector<Asked>& servers);

Gpus look_at_gpus();

}  // namespace spdld::cli::doctor
