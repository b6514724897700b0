// Opening and reading folders, and which of their files are pictures. Any thread; each object one at a time.
#pragma once

#include <dirent.h>
#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace spdld::source {

class Bounds;

// The endings that a picture's name may have, in upper or lower case: ".jpg", ".jpeg".
class Endings {
 public:
  // `text`: "jpg, .jpeg". Throws SetupError where it names no ending.
  explicit Endings(const std::string& text);
  bool fit(std::string_view name) const;
  std::string joined() const;  // for people: ".jpg, .jpeg"

 private:
  std::vector<std::string> endings_;
};

// How many files are left out that are pictures by their ending, and the first of them.
struct OtherPictures {
  uint64_t count = 0;
  std::string first;  // in order of the bytes

  void add(std::string_view name);
  void add_all(const OtherPictures& other, const std::string& prefix);
  std::string text() const;  // "12/a.png"; empty: none
  // Of what text() gave; anything else is none.
  static OtherPictures of(std::string_view text);
};
// The remark on pictures that nobody may have meant to leave out, since they have none of the endings.
std::string others_left_out(const OtherPictures& others, const Endings& endings);
// Whether the name has an ending of a picture's format.
bool is_picture_name(std::string_view name);

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

struct OpenFolder {
  std::unique_ptr<DIR, CloseFolder> folder;
  struct stat status {};
  int error_number = 0;  // not 0: it could not be opened
};
OpenFolder open_folder(const std::string& path, const Bounds* bounds);  // nullptr: none

// Calls each(entry) for every name in an open folder, "." and ".." as well, in no order. `path` is for errors: throws
// SetupError when the reading fails in its middle, or `stop` is asked for.
void for_each_entry(DIR* folder, const std::string& path, const std::stop_token& stop,
                    const std::function<void(const dirent&)>& each);

// Names in a folder: each ended by NUL, in order of their bytes. Hidden names, which begin with a dot, are left out:
// such files are no pictures ("._x.jpg" of macOS, "x.jpg" copied halfway by rsync) and such folders no classes.
struct FolderNames {
  std::string folders;
  std::string links;     // links to anything: their targets may change while the folder does not
  std::string pictures;  // other files whose ending fits
  OtherPictures others;  // files that are pictures by their ending, and do not fit
};
// Asks the file system only for names, where it tells their types. Without `endings` (nullptr) no picture is wanted.
// `path` is for errors: throws SetupError when the reading fails in its middle, or `stop` is asked for.
FolderNames read_folder(DIR* folder, const std::string& path, const Endings* endings, const std::stop_token& stop);

// Calls each(name) for names that are each ended by NUL.
template <typename Each>
void for_each_name(std::string_view names, const Each& each) {
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find('\0'));
    each(name);
    names.remove_prefix(name.size() + 1);
  }
}

// Sorts names that are each ended by NUL by their bytes.
void sort_names(std::string& names);

bool leads_to_folder(const std::string& path);  // links are followed

// Throws SetupError: the folder can't be read, or leads out of the bounds.
[[noreturn]] void refuse_folder(const std::string& folder, int error_number);

}  // namespace spdld::source
