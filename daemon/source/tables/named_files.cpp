#include "daemon/source/tables/named_files.h"

#include <algorithm>
#include <utility>

#include "config/text/local_path.h"
#include "config/text/remote_uri.h"
#include "config/text/words.h"
#include "daemon/base/result.h"
#include "daemon/source/parts.h"

namespace spdld::source {
namespace {

constexpr size_t kShownBytes = 300;  // of a text, in a sentence
constexpr uint64_t kRowsPerLook = 4096;

std::string folder_of(const std::string& name) { return name.substr(0, name.rfind('/') + 1); }

bool has_scheme(std::string_view text) {
  const size_t colon = text.find("://");
  return colon != std::string_view::npos && colon > 0 && config::is_word(text.substr(0, colon), "+.-");
}

// The path without its steps; none: it climbs above its start.
std::optional<std::string> without_steps(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), part.size() + 1));
    if (part == "..") {
      if (parts.empty()) return std::nullopt;
      parts.pop_back();
    } else if (!part.empty() && part != ".") {
      parts.push_back(part);
    }
  }
  std::string plain;
  for (const std::string_view part : parts) plain.append(plain.empty() ? "" : "/").append(part);
  return plain;
}

// One row's file.
struct NamedFile {
  std::string text;    // a path or a uri
  uint16_t store = 0;  // 0: it is local
};

class ManifestRows {
 public:
  ManifestRows(const DataFile& manifest, const std::string& column, NamedStores& stores)
      : manifest_(manifest), column_(column), stores_(stores) {}

  NamedFile read(std::string_view text, uint64_t row) {
    row_ = row;
    text_ = text;
    if (config::is_remote(text)) return remote(std::string(text));
    if (has_scheme(text)) return with_scheme(text);
    if (!manifest_.store) return {std::string(text)};
    if (text.starts_with('/')) refuse_local();
    return beside_manifest(text);
  }

 private:
  NamedFile remote(std::string uri) const {
    if (const std::string fault = config::remote_uri_fault(uri); !fault.empty()) refuse(fault);
    if (uri.ends_with('/') || config::split_remote_uri(uri).object.empty()) refuse("names no object");
    const uint16_t store = number_of(uri);
    return {std::move(uri), store};
  }

  NamedFile with_scheme(std::string_view text) const {
    auto [path, fault] = config::local_path_of(std::string(text), "");
    if (!fault.empty()) refuse(fault);
    if (manifest_.store) refuse_local();
    return {std::move(path)};
  }

  // A path is taken apart before the rules are looked at, so that no step leads out of what they allow.
  NamedFile beside_manifest(std::string_view path) const {
    const std::string folder = folder_of(manifest_.name);
    const size_t root = folder.find('/', folder.find("://") + 3) + 1;
    const auto plain = without_steps(folder.substr(root).append(config::written_in_uri(folder, path)));
    if (!plain || plain->empty()) refuse("climbs out of the store in which the manifest lies");
    NamedFile named = remote(folder.substr(0, root) + *plain);
    // Mostly it is the text as it stands there, behind the folder.
    if (named.text.size() == folder.size() + path.size() && named.text.ends_with(path)) named.text = path;
    return named;
  }

  uint16_t number_of(const std::string& uri) const try { return stores_.add(uri); } catch (const SetupError& e) {
    throw SetupError(e.trouble(), place() + ": " + e.error().message);
  }

  std::string place() const {
    return manifest_.name + ", row " + std::to_string(row_) + ", column \"" + config::printable(column_) + '"';
  }
  [[noreturn]] void refuse_local() const {
    refuse(
        "names a local file, which a manifest in a remote store may not: give a url, or a path that begins at the "
        "manifest's folder");
  }
  [[noreturn]] void refuse(const std::string& fault) const {
    throw SetupError(Trouble::kUsage, place() + ": \"" + config::printable(text_, kShownBytes) + "\" " + fault + '.');
  }

