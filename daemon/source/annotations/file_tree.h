// The files below one folder of a data set, in a local folder or in a store: in order of their folder's path and then
// their name, as the pictures of a class of an image folder. Values; one thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/source/files/folder.h"
#include "daemon/source/listings.h"
#include "daemon/source/remarks.h"
#include "daemon/source/tables/columns.h"
#include "daemon/store/store.h"

namespace spdld::source {

// Where a data set lies whose files are named by paths from there.
struct DataRoot {
  std::string folder;  // a local folder, or the beginning of objects' names; ends in '/', or is empty
  std::shared_ptr<store::Store> store = {};  // null: it is local
  std::string uri = {};                      // of a folder in a store; ends in '/'

  std::string name_of(std::string_view path) const;  // a path, or a uri
};
// Throws SetupError where the source has several uris.
DataRoot data_root(const SourceOpening& opening);

// Empty: the path leads to a place below a root, step by step; else the end of a sentence about it.
std::string path_fault(std::string_view path);

struct FileTree {
  TextColumn paths;                         // from the root on
  std::vector<store::Identity> identities;  // of each, where they lie in a store; else empty
  Remarks remarks = {};
  OtherPictures others = {};                // by their paths from the root on
  std::function<bool()> is_unchanged = {};  // asks the file system or the store
};
// How a tree is read.
struct TreeChoice {
  std::string folder;     // from the root on; empty: the root itself
  std::string_view what;  // the parameter that names it
  const Endings& endings;
  bool may_be_empty = false;  // files without a byte in a store are passed over in silence
};
// Takes what is kept and unchanged, and adds to the opening's use. Throws SetupError where the folder is missing, or
// holds no such file.
FileTree read_tree(const DataRoot& root, const TreeChoice& choice, const SourceOpening& opening);

}  // namespace spdld::source
