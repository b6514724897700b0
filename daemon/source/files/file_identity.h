// The identities of local files: what tells a file that was listed, or that the cache has a copy of, from the file that
// lies there now. Any thread.
//
// An identity has a file's size, its time of modification, and the time of its status change, which no program can set
// back. A file that was listed is told by its number (inode) too. The device is no part of an identity, since its
// number may change where a file system is mounted anew.
#pragma once

#include <sys/stat.h>

#include <map>
#include <mutex>
#include <string>

#include "daemon/source/kept/kept_file.h"
#include "daemon/store/object.h"

namespace spdld::source {

class Bounds;

// Of a file that no listing has looked at. It differs where the file was written anew with its time of modification
// set back, and after a chmod.
store::Identity identity_of(const KeptState& state);
store::Identity identity_of(const struct stat& status);

// Of a file that a listing has looked at. `is_numbered`: its file system gives a file one number for as long as the
// file is there.
store::Identity listed_identity(const KeptState& state, bool is_numbered);

// Whether this is the status of the regular file that was listed with this identity.
bool is_listed(const struct stat& status, const store::Identity& listed);

// "/data/a.tar has changed since it was listed: was it replaced?"
std::string changed_since(const std::string& what);

// Throws SetupError where the open file is in another state than `before`, when its listing began to read it: what was
// read of it may be of two versions. `what`: "the archive /data/a.tar".
void check_same_state(int fd, const KeptState& before, const std::string& what);

// Which of the file systems that a listing meets give their files lasting numbers. FUSE gives a file another number
// once the kernel has forgotten the file.
class NumberedFiles {
 public:
  // `path`: of a file on the device.
  bool are_on(dev_t device, const Bounds* bounds, const std::string& path);

 private:
  std::mutex mutex_;
  std::map<dev_t, bool> known_;  // under the mutex
};

}  // namespace spdld::source
