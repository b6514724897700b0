// Folders of pictures, as torchvision.datasets.ImageFolder reads them: a class is a folder directly below the root (or
// a link to one), numbered in order of its name; its samples are all files below it with one of the extensions, in
// order of their folder's path and then their name, links followed. Names are compared as bytes, which for UTF-8 is
// Python's order too. A class without a picture is refused as there, unless on_missing = "warn". A link back to a
// folder above is passed over, where torchvision goes round some forty times.
#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/source/class_walk.h"
#include "daemon/source/fingerprint.h"
#include "daemon/source/folder.h"
#include "daemon/source/listings.h"
#include "daemon/source/parts.h"
#include "daemon/source/remarks.h"
#include "daemon/source/remote_folder.h"
#include "daemon/source/stamps.h"

namespace spdld::source {
namespace {

constexpr FieldId kImage = 0, kClass = 1;

// Where the pictures lie, and how to see whether they are the same later.
struct Origin {
  std::string root;                          // ends in '/', or is empty
  Stamps stamps = {};                        // of a local root
  std::shared_ptr<store::Store> store = {};  // null: they are local
  std::function<bool()> is_unchanged = {};   // of a remote root
};

class ImageFolder : public Listing {
 public:
  // Takes the classes' files one after the other, and lets go of each.
  ImageFolder(Origin origin, std::vector<std::string> classes, std::vector<ClassFiles>& files)
      : root_(std::move(origin.root)),
        classes_(std::move(classes)),
        stamps_(std::move(origin.stamps)),
        store_(std::move(origin.store)),
        is_unchanged_(std::move(origin.is_unchanged)) {
    reserve(files);
    Fingerprint fingerprint;
    fingerprint.add_text("image-folder");
    for (size_t i = 0; i < files.size(); ++i) {
      ClassFiles part = std::move(files[i]);
      class_firsts_.push_back(ends_.size());
      remarks_.add_all(part.remarks);
      has_unread_ |= part.has_unread;
      stamps_.add_all(std::move(part.stamps));
      add_paths(fingerprint, classes_[i], part.folders);
      for (const ClassFiles::Folder& folder : part.folders) append(folder);
    }
    fingerprint_ = fingerprint.digits();
  }

  uint64_t size() const override { return ends_.size(); }
  std::span<const Field> fields() const override { return fields_; }
  Locator locate(uint64_t sample, FieldId field) const override {
    if (field != kImage) return {};
    const Folder& folder = folder_of(sample);
    Locator locator{.path = file_name(folder, sample), .offset = 0, .length = -1, .folder = folder.path};
    if (store_) locator.store = store_.get(), locator.identity = identities_[sample];
    return locator;
  }
  bool may_lack(uint64_t, FieldId) const override { return false; }
  unsigned store_concurrency() const override { return store_ ? store_->concurrency() : 0; }
  int64_t integer(uint64_t sample, FieldId field) const override {
    if (field != kClass) return 0;
    return std::upper_bound(class_firsts_.begin(), class_firsts_.end(), sample) - class_firsts_.begin() - 1;
  }
  std::string name(uint64_t sample) const override {
    const Folder& folder = folder_of(sample);
    return folder.path.substr(root_.size()).append(file_name(folder, sample));
  }
  const std::string& fingerprint() const override { return fingerprint_; }
  uint64_t memory_bytes() const override {
    uint64_t bytes = names_.capacity() + ends_.capacity() * sizeof(ends_[0]) +
                     class_firsts_.capacity() * sizeof(class_firsts_[0]) + folders_.capacity() * sizeof(Folder) +
                     identities_.capacity() * sizeof(identities_[0]);
    for (const Folder& folder : folders_) bytes += folder.path.capacity() + 1;
    return bytes;
  }
  std::span<const std::string> classes() const override { return classes_; }
  const Remarks& said() const override { return remarks_; }
  // A folder that could not be read has no stamp, and may be readable now.
  bool unchanged() const override { return is_unchanged_ ? is_unchanged_() : !has_unread_ && stamps_.unchanged(root_); }
  std::span<const uint64_t> archive_starts() const override { return class_firsts_; }

 private:
  struct Folder {
    std::string path;  // with the root; ends in '/'
    uint64_t first;    // its first sample
    uint64_t start;    // of its names, in names_
  };

  void reserve(const std::vector<ClassFiles>& files) {
    uint64_t bytes = 0, samples = 0, folders = 0;
    for (const ClassFiles& part : files) {
      folders += part.folders.size();
      for (const ClassFiles::Folder& folder : part.folders) bytes += folder.pictures.size(), samples += folder.count;
    }
    names_.reserve(bytes);
    ends_.reserve(samples);
    folders_.reserve(folders);
    if (store_) identities_.reserve(samples);
    class_firsts_.reserve(files.size());
  }

  void append(const ClassFiles::Folder& folder) {
    folders_.push_back({root_ + folder.path + '/', ends_.size(), names_.size()});
    names_ += folder.pictures;
    identities_.insert(identities_.end(), folder.identities.begin(), folder.identities.end());
    for (size_t end = folder.pictures.find('\0'); end != std::string::npos; end = folder.pictures.find('\0', end + 1)) {
      ends_.push_back(static_cast<uint32_t>(end));
    }
  }

  // The class, how many files it has, and their paths, each ended by NUL, as one text.
  void add_paths(Fingerprint& fingerprint, const std::string& name, const std::vector<ClassFiles::Folder>& folders) {
    uint64_t bytes = 0, files = 0;
    for (const ClassFiles::Folder& folder : folders) {
      bytes += folder.pictures.size() + folder.count * (folder.path.size() + 1);
      files += folder.count;
    }
    fingerprint.add_text(name);
    fingerprint.add_number(files);
    fingerprint.add_number(bytes);
    std::string paths;
    for (const ClassFiles::Folder& folder : folders) {
      paths.clear();
      for_each_name(folder.pictures, [&](std::string_view file) {
        paths.append(folder.path).append(1, '/').append(file).append(1, '\0');
      });
      fingerprint.add(paths);
    }
  }

