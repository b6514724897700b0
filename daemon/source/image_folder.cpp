// Folders of pictures, as torchvision.datasets.ImageFolder reads them: a class is a folder directly below the root (or
// a link to one), numbered in order of its name; its samples are all files below it with one of the extensions, in
// order of their folder's path and then their name, links followed. Names are compared as bytes, which for UTF-8 is
// Python's order too. Differences: a class without a picture is a remark here, not an error, and a link back to a
// folder above is passed over, where torchvision goes round some forty times.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/source/fingerprint.h"
#include "daemon/source/listings.h"
#include "daemon/source/parts.h"
#include "daemon/source/remarks.h"
#include "daemon/source/stamps.h"
#include "daemon/source/trouble.h"
#include "proto/unique_fd.h"

namespace spdld::source {
namespace {

constexpr size_t kDepthMax = 64;                // folders inside one another, below the root
constexpr uint64_t kFoldersMax = 1ull << 24;    // of one class
constexpr uint64_t kStopCheckEvery = 1u << 12;  // entries

constexpr FieldId kImage = 0, kClass = 1;

// ---- which files are pictures

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// ".jpg", ".jpeg"
std::vector<std::string> parse_extensions(const std::string& text) {
  std::vector<std::string> endings;
  std::string ending;
  for (const char c : text + ',') {
    if (c == ' ' || (c == '.' && ending.empty())) continue;
    if (c != ',') {
      ending += lower(c);
    } else if (!ending.empty()) {
      endings.push_back('.' + std::exchange(ending, {}));
    }
  }
  if (endings.empty()) {
    throw SetupError(Trouble::kUsage, "source.extensions names none: give some, such as \"jpg,jpeg\".");
  }
  return endings;
}

bool ends_in(std::string_view name, const std::vector<std::string>& endings) {
  return std::any_of(endings.begin(), endings.end(), [&](const std::string& ending) {
    if (name.size() < ending.size()) return false;
    const std::string_view tail = name.substr(name.size() - ending.size());
    return std::equal(tail.begin(), tail.end(), ending.begin(), [](char a, char b) { return lower(a) == b; });
  });
}

std::string joined(const std::vector<std::string>& endings) {
  std::string text;
  for (const auto& ending : endings) text += (text.empty() ? "" : ", ") + ending;
  return text;
}

// ---- reading folders

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

struct FolderId {
  dev_t device;
  ino_t inode;
  friend bool operator==(const FolderId&, const FolderId&) = default;
};

struct OpenFolder {
  Folder folder;
  struct stat status {};
  int error_number = 0;  // not 0: it could not be opened
  FolderId id() const { return {status.st_dev, status.st_ino}; }
};

OpenFolder open_folder(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK));
  struct stat status;
  if (!fd || ::fstat(fd.get(), &status) != 0) return {nullptr, {}, errno};
  Folder folder(::fdopendir(fd.get()));
  if (!folder) return {nullptr, {}, errno};
  fd.release();
  return {std::move(folder), status, 0};
}

[[noreturn]] void fail(const std::string& folder, int error_number) {
  throw SetupError(setup_trouble(error_number),
                   "the folder " + folder + " can't be read: " + error_words(error_number) + ".");
}

// Links and what the file system gives no type for are looked at; everything else costs no system call.
bool is_folder(DIR* parent, const dirent& entry) {
  if (entry.d_type != DT_LNK && entry.d_type != DT_UNKNOWN) return entry.d_type == DT_DIR;
  struct stat status;
  return ::fstatat(::dirfd(parent), entry.d_name, &status, 0) == 0 && S_ISDIR(status.st_mode);
}

// Calls entry(name, is_folder) for each but "." and ".."; throws when the reading fails in its middle.
template <typename Entry>
void read_entries(DIR* folder, const std::string& path, const std::stop_token& stop, const Entry& entry) {
  for (uint64_t count = 0;; ++count) {
    if (count % kStopCheckEvery == 0) check_stop(stop);
    errno = 0;
    const dirent* read = ::readdir(folder);
    if (read == nullptr && errno != 0) fail(path, errno);
    if (read == nullptr) return;
    const std::string_view name = read->d_name;
    if (name != "." && name != "..") entry(name, is_folder(folder, *read));
  }
}

// The files of a class, in order: paths relative to the root, each ended by NUL.
struct ClassFiles {
  std::string paths;
  std::vector<uint64_t> starts;
  Remarks remarks;
  Stamps stamps;
};

