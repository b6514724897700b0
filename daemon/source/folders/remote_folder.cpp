#include "daemon/source/folders/remote_folder.h"

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "config/text/words.h"
#include "daemon/base/formats/kept_bytes.h"
#include "daemon/base/result.h"
#include "daemon/source/files/remote_names.h"
#include "daemon/source/fingerprint.h"
#include "daemon/source/parts.h"
#include "daemon/store/waiting.h"

namespace spdld::source {
namespace {

constexpr size_t kPrefixesMax = 1'000;  // above it, the whole is listed as one: pages hold several classes
constexpr size_t kSampledPages = 16;
constexpr size_t kFolderPagesMax = 8;       // of the names of classes that a sample asks for
constexpr size_t kNameBytesMax = 16 << 10;  // of an object; S3's have 1,024
constexpr uint64_t kEntriesMax = uint64_t{1} << 32;

// The path of a picture below the prefix, as a class, the folder (which begins with the class) and the name.
struct PicturePath {
  std::string_view of_class, folder, name;
};

// Whether a part of the path is hidden. Parts that are empty, "." or ".." mean nothing in a store: a name is a text.
bool has_hidden_part(std::string_view path) {
  for (size_t begin = 0; begin < path.size();) {
    const std::string_view part = path.substr(begin, path.find('/', begin) - begin);
    if (part.starts_with('.') && part != "." && part != "..") return true;
    begin += part.size() + 1;
  }
  return false;
}

// Whether what stands behind the prefix begins with the name of a class that is listed: the rest of a path, or of a
// folder, which ends in '/'.
bool is_odd_class(std::string_view relative) {
  return relative.starts_with('/') || relative.starts_with("./") || relative.starts_with("../");
}
bool is_hidden_class(std::string_view relative) { return relative.starts_with('.') && !is_odd_class(relative); }

// None: it lies in no class, is hidden, or has another ending; `others` counts it where it may be a picture all the
// same.
std::optional<PicturePath> picture_path(std::string_view path, const Endings& endings, OtherPictures& others) {
  const size_t last = path.rfind('/');
  if (last == std::string_view::npos) return {};
  const PicturePath picture{path.substr(0, path.find('/')), path.substr(0, last), path.substr(last + 1)};
  if (has_hidden_part(path) || picture.name.empty()) return {};
  if (endings.fit(picture.name)) return picture;
  if (is_picture_name(picture.name)) others.add(path);
  return {};
}

}  // namespace

std::string RemotePages::digits() const {
  Fingerprint fingerprint;
  for (const Page& page : pages)
    for (const store::Entry& entry : page.entries) {
      fingerprint.add_text(entry.name);
      fingerprint.add_number(entry.identity.size);
      fingerprint.add_number(static_cast<uint64_t>(entry.identity.changed));
    }
  return fingerprint.digits();
}

std::string RemotePages::payload() const {
  KeptWriter writer;
  for (const Page& page : pages) {
    writer.text(page.prefix);
    writer.text(page.after);
    writer.number(page.is_last);
    writer.number(page.entries.size());
    std::string_view before;
    for (const store::Entry& entry : page.entries) {
      // Neighbours mostly begin alike.
      const auto differs = std::mismatch(before.begin(), before.end(), entry.name.begin(), entry.name.end()).first;
      const auto common = static_cast<size_t>(differs - before.begin());
      writer.number(common);
      writer.text(std::string_view(entry.name).substr(common));
      writer.number(entry.identity.size);
      writer.number(static_cast<uint64_t>(entry.identity.changed));
      before = entry.name;
    }
  }
  return writer.take();
}

RemotePages RemotePages::of_payload(std::string_view payload) {
  KeptReader reader(payload);
  RemotePages all;
  while (reader.ok() && !reader.rest().empty()) {
    Page page;
    page.prefix = reader.text();
    page.after = reader.text();
    page.is_last = reader.number() != 0;
    const uint64_t count = reader.number();
    std::string before;
    for (uint64_t i = 0; i < count && reader.ok(); ++i) {
      const uint64_t common = reader.number();
      if (common > before.size() || before.size() > kNameBytesMax) return {};
      store::Entry entry{before.substr(0, common).append(reader.text()), {}};
      entry.identity.size = reader.number();
      entry.identity.changed = static_cast<int64_t>(reader.number());
      before = entry.name;
      page.entries.push_back(std::move(entry));
    }
    all.pages.push_back(std::move(page));
  }
  return reader.ok() ? std::move(all) : RemotePages();
}

std::vector<std::string> RemoteFolder::prefixes(const std::stop_token& stop) const {
  if (!choice_.folder.empty()) return {prefix_ + choice_.folder + '/'};
  std::vector<std::string> prefixes;
  for_each_page(*store_, prefix_, true, stop, [&](const store::List& page) {
    for (const std::string& folder : page.folders)
      if (folder.size() > prefix_.size() && !is_hidden_class(std::string_view(folder).substr(prefix_.size())))
        prefixes.push_back(folder);
  });
  if (prefixes.empty())
    throw SetupError(Trouble::kNotFound, store_->uri_of(prefix_) +
                                             " holds no folder, or does not exist: there must be a folder for each "
                                             "class.");
  if (prefixes.size() > kPrefixesMax) prefixes = {prefix_};
  return prefixes;
}

void RemoteFolder::read_prefix(const std::string& prefix, std::vector<RemotePages::Page>& pages,
                               std::atomic<uint64_t>& found, const std::stop_token& stop) const {
  std::string after;
  uint64_t count = 0;
  for_each_page(*store_, prefix, false, stop, [&](const store::List& list) {
    RemotePages::Page page{prefix, after, list.entries, list.cursor.empty()};
    if (!page.entries.empty()) after = page.entries.back().name;
    count += page.entries.size();
    if (count > kEntriesMax)
      throw SetupError(Trouble::kLimit, store_->uri_of(prefix) + " holds more than 2^32 objects: divide it.");
    found.fetch_add(page.entries.size(), std::memory_order_relaxed);
    pages.push_back(std::move(page));
  });
}

RemotePages RemoteFolder::read(const Progress& progress, const std::stop_token& stop) const {
  const std::vector<std::string> all = prefixes(stop);
  std::vector<std::vector<RemotePages::Page>> parts(all.size());
  std::atomic<uint64_t> found{0};
  run_parts(
      all.size(), [&](uint64_t i) { read_prefix(all[i], parts[i], found, stop); }, {"objects", found, 0}, progress,
      stop);
  RemotePages pages;
  for (auto& part : parts) std::move(part.begin(), part.end(), std::back_inserter(pages.pages));
  return pages;
}

bool RemoteFolder::has_same_folders(const RemotePages& pages, const std::stop_token& stop) const {
  if (!choice_.folder.empty()) return true;
  std::set<std::string, std::less<>> known;
  const auto add = [&](std::string_view name) {
    const size_t slash = name.find('/', prefix_.size());
    if (slash != std::string_view::npos && !is_hidden_class(name.substr(prefix_.size())))
      known.emplace(name.substr(0, slash + 1));
  };
  for (const RemotePages::Page& page : pages.pages) {
    add(page.prefix);
    if (page.prefix == prefix_)
      for (const store::Entry& entry : page.entries) add(entry.name);
  }
  store::Waiting waiting(*store_);
  store::List list;
  list.prefix = prefix_;
  list.folds = true;
  size_t found = 0;
  for (size_t page = 0; page < kFolderPagesMax; ++page) {
    const Status status = waiting.list(list, stop);
    check_stop(stop);
    if (!status) refuse_remote(status.error());
    for (const std::string& folder : list.folders) {
      if (folder.size() <= prefix_.size() || is_hidden_class(std::string_view(folder).substr(prefix_.size()))) continue;
      if (!known.contains(folder)) return false;
      ++found;
    }
    if (list.cursor.empty()) return found == known.size();
  }
  return true;  // as far as was looked
}

bool RemoteFolder::is_unchanged(const RemotePages& pages, const std::stop_token& stop) const {
  if (pages.pages.empty() || !has_same_folders(pages, stop)) return false;
  std::vector<size_t> chosen = {0, pages.pages.size() - 1};
  std::minstd_rand random(std::random_device{}());
  for (size_t i = 0; i < kSampledPages; ++i) chosen.push_back(random() % pages.pages.size());
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  std::atomic<uint64_t> done{0}, others{0};
  run_parts(
      chosen.size(),
      [&](uint64_t i) {
        const RemotePages::Page& kept = pages.pages[chosen[i]];
        store::List list;
        list.prefix = kept.prefix;
        list.after = kept.after;
        const Status status = store::Waiting(*store_).list(list, stop);
        check_stop(stop);
        if (!status) refuse_remote(status.error());
        if (list.entries != kept.entries || list.cursor.empty() != kept.is_last) ++others;
        ++done;
      },
      {"pages", done, chosen.size()}, {}, stop);
  return others == 0;
}

namespace {

// Not all stores list names in the order of their bytes.
void sort_pictures(ClassFiles::Folder& folder) {
  struct Picture {
    std::string_view name;
    store::Identity identity;
  };
  std::vector<Picture> pictures;
  for_each_name(folder.pictures, [&](std::string_view name) {
    pictures.push_back({name, folder.identities[pictures.size()]});
  });
  const auto by_name = [](const Picture& a, const Picture& b) { return a.name < b.name; };
  if (std::is_sorted(pictures.begin(), pictures.end(), by_name)) return;
  std::sort(pictures.begin(), pictures.end(), by_name);
  std::string names;
  folder.identities.clear();
  for (const Picture& picture : pictures) {
    names.append(picture.name) += '\0';
    folder.identities.push_back(picture.identity);
  }
  folder.pictures = std::move(names);
}

}  // namespace

RemoteListing RemoteFolder::sort_out(const RemotePages& pages) const {
  // In a flat list "a/b.jpg" and "a/c/d.jpg" mix: pictures are gathered by folder.
  std::map<std::string, std::map<std::string, ClassFiles::Folder>, std::less<>> classes;
  RemoteListing listing;
  uint64_t empty = 0, odd = 0, pictures = 0;
  std::string first_empty, first_odd;
  ClassFiles::Folder* folder = nullptr;
  std::string_view path;
  for (const RemotePages::Page& page : pages.pages) {
    for (const store::Entry& entry : page.entries) {
      if (entry.name.size() <= prefix_.size()) continue;
      const std::string_view relative = std::string_view(entry.name).substr(prefix_.size());
      const size_t slash = relative.find('/');
      if (slash == std::string_view::npos || is_hidden_class(relative)) continue;
      if (is_odd_class(relative) && choice_.folder.empty()) {
        if (picture_path(relative, endings_, listing.others) && odd++ == 0) first_odd = relative;
        continue;
      }
      auto& of_class = classes[std::string(relative.substr(0, slash))];  // a class without pictures is one, too
      const auto picture = picture_path(relative, endings_, listing.others);
      if (!picture) continue;
      if (entry.identity.size == 0) {
        if (!choice_.may_be_empty && empty++ == 0) first_empty = relative;
        continue;
      }
      if (folder == nullptr || path != picture->folder) {
        folder = &of_class[std::string(picture->folder)];
        folder->path = picture->folder;
        path = folder->path;
      }
      folder->pictures.append(picture->name) += '\0';
      folder->identities.push_back(entry.identity);
      ++folder->count;
      ++pictures;
    }
  }
  listing.digits = pages.digits();
  if (pictures == 0)
    throw SetupError(Trouble::kUsage, "no object below " + store_->uri_of(prefix_ + choice_.folder) +
                                          " has a name that ends in " + endings_.joined() +
                                          (choice_.folder.empty() ? " and lies in the folder of a class." : "."));
  for (auto& [name, folders] : classes) {
    ClassFiles files;
    for (auto& [folder_path, one] : folders) {
      sort_pictures(one);
      files.folders.push_back(std::move(one));
    }
    if (files.folders.empty())
      files.remarks.add_missing("the class folder " + name + " holds no object ending in " + endings_.joined() + ".");
    if (listing.files.empty() && empty > 0)
      files.remarks.add_missing(std::to_string(empty) + " objects are empty and were passed over, the first is " +
                                first_empty + ".");
    if (listing.files.empty() && odd > 0)
      files.remarks.add_missing(std::to_string(odd) +
                                " objects lie in a folder without a name, or named \".\" or \"..\", where a class is "
                                "named, and were passed over, the first is " +
                                config::printable(first_odd, 200) + ".");
    listing.classes.push_back(name);
    listing.files.push_back(std::move(files));
  }
  return listing;
}

RemoteListing list_remote(const std::string& key, const std::shared_ptr<const RemoteFolder>& folder,
                          const RemoteOpening& opening) {
  KeptFile file(opening.kept, key);
  RemotePages pages = RemotePages::of_payload(file.read());
  opening.use = {};
  if (folder->is_unchanged(pages, opening.stop)) {
    opening.use.taken = pages.pages.size();
    file.touch();
  } else {
    pages = folder->read(opening.progress, opening.stop);
    opening.use.read = pages.pages.size();
    if (file.is_on()) opening.use.trouble = file.write({pages.payload()});
  }
  RemoteListing listed = folder->sort_out(pages);
  listed.is_unchanged = [folder, digits = listed.digits, key, where = opening.kept] {
    KeptFile kept(where, key);
    const RemotePages before = RemotePages::of_payload(kept.read());
    if (before.digits() == digits && folder->is_unchanged(before, {})) return true;
    return folder->read({}, {}).digits() == digits;
  };
  return listed;
}

}  // namespace spdld::source