  const Folder& folder_of(uint64_t sample) const {
    const auto after = std::upper_bound(folders_.begin(), folders_.end(), sample,
                                        [](uint64_t wanted, const Folder& folder) { return wanted < folder.first; });
    return *(after - 1);
  }
  std::string_view file_name(const Folder& folder, uint64_t sample) const {
    const uint64_t start = sample == folder.first ? 0 : ends_[sample - 1] + uint64_t{1};
    return {names_.data() + folder.start + start, ends_[sample] - start};
  }

  std::string root_;  // ends in '/'
  std::vector<std::string> classes_;
  std::vector<Field> fields_ = {
      {"image", FieldKind::kFetched}, {"class", FieldKind::kInteger}, {"path", FieldKind::kText}};
  std::vector<Folder> folders_;         // that hold pictures, in order
  std::string names_;                   // of the files, in order, each ended by NUL
  std::vector<uint32_t> ends_;          // of each sample's name, counted from the start of its folder's
  std::vector<uint64_t> class_firsts_;  // the first sample of each class (the next class's, where it has none)
  std::string fingerprint_;
  Remarks remarks_;
  Stamps stamps_;  // of the folders, relative to the root
  bool has_unread_ = false;
  const std::shared_ptr<store::Store> store_;
  const std::function<bool()> is_unchanged_;
  std::vector<store::Identity> identities_;  // of the samples in a store
};

// The remark on pictures that nobody may have meant to leave out.
std::string others_left_out(const OtherPictures& others, const Endings& endings) {
  const size_t dot = others.first.rfind('.');
  std::string wanted = endings.joined() + ", " + others.first.substr(dot);
  std::erase_if(wanted, [](char c) { return c == '.' || c == ' '; });
  return std::to_string(others.count) + (others.count == 1 ? " picture" : " pictures") + " of other formats, such as " +
         others.first + ", are left out: source.extensions takes only " + endings.joined() + ". Write extensions = \"" +
         wanted + "\" to take such files as well.";
}

std::vector<std::string> find_classes(const OpenFolder& open, const std::string& root, const std::stop_token& stop) {
  if (open.error_number == ENOENT) throw SetupError(Trouble::kNotFound, "the folder " + root + " does not exist.");
  if (open.error_number == ENOTDIR) {
    throw SetupError(Trouble::kUsage, root + " is not a folder: an image-folder is one with a folder for each class.");
  }
  if (open.error_number != 0) refuse_folder(root, open.error_number);
  FolderNames names = read_folder(open.folder.get(), root, nullptr, stop);
  for_each_name(names.links, [&](std::string_view name) {
    if (leads_to_folder(root + '/' + std::string(name))) names.folders.append(name) += '\0';
  });
  sort_names(names.folders);
  std::vector<std::string> classes;
  for_each_name(names.folders, [&](std::string_view name) { classes.emplace_back(name); });
  if (classes.empty()) {
    throw SetupError(Trouble::kUsage,
                     "the folder " + root +
                         " holds no folder: there must be one for each class (pictures without classes are type " +
                         "\"images\").");
  }
  return classes;
}

}  // namespace

std::unique_ptr<Listing> open_image_folder(const std::string& root, const std::string& extensions,
                                           const Progress& progress, const std::stop_token& stop,
                                           const std::filesystem::path& kept_folder, KeptUse& use,
                                           const Bounds* bounds) {
  const Endings endings(extensions);
  const std::string base = root.ends_with('/') ? root : root + '/';
  const OpenFolder open = open_folder(base, bounds);
  std::vector<std::string> classes = find_classes(open, root, stop);
  const std::string key = "image-folder 2\n" + endings.joined() + '\n' + base;
  Walked walked =
      walk_folders(classes, {base, folder_id(open.status), endings, key, progress, stop, kept_folder, use, bounds});
  if (walked.found == 0) {
    throw SetupError(Trouble::kUsage, "none of the " + std::to_string(classes.size()) + " class folders in " + root +
                                          " holds a file ending in " + endings.joined() + ".");
  }
  if (walked.others.count > 0) walked.files.front().remarks.add(others_left_out(walked.others, endings));
  Origin origin{base};
  origin.stamps.add({}, open.status);
  return std::make_unique<ImageFolder>(std::move(origin), std::move(classes), walked.files);
}

std::unique_ptr<Listing> open_remote_image_folder(const RemoteSource& source, const std::string& extensions,
                                                  const Progress& progress, const std::stop_token& stop,
                                                  const std::filesystem::path& kept_folder, KeptUse& use) {
  const Endings endings(extensions);
  const std::string& uri = source.uris.front();
  const store::Stores::Found found = source.shared_stores->find(uri);
  std::string prefix = found.object;
  if (!prefix.empty() && !prefix.ends_with('/')) prefix += '/';
  const auto folder = std::make_shared<const RemoteFolder>(found.store, prefix, endings);
  const std::filesystem::path kept = source.samples_listing ? kept_folder : std::filesystem::path();
  RemoteListing listed =
      list_remote("remote-image-folder\n" + found.store->uri_of(prefix), folder, {progress, stop, kept, use});
  Origin origin{prefix};
  origin.store = found.store;
  origin.is_unchanged = std::move(listed.is_unchanged);
  return std::make_unique<ImageFolder>(std::move(origin), std::move(listed.classes), listed.files);
}

}  // namespace spdld::source
