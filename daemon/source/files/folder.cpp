#include "daemon/source/files/folder.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "daemon/base/result.h"
#include "daemon/source/files/bounds.h"
#include "daemon/source/parts.h"
#include "daemon/source/trouble.h"
#include "proto/unique_fd.h"

namespace spdld::source {
namespace {

constexpr uint64_t kStopCheckEvery = 1u << 12;  // entries

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// A file system that gives no type with a name is asked for it.
unsigned char type_of(DIR* folder, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) return entry.d_type;
  struct stat status;
  if (::fstatat(::dirfd(folder), entry.d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) return DT_REG;
  return S_ISDIR(status.st_mode) ? DT_DIR : S_ISLNK(status.st_mode) ? DT_LNK : DT_REG;
}

// Names of a folder mostly begin alike; what follows decides their order in eight bytes, mostly.
struct SortedName {
  uint64_t key;  // the first eight bytes after the common beginning, the first one highest
  std::string_view name;
};

uint64_t key_of(std::string_view name, size_t common) {
  uint64_t key = 0;
  for (size_t i = common; i < common + 8; ++i) key = key << 8 | (i < name.size() ? static_cast<uint8_t>(name[i]) : 0);
  return key;
}

size_t common_beginning(const std::vector<SortedName>& names) {
  const std::string_view first = names.front().name;
  size_t common = first.size();
  for (const SortedName& other : names) {
    const size_t length = std::min(common, other.name.size());
    common = 0;
    while (common < length && first[common] == other.name[common]) ++common;
  }
  return common;
}

}  // namespace

Endings::Endings(const std::string& text) {
  std::string ending;
  for (const char c : text + ',') {
    if (c == ' ' || (c == '.' && ending.empty())) continue;
    if (c != ',') {
      ending += lower(c);
    } else if (!ending.empty()) {
      endings_.push_back('.' + std::exchange(ending, {}));
    }
  }
  if (endings_.empty()) {
    throw SetupError(Trouble::kUsage, "source.extensions names none: give some, such as \"jpg,jpeg\".");
  }
}

bool Endings::fit(std::string_view name) const {
  return std::any_of(endings_.begin(), endings_.end(), [&](const std::string& ending) {
    if (name.size() < ending.size()) return false;
    const std::string_view tail = name.substr(name.size() - ending.size());
    return std::equal(tail.begin(), tail.end(), ending.begin(), [](char a, char b) { return lower(a) == b; });
  });
}

std::string Endings::joined() const {
  std::string text;
  for (const auto& ending : endings_) text += (text.empty() ? "" : ", ") + ending;
  return text;
}

bool is_picture_name(std::string_view name) {
  static const Endings kPictures("jpg,jpeg,jpe,jfif,png,webp,tif,tiff,bmp,gif,avif,jxl,jp2,j2k,heic,heif,ppm,pgm");
  return kPictures.fit(name);
}

void OtherPictures::add(std::string_view name) {
  if (count++ == 0 || name < first) first = name;
}

void OtherPictures::add_all(const OtherPictures& other, const std::string& prefix) {
  if (other.count == 0) return;
  if (count == 0 || prefix + other.first < first) first = prefix + other.first;
  count += other.count;
}

std::string OtherPictures::text() const { return count == 0 ? std::string() : std::to_string(count) + '/' + first; }

OtherPictures OtherPictures::of(std::string_view text) {
  OtherPictures others;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), others.count);
  const size_t slash = static_cast<size_t>(end - text.data());
  if (error != std::errc() || slash >= text.size() || text[slash] != '/') return {};
  others.first = text.substr(slash + 1);
  return is_picture_name(others.first) ? others : OtherPictures();
}

std::string others_left_out(const OtherPictures& others, const Endings& endings) {
  const size_t dot = others.first.rfind('.');
  std::string wanted = endings.joined() + ", " + others.first.substr(dot);
  std::erase_if(wanted, [](char c) { return c == '.' || c == ' '; });
  return std::to_string(others.count) + (others.count == 1 ? " picture" : " pictures") + " of other formats, such as " +
         others.first + ", " + (others.count == 1 ? "is" : "are") + " left out: source.extensions takes only " +
         endings.joined() + ". Write extensions = \"" + wanted + "\" to take such files as well.";
}

OpenFolder open_folder(const std::string& path, const Bounds* bounds) {
  UniqueFd fd(open_file(bounds, path.c_str(), O_DIRECTORY));
  OpenFolder open;
  if (!fd || ::fstat(fd.get(), &open.status) != 0) {
    open.error_number = errno;
    return open;
  }
  open.folder.reset(::fdopendir(fd.get()));
  if (open.folder) fd.release();
  if (!open.folder) open.error_number = errno;
  return open;
}

void for_each_entry(DIR* folder, const std::string& path, const std::stop_token& stop,
                    const std::function<void(const dirent&)>& each) {
  for (uint64_t count = 0;; ++count) {
    if (count % kStopCheckEvery == 0) check_stop(stop);
    errno = 0;
    const dirent* read = ::readdir(folder);
    if (read == nullptr && errno != 0) refuse_folder(path, errno);
    if (read == nullptr) return;
    each(*read);
  }
}

FolderNames read_folder(DIR* folder, const std::string& path, const Endings* endings, const std::stop_token& stop) {
  FolderNames names;
  for_each_entry(folder, path, stop, [&](const dirent& entry) {
    const std::string_view name = entry.d_name;
    if (name.starts_with('.')) return;
    const unsigned char type = type_of(folder, entry);
    if (type == DT_DIR) {
      names.folders.append(name) += '\0';
    } else if (type == DT_LNK) {
      names.links.append(name) += '\0';
    } else if (endings != nullptr && endings->fit(name)) {
      names.pictures.append(name) += '\0';
    } else if (endings != nullptr && is_picture_name(name)) {
      names.others.add(name);
    }
  });
  sort_names(names.folders);
  sort_names(names.links);
  sort_names(names.pictures);
  return names;
}

void sort_names(std::string& names) {
  std::vector<SortedName> sorted;
  for_each_name(names, [&](std::string_view name) { sorted.push_back({0, name}); });
  if (sorted.size() < 2) return;
  const size_t common = common_beginning(sorted);
  for (SortedName& entry : sorted) entry.key = key_of(entry.name, common);
  std::sort(sorted.begin(), sorted.end(),
            [](const SortedName& a, const SortedName& b) { return a.key != b.key ? a.key < b.key : a.name < b.name; });
  std::string in_order;
  in_order.reserve(names.size());
  for (const SortedName& entry : sorted) in_order.append(entry.name) += '\0';
  names = std::move(in_order);
}

bool leads_to_folder(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

void refuse_folder(const std::string& folder, int error_number) {
  if (error_number == kLeadsOut) refuse_leading_out(folder);
  throw SetupError(setup_trouble(error_number),
                   "the folder " + folder + " can't be read: " + error_words(error_number) + ".");
}

}  // namespace spdld::source
