#include "daemon/source/files/side_files.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/source/files/file_identity.h"
#include "daemon/source/trouble.h"
#include "proto/unique_fd.h"

namespace spdld::source {
namespace {

constexpr int kDepthMax = 16;  // of folders in one another: links may go round

[[noreturn]] void refuse(const std::string& path, int error_number) {
  if (error_number == kLeadsOut) refuse_leading_out(path);
  throw SetupError(setup_trouble(error_number), path + " can't be read: " + error_words(error_number) + ".");
}

std::vector<uint8_t> read_bytes(int fd, const std::string& path, uint64_t size) {
  std::vector<uint8_t> bytes(size);
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(fd, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(path, errno);
    if (got == 0) break;  // it has been cut since
    done += static_cast<size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

}  // namespace

void BoundedSideFiles::read(const std::string& path, const std::string& endings, const See& see) {
  is_used_ = true;
  struct stat status;
  if (stat_file(bounds_.get(), path.c_str(), status) != 0) refuse(path, errno);
  if (!S_ISDIR(status.st_mode)) return read_one(path, "", see);
  std::string names = names_below(path, "", Endings(endings), 1);
  sort_names(names);
  const std::string folder = path.ends_with('/') ? path : path + "/";
  for_each_name(names, [&](std::string_view name) { read_one(folder + std::string(name), std::string(name), see); });
}

// Names relative to `folder`, of the files in its folder `within` ("" or "a/b/"), each ended by NUL, in no order.
std::string BoundedSideFiles::names_below(const std::string& folder, const std::string& within, const Endings& endings,
                                          int depth) {
  const std::string path = folder + "/" + within;
  if (depth > kDepthMax)
    throw SetupError(Trouble::kUsage, path + " lies " + std::to_string(depth) + " folders deep, more than the " +
                                          std::to_string(kDepthMax) + " that are read: a link may go round.");
  const OpenFolder open = open_folder(path, bounds_.get());
  if (!open.folder) refuse(path, open.error_number);
  stamps_.add(path, open.status);
  FolderNames found = read_folder(open.folder.get(), path, &endings, stop_);
  for_each_name(found.links, [&](std::string_view name) {
    struct stat status;
    if (stat_file(bounds_.get(), (path + std::string(name)).c_str(), status) != 0)
      refuse(path + std::string(name), errno);
    if (S_ISDIR(status.st_mode)) found.folders.append(name) += '\0';
    if (S_ISREG(status.st_mode) && endings.fit(name)) found.pictures.append(name) += '\0';
  });
  std::string names;
  for_each_name(found.pictures, [&](std::string_view name) { names.append(within).append(name) += '\0'; });
  for_each_name(found.folders, [&](std::string_view name) {
    names += names_below(folder, within + std::string(name) + "/", endings, depth + 1);
  });
  if (static_cast<size_t>(std::count(names.begin(), names.end(), '\0')) > kSideFilesMax)
    throw SetupError(Trouble::kLimit, folder + " has more than " + std::to_string(kSideFilesMax) +
                                          " files: name a folder with fewer of them.");
  return names;
}

void BoundedSideFiles::read_one(const std::string& path, const std::string& name, const See& see) {
  if (stop_.stop_requested()) throw SetupError(Trouble::kStopping, "spdld is stopping");
  const UniqueFd fd(open_file(bounds_.get(), path.c_str()));
  struct stat status;
  if (!fd || ::fstat(fd.get(), &status) != 0) refuse(path, errno);
  if (!S_ISREG(status.st_mode)) throw SetupError(Trouble::kUsage, path + " is neither a file nor a folder.");
  const auto size = static_cast<uint64_t>(status.st_size);
  if (size > kSideFileBytesMax)
    throw SetupError(Trouble::kLimit, path + " has " + std::to_string(size) + " bytes, more than the limit of " +
                                          std::to_string(kSideFileBytesMax) + ": cut it into pieces.");
  stamps_.add(path, status);
  const std::vector<uint8_t> bytes = read_bytes(fd.get(), path, size);
  check_same_state(fd.get(), kept_state(status), path);
  fingerprint_.add_text(name);
  fingerprint_.add_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  see(path, bytes);
}

}  // namespace spdld::source