  const DataFile& manifest_;
  const std::string& column_;
  NamedStores& stores_;
  uint64_t row_ = 0;  // that is being read
  std::string_view text_;
};

}  // namespace

uint16_t NamedStores::add(const std::string& uri) {
  if (!stores_) throw SetupError(Trouble::kUsage, uri + ": there are no remote stores here.");
  store::Stores::Found found = stores_->find(uri);
  // Rows that follow one another mostly lie in one store.
  for (size_t i = found_.size(); i-- > 0;)
    if (found_[i] == found.store) return static_cast<uint16_t>(i + 1);
  if (found_.size() == kNamedStoresMax)
    throw SetupError(Trouble::kLimit, uri + " lies in one store too many: rows may name objects in " +
                                          std::to_string(kNamedStoresMax) + " buckets and servers.");
  found_.push_back(std::move(found.store));
  return static_cast<uint16_t>(found_.size());
}

unsigned NamedStores::concurrency() const {
  unsigned most = 0;
  for (const auto& store : found_) most = std::max(most, store->concurrency());
  return most;
}

NamedFiles::NamedFiles(const TextColumn& texts, const DataFile& manifest, const std::string& column,
                       NamedStores& stores, const std::stop_token& stop)
    : stores_(stores) {
  ManifestRows reader(manifest, column, stores);
  const std::string own_folder = folder_of(manifest.store ? manifest.object : manifest.name);
  FolderNumbers numbers;
  Folder before;  // mostly the next row's as well
  uint32_t number = 0;
  for (uint64_t row = 0; row < texts.size(); ++row) {
    if (row % kRowsPerLook == 0) check_stop(stop);
    const NamedFile file = texts[row].empty() ? NamedFile() : reader.read(texts[row], row);
    const bool is_uri = file.store != 0 && config::is_remote(file.text);
    const std::string object = is_uri ? std::string(config::split_remote_uri(file.text).object) : file.text;
    const bool is_beside = !is_uri && !object.starts_with('/');
    // A name is never empty where the row names something.
    const size_t name_at = object.ends_with('/') ? 0 : object.rfind('/') + 1;
    Folder folder{(is_beside ? own_folder : std::string()) + object.substr(0, name_at), file.store};
    if (row == 0 || folder != before) number = number_of(before = std::move(folder), numbers);
    note_folder(number);
    names_.add(std::string_view(object).substr(name_at));
  }
  names_.fit();
  narrow_.shrink_to_fit();
  wide_.shrink_to_fit();
}

uint32_t NamedFiles::number_of(Folder folder, FolderNumbers& numbers) {
  const auto [place, is_new] = numbers.emplace(std::move(folder), static_cast<uint32_t>(folders_.size()));
  if (is_new) folders_.push_back(place->first);
  return place->second;
}

void NamedFiles::note_folder(uint32_t number) {
  if (wide_.empty() && number <= UINT16_MAX) return narrow_.push_back(static_cast<uint16_t>(number));
  if (wide_.empty()) wide_.assign(narrow_.begin(), narrow_.end());
  narrow_ = {};
  wide_.push_back(number);
}

Locator NamedFiles::locate(uint64_t row) const {
  Locator locator;
  if (lacks(row)) return locator;
  const Folder& folder = folders_[wide_.empty() ? narrow_[row] : wide_[row]];
  locator.path = names_[row];
  locator.folder = folder.path;
  locator.store = stores_[folder.store];
  return locator;
}

uint64_t NamedFiles::memory_bytes() const {
  uint64_t bytes = names_.memory_bytes() + narrow_.capacity() * sizeof(narrow_[0]) +
                   wide_.capacity() * sizeof(wide_[0]) + folders_.capacity() * sizeof(Folder);
  for (const Folder& folder : folders_) bytes += folder.path.capacity();
  return bytes;
}

}  // namespace spdld::source