class ClassWalk {
 public:
  ClassWalk(const std::string& root, const FolderId& root_id, const std::vector<std::string>& endings,
            const std::stop_token& stop, std::atomic<uint64_t>& found)
      : root_(root), root_id_(root_id), endings_(endings), stop_(stop), found_(found) {}

  ClassFiles walk(const std::string& name) {
    pending_.push_back({name, {root_id_}});
    for (uint64_t folders = 0; !pending_.empty(); ++folders) {
      if (folders == kFoldersMax) {
        throw SetupError(Trouble::kLimit, "the class folder " + root_ + name + " holds more than " +
                                              std::to_string(kFoldersMax) + " folders: are there links across it?");
      }
      Pending next = std::move(pending_.back());
      pending_.pop_back();
      visit(next);
    }
    return ordered(name);
  }

 private:
  struct Pending {
    std::string path;             // relative to the root
    std::vector<FolderId> above;  // to see a link that leads back
  };
  struct Names {
    std::string path;   // of the folder
    std::string names;  // of its pictures, each ended by NUL
  };

  void visit(Pending& pending) {
    OpenFolder open = open_folder(root_ + pending.path);
    if (open.error_number != 0) return not_opened(pending.path, open.error_number);
    if (std::find(pending.above.begin(), pending.above.end(), open.id()) != pending.above.end()) {
      return remarks_.add("the folder " + pending.path + " is a link to a folder above it, and was passed over.");
    }
    if (pending.above.size() > kDepthMax) {
      return remarks_.add("the folder " + pending.path + " lies too deep, and was passed over.");
    }
    pending.above.push_back(open.id());
    stamps_.add(pending.path, open.status);
    Names files{pending.path, {}};
    uint64_t count = 0;
    read_entries(open.folder.get(), root_ + pending.path, stop_, [&](std::string_view name, bool folder) {
      if (folder) {
        pending_.push_back({pending.path + '/' + std::string(name), pending.above});
      } else if (ends_in(name, endings_)) {
        files.names.append(name) += '\0';
        ++count;
      }
    });
    if (count == 0) return;
    found_.fetch_add(count, std::memory_order_relaxed);
    folders_.push_back(std::move(files));
  }

  // Gone or closed to us: passed over, as os.walk does, but with a remark. Anything else may pass, and must not change
  // what the samples are.
  void not_opened(const std::string& path, int error_number) {
    if (content_trouble(error_number) != Trouble::kContent) fail(root_ + path, error_number);
    remarks_.add("the folder " + path + " was passed over: " + error_words(error_number) + ".");
  }

  ClassFiles ordered(const std::string& name) {
    ClassFiles files;
    std::sort(folders_.begin(), folders_.end(), [](const Names& a, const Names& b) { return a.path < b.path; });
    for (Names& folder : folders_) {
      std::vector<std::string_view> names;
      for (size_t start = 0; start < folder.names.size(); start += names.back().size() + 1) {
        names.emplace_back(folder.names.c_str() + start);
      }
      std::sort(names.begin(), names.end());
      for (const std::string_view file : names) {
        files.starts.push_back(files.paths.size());
        files.paths.append(folder.path).append("/").append(file) += '\0';
      }
      folder.names = {};
    }
    if (files.starts.empty()) {
      remarks_.add("the class folder " + name + " holds no file ending in " + joined(endings_) + ".");
    }
    files.remarks = std::move(remarks_);
    files.stamps = std::move(stamps_);
    return files;
  }

  const std::string& root_;
  const FolderId root_id_;
  const std::vector<std::string>& endings_;
  const std::stop_token& stop_;
  std::atomic<uint64_t>& found_;
  std::vector<Pending> pending_;
  std::vector<Names> folders_;
  Remarks remarks_;
  Stamps stamps_;  // relative to the root
};

// ---- the listing

