// Goes through the classes of an image folder, or other folders below a root: their files, in order of their folder's
// path and then their name.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/source/files/folder.h"
#include "daemon/source/folders/kept_folders.h"
#include "daemon/source/listing.h"
#include "daemon/source/remarks.h"
#include "daemon/source/stamps.h"
#include "daemon/store/object.h"

namespace spdld::source {

class Bounds;

struct FolderId {
  dev_t device;
  ino_t inode;
  friend bool operator==(const FolderId&, const FolderId&) = default;
};
inline FolderId folder_id(const struct stat& status) { return {status.st_dev, status.st_ino}; }

// The data that the walks of all classes share. Constant, except the count; must outlive the walks.
struct WalkSource {
  const std::string& root;  // ends in '/'
  FolderId root_id;
  const Endings& endings;
  const KeptFolders& kept;
  bool keeping;  // records are wanted
  const std::stop_token& stop;
  std::atomic<uint64_t>& found;  // pictures
  const Bounds* bounds;          // nullptr: none
};

struct ClassFiles {
  // A folder that holds pictures.
  struct Folder {
    std::string path;      // relative to the root
    std::string pictures;  // their names, in order, each ended by NUL
    uint32_t count = 0;
    std::vector<store::Identity> identities;  // of the pictures, where they lie in a remote store
  };
  std::vector<Folder> folders;  // in order of their paths
  OtherPictures others;         // below the class's folder; the first one by its path
  Remarks remarks;
  Stamps stamps;  // of all folders, relative to the root

  std::string records;                  // records to keep: of folders that were read and are settled
  std::vector<std::string_view> taken;  // records of folders that have not changed since they were kept
  uint64_t read = 0;                    // folders whose names were read from the file system
  bool has_unread = false;              // a folder could not be opened
};

// One thread.
class ClassWalk {
 public:
  explicit ClassWalk(const WalkSource& source) : source_(source) {}
  // `name`: the class's name; empty: the root itself. Throws SetupError.
  ClassFiles walk(const std::string& name);

 private:
  struct Pending {
    std::string path;             // relative to the root
    std::vector<FolderId> above;  // folders above it, to notice a link that leads back
  };

  void visit(Pending& pending);
  bool may_enter(const Pending& pending, const struct stat& status);
  const KeptFolder* find_kept(const std::string& path, struct stat& status) const;
  FolderNames read_names(const OpenFolder& open, const std::string& path, int64_t now_ns);
  void sort_out(const Pending& pending, std::string_view folders, std::string_view links, std::string pictures);
  void not_opened(const std::string& path, int error_number);

  const WalkSource& source_;
  std::vector<Pending> pending_;
  ClassFiles files_;
};

// How several folders below a root are walked.
struct WalkPlan {
  const std::string& root;  // ends in '/'
  FolderId root_id;
  const Endings& endings;
  const std::string& key;  // under which the names are kept
  const Progress& progress;
  const std::stop_token& stop;
  const std::filesystem::path& kept;
  KeptUse& use;          // set
  const Bounds* bounds;  // nullptr: none
};
struct Walked {
  std::vector<ClassFiles> files;  // by folder
  uint64_t found = 0;             // pictures in all
  OtherPictures others;           // by their paths below the root
};
// Walks each, several at once, and takes from the kept listing what is unchanged. Throws SetupError.
Walked walk_folders(const std::vector<std::string>& names, const WalkPlan& plan);

}  // namespace spdld::source
