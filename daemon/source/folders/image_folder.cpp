// Folders of pictures, as torchvision.datasets.ImageFolder reads them: a class is a folder directly below the root (or
// a link to one), numbered in order of its name; its samples are all files below it with one of the extensions, in
// order of their folder's path and then their name, links followed. Names are compared as bytes, which for UTF-8 is
// Python's order too. A list of classes (class_list.h) gives them other numbers. A class without a picture is refused
// as there, unless on_missing = "warn". A link back to a folder above is passed over, where torchvision goes round some
// forty times.
#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "config/text/remote_uri.h"
#include "daemon/base/result.h"
#include "daemon/source/files/folder.h"
#include "daemon/source/fingerprint.h"
#include "daemon/source/folders/class_list.h"
#include "daemon/source/folders/class_walk.h"
#include "daemon/source/folders/remote_folder.h"
#include "daemon/source/listings.h"
#include "daemon/source/parts.h"
#include "daemon/source/remarks.h"
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

// The folders that are classes, by the classes' numbers.
struct ChosenFolders {
  std::vector<std::string> names;             // of the classes
  std::vector<std::optional<size_t>> places;  // among the folders; none: no folder has the class's name
  Remarks remarks = {};
  Stamps stamps = {};  // of the list
};

// Without a list they are all, in their order.
ChosenFolders choose_folders(const std::optional<ClassList>& list, const std::vector<std::string>& folders) {
  ChosenFolders chosen;
  if (!list) {
    chosen.names = folders;
    for (size_t i = 0; i < folders.size(); ++i) chosen.places.emplace_back(i);
    return chosen;
  }
  chosen.names = list->names();
  chosen.places.resize(chosen.names.size());
  chosen.stamps = list->stamps;
  std::vector<std::string> unknown, absent;
  for (size_t i = 0; i < folders.size(); ++i) {
    if (const auto number = list->number_of(folders[i]))
      chosen.places[*number] = i;
    else
      unknown.push_back(folders[i]);
  }
  for (size_t number = 0; number < chosen.places.size(); ++number)
    if (!chosen.places[number]) absent.push_back(list->labels()[number]);
  const auto tell = [&](const std::vector<std::string>& texts, const std::string& one, const std::string& several) {
    if (texts.empty()) return;
    const bool is_one = texts.size() == 1;
    chosen.remarks.add_missing(list->what() + (is_one ? one : ": " + std::to_string(texts.size()) + several) + "; " +
                               first_texts(texts) + '.');
  };
  tell(unknown, ": one folder of the data set is not among the classes, and is left out",
       " folders of the data set are not among the classes, and are left out");
  tell(absent, ": one of the classes has no folder", " of the classes have no folder");
  if (absent.size() == chosen.places.size())
    throw SetupError(Trouble::kUsage, chosen.remarks.missing().first.back() +
                                          " No folder has the name of a class: give the list of this data set.");
  return chosen;
}

class ImageFolder : public Listing {
 public:
  // Takes the classes' files one after the other, and lets go of each.
  ImageFolder(Origin origin, ChosenFolders classes, std::vector<ClassFiles>& files)
      : root_(std::move(origin.root)),
        classes_(std::move(classes.names)),
        remarks_(std::move(classes.remarks)),
        stamps_(std::move(origin.stamps)),
        list_stamps_(std::move(classes.stamps)),
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
    if (store_) {
      locator.store = store_.get();
      locator.identity = identities_[sample];
    }
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
  bool unchanged() const override {
    return list_stamps_.unchanged() && (is_unchanged_ ? is_unchanged_() : !has_unread_ && stamps_.unchanged(root_));
  }
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
      for (const ClassFiles::Folder& folder : part.folders) {
        bytes += folder.pictures.size();
        samples += folder.count;
      }
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
  Stamps stamps_;             // of the folders, relative to the root
  const Stamps list_stamps_;  // of the classes' list
  bool has_unread_ = false;
  const std::shared_ptr<store::Store> store_;
  const std::function<bool()> is_unchanged_;
  std::vector<store::Identity> identities_;  // of the samples in a store
};

