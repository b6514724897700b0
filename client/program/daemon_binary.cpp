#include "client/program/daemon_binary.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

namespace spdld::client {

namespace {

constexpr const char* kProgram = "/spdld";
constexpr int kPathFoldersMax = 256;

bool is_executable(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

// The folder of the file that has this code, absolute and without links; empty where it cannot be told.
std::string own_folder() {
  Dl_info info = {};
  void* found = nullptr;
  std::string file;
  if (::dladdr1(reinterpret_cast<const void*>(&find_daemon_binary), &info, &found, RTLD_DL_LINKMAP) != 0 && found) {
    file = static_cast<const link_map*>(found)->l_name;
    if (file.empty()) file = "/proc/self/exe";  // a program, whose name would be what its caller says
  }
  std::error_code error;
  const std::filesystem::path path = std::filesystem::canonical(file, error);
  return error ? std::string() : path.parent_path().string();
}

// Sets `prefix` to the part of `folder` before `tail`. Returns false if `folder` does not end with `tail`.
bool strip_tail(const std::string& folder, const std::string& tail, std::string& prefix) {
  if (tail.empty()) return false;
  if (tail.front() == '/') {
    prefix.clear();
    return folder == tail;
  }
  const std::string end = "/" + tail;
  if (folder.size() < end.size() || folder.compare(folder.size() - end.size(), end.size(), end) != 0) return false;
  prefix = folder.substr(0, folder.size() - end.size());
  return true;
}

// Adds the place, and says whether the daemon is there.
bool is_there(const std::string& place, const char* kind, std::string& looked_at) {
  if (is_executable(place)) return true;
  looked_at += (looked_at.empty() ? "" : ", ") + std::string(kind) + place;
  return false;
}

std::string find_in_path(std::string& looked_at) {
  const char* path = std::getenv("PATH");
  const std::string_view folders(path ? path : "/usr/local/bin:/usr/bin:/bin");
  std::string_view rest = folders;
  for (int i = 0; i < kPathFoldersMax && !rest.empty(); ++i) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    if (folder.empty() || folder.front() != '/') continue;
    const std::string place = std::string(folder) + kProgram;
    if (is_executable(place)) return place;
  }
  looked_at +=
      (looked_at.empty() ? "" : ", ") + std::string("and in the folders of PATH (") + std::string(folders) + ")";
  return {};
}

}  // namespace

std::string program_of_installation(const std::string& folder, const std::string& library_folder,
                                    const std::string& package_folder, const std::string& program_folder) {
  std::string prefix;
  for (const std::string& tail : {library_folder, package_folder}) {
    if (!strip_tail(folder, tail, prefix)) continue;
    return (program_folder.front() == '/' ? program_folder : prefix + "/" + program_folder) + kProgram;
  }
  return {};
}

std::string find_daemon_binary(std::string& looked_at) {
  looked_at.clear();
  const char* named = std::getenv("SPDLD_DAEMON");
  if (named && *named) {
    std::error_code error;
    const std::string place = std::filesystem::absolute(named, error).string();
    return is_there(error ? named : place, "$SPDLD_DAEMON: ", looked_at) ? place : std::string();
  }
  const std::string folder = own_folder();
  if (!folder.empty()) {
    for (const char* beside : {"", "/bin"}) {
      const std::string place = folder + beside + kProgram;
      if (is_there(place, "", looked_at)) return place;
    }
    const std::string place =
        program_of_installation(folder, SPDLD_LIBRARY_FOLDER, SPDLD_PACKAGE_FOLDER, SPDLD_PROGRAM_FOLDER);
    if (!place.empty() && is_there(place, "", looked_at)) return place;
  }
  return find_in_path(looked_at);
}

}  // namespace spdld::client