class ImageFolder : public Listing {
 public:
  // Takes the classes' files one after the other, and lets go of each.
  ImageFolder(std::string root, const struct stat& root_status, std::vector<std::string> classes,
              std::vector<ClassFiles> files)
      : root_(std::move(root)), classes_(std::move(classes)) {
    stamps_.add({}, root_status);
    uint64_t bytes = 0, samples = 0;
    for (const ClassFiles& part : files) bytes += part.paths.size(), samples += part.starts.size();
    paths_.reserve(bytes);
    starts_.reserve(samples + 1);
    Fingerprint fingerprint;
    fingerprint.add_text("image-folder");
    for (size_t i = 0; i < files.size(); ++i) {
      ClassFiles part = std::move(files[i]);
      firsts_.push_back(starts_.size());
      for (const uint64_t start : part.starts) starts_.push_back(paths_.size() + start);
      paths_ += part.paths;
      remarks_.add_all(std::move(part.remarks));
      stamps_.add_all(std::move(part.stamps));
      fingerprint.add_text(classes_[i]);
      fingerprint.add_number(part.starts.size());
      fingerprint.add_text(part.paths);
    }
    starts_.push_back(paths_.size());
    fingerprint_ = fingerprint.digits();
  }

  uint64_t size() const override { return starts_.size() - 1; }
  std::span<const Field> fields() const override { return fields_; }
  Extent locate(uint64_t sample, FieldId field) const override {
    if (field != kImage) return {};
    return {.path = path(sample), .offset = 0, .length = -1, .folder = root_};
  }
  int64_t integer(uint64_t sample, FieldId field) const override {
    if (field != kClass) return 0;
    return std::upper_bound(firsts_.begin(), firsts_.end(), sample) - firsts_.begin() - 1;
  }
  std::string name(uint64_t sample) const override { return std::string(path(sample)); }
  const std::string& fingerprint() const override { return fingerprint_; }
  uint64_t memory_bytes() const override {
    return paths_.capacity() + starts_.capacity() * sizeof(uint64_t) + firsts_.capacity() * sizeof(uint64_t);
  }
  std::span<const std::string> classes() const override { return classes_; }
  std::span<const std::string> remarks() const override { return remarks_.first(); }
  uint64_t remark_count() const override { return remarks_.count(); }
  bool unchanged() const override { return stamps_.unchanged(root_); }

 private:
  std::string_view path(uint64_t sample) const {
    return {paths_.data() + starts_[sample], starts_[sample + 1] - starts_[sample] - 1};
  }

  std::string root_;  // ends in '/'
  std::vector<std::string> classes_;
  std::vector<Field> fields_ = {
      {"image", FieldKind::kFetched}, {"class", FieldKind::kInteger}, {"path", FieldKind::kText}};
  std::string paths_;             // relative to the root, in order, each ended by NUL
  std::vector<uint64_t> starts_;  // in paths_, of each sample, and its end
  std::vector<uint64_t> firsts_;  // the first sample of each class (the next class's, where it has none)
  std::string fingerprint_;
  Remarks remarks_;
  Stamps stamps_;  // of the folders, relative to the root
};

}  // namespace

std::unique_ptr<Listing> open_image_folder(const std::string& root, const std::string& extensions,
                                           const Progress& progress, const std::stop_token& stop) {
  const std::vector<std::string> endings = parse_extensions(extensions);
  const std::string base = root.ends_with('/') ? root : root + '/';
  const OpenFolder open = open_folder(base);
  if (open.error_number == ENOENT) throw SetupError(Trouble::kNotFound, "the folder " + root + " does not exist.");
  if (open.error_number == ENOTDIR) {
    throw SetupError(Trouble::kUsage, root + " is not a folder: an image-folder is one with a folder for each class.");
  }
  if (open.error_number != 0) fail(root, open.error_number);

  std::vector<std::string> classes;
  read_entries(open.folder.get(), root, stop, [&](std::string_view name, bool folder) {
    if (folder) classes.emplace_back(name);
  });
  if (classes.empty()) {
    throw SetupError(Trouble::kUsage, "the folder " + root + " holds no folder: there must be one for each class.");
  }
  std::sort(classes.begin(), classes.end());

  std::atomic<uint64_t> found{0};
  std::vector<ClassFiles> files(classes.size());
  run_parts(
      classes.size(), [&](uint64_t i) { files[i] = ClassWalk(base, open.id(), endings, stop, found).walk(classes[i]); },
      found, 0, progress, stop);
  if (found == 0) {
    throw SetupError(Trouble::kUsage, "none of the " + std::to_string(classes.size()) + " class folders in " + root +
                                          " holds a file ending in " + joined(endings) + ".");
  }
  return std::make_unique<ImageFolder>(base, open.status, std::move(classes), std::move(files));
}

}  // namespace spdld::source