std::vector<std::string> find_folders(const OpenFolder& open, const std::string& root, const std::stop_token& stop) {
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
  std::vector<std::string> folders;
  for_each_name(names.folders, [&](std::string_view name) { folders.emplace_back(name); });
  if (folders.empty()) {
    throw SetupError(Trouble::kUsage,
                     "the folder " + root +
                         " holds no folder: there must be one for each class (pictures without classes are type " +
                         "\"images\").");
  }
  return folders;
}

std::unique_ptr<Listing> open_local(const SourceOpening& opening, const Endings& endings) {
  const std::string& root = opening.uris.front();
  const Bounds* const bounds = opening.places.bounds.get();
  const std::string base = root.ends_with('/') ? root : root + '/';
  const OpenFolder open = open_folder(base, bounds);
  const std::vector<std::string> folders = find_folders(open, root, opening.stop);
  ChosenFolders classes = choose_folders(read_class_list(opening.spec.classes, bounds), folders);
  std::vector<std::string> walked_folders;
  for (const auto& place : classes.places)
    if (place) walked_folders.push_back(folders[*place]);
  const std::string key = "image-folder 2\n" + endings.joined() + '\n' + base;
  Walked walked = walk_folders(walked_folders, {base, folder_id(open.status), endings, key, opening.progress,
                                                opening.stop, opening.kept, opening.use, bounds});
  if (walked.found == 0) {
    throw SetupError(Trouble::kUsage, "none of the " + std::to_string(walked_folders.size()) + " class folders in " +
                                          root + " holds a file ending in " + endings.joined() + ".");
  }
  if (walked.others.count > 0) classes.remarks.add(others_left_out(walked.others, endings));
  std::vector<ClassFiles> files(classes.places.size());
  auto next = walked.files.begin();
  for (size_t number = 0; number < files.size(); ++number)
    if (classes.places[number]) files[number] = std::move(*next++);
  Origin origin{base};
  origin.stamps.add({}, open.status);
  return std::make_unique<ImageFolder>(std::move(origin), std::move(classes), files);
}

std::unique_ptr<Listing> open_remote(const SourceOpening& opening, const Endings& endings) {
  const std::string& uri = opening.uris.front();
  const store::Stores::Found found = opening.places.stores->find(uri);
  std::string prefix = found.object;
  if (!prefix.empty() && !prefix.ends_with('/')) prefix += '/';
  const auto list = read_class_list(opening.spec.classes, opening.places.bounds.get());
  const auto folder = std::make_shared<const RemoteFolder>(found.store, prefix, endings);
  const std::filesystem::path kept = opening.spec.samples_listing ? opening.kept : std::filesystem::path();
  RemoteListing listed = list_remote("remote-image-folder\n" + found.store->uri_of(prefix), folder,
                                     {opening.progress, opening.stop, kept, opening.use});
  ChosenFolders classes = choose_folders(list, listed.classes);
  if (listed.others.count > 0) classes.remarks.add(others_left_out(listed.others, endings));
  std::vector<ClassFiles> files(classes.places.size());
  for (size_t number = 0; number < files.size(); ++number)
    if (const auto place = classes.places[number]) files[number] = std::move(listed.files[*place]);
  Origin origin{prefix};
  origin.store = found.store;
  origin.is_unchanged = std::move(listed.is_unchanged);
  return std::make_unique<ImageFolder>(std::move(origin), std::move(classes), files);
}

}  // namespace

std::unique_ptr<Listing> open_image_folder(const SourceOpening& opening) {
  if (opening.uris.size() > 1)
    throw SetupError(Trouble::kUsage, "source.uri names several folders: an image-folder is one.");
  const std::string extensions = opening.text("extensions");
  const Endings endings(extensions.empty() ? "jpg,jpeg" : extensions);
  return config::is_remote(opening.uris.front()) ? open_remote(opening, endings) : open_local(opening, endings);
}

}  // namespace spdld::source
