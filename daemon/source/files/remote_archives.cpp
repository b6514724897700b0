#include "daemon/source/files/remote_archives.h"

#include <fnmatch.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "config/text/remote_uri.h"
#include "config/uri_pattern.h"
#include "daemon/base/result.h"
#include "daemon/source/files/file_endings.h"
#include "daemon/source/files/remote_names.h"
#include "daemon/source/parts.h"

namespace spdld::source {
namespace {

class RemoteSearch {
 public:
  RemoteSearch(const store::Stores& stores, const std::stop_token& stop, const FileKind& kind)
      : stores_(stores), stop_(stop), kind_(kind) {}

  void add_uri(const std::string& uri) {
    if (!config::has_braces(uri)) return uris_.push_back(uri);
    if (const std::string wrong = config::pattern_error(uri); !wrong.empty())
      throw SetupError(Trouble::kUsage, "source.uri \"" + uri + "\": " + wrong + ".");
    const std::vector<std::string> all = config::expand_braces(uri);
    for (const std::string& one : all)
      if (const std::string fault = config::remote_uri_fault(one); !fault.empty())
        throw SetupError(Trouble::kUsage, "source.uri \"" + uri + "\" stands for " + one + ", which " + fault + ".");
    uris_.insert(uris_.end(), all.begin(), all.end());
  }

  // The files that the uris stand for, as they were added. Asks for as many names at once as the store works on, and
  // takes the answers in the order of the names.
  std::vector<DataFile> find() {
    find_uris([this](const std::string& uri) { return ask(uri); });
    return std::move(found_);
  }

  // The objects of these uris alone. Objects of one folder that follow one another are looked for in its list.
  std::vector<DataFile> find_names(const std::vector<std::string>& uris) {
    for (size_t first = 0, end = 0; first < uris.size(); first = end) {
      const std::string folder = uris[first].substr(0, uris[first].rfind('/') + 1);
      while (end < uris.size() && uris[end].rfind('/') + 1 == folder.size() && uris[end].starts_with(folder)) ++end;
      if (end - first > 1) {
        const store::Stores::Found in = stores_.find(folder);
        if (const auto listed = list_of(*in.store, in.object, false)) {
          for (size_t i = first; i < end; ++i) add_listed(uris[i], *listed);
          continue;
        }
      }
      uris_.assign(uris.begin() + static_cast<ptrdiff_t>(first), uris.begin() + static_cast<ptrdiff_t>(end));
      find_uris([this](const std::string& uri) { return ask_object(uri, stores_.find(uri), true); });
    }
    return std::move(found_);
  }

 private:
  using Entries = std::unordered_map<std::string, store::Identity>;
  struct Name {
    std::string uri;
    store::Stores::Found found;        // with the object that is looked at
    std::unique_ptr<ObjectLook> look;  // null: it names no single object
    bool is_object_alone;              // it can't be a folder
  };

  template <typename Ask>
  void find_uris(const Ask& ask_one) {
    std::deque<Name> asked;
    for (size_t next = 0; next < uris_.size() || !asked.empty();) {
      const bool has_room = asked.empty() || asked.size() < asked.front().found.store->concurrency();
      if (has_room && next < uris_.size()) {
        check_stop(stop_);
        asked.push_back(ask_one(uris_[next++]));
        continue;
      }
      const Name name = std::move(asked.front());
      asked.pop_front();
      add(name);
    }
  }

  Name ask(const std::string& uri) const {
    store::Stores::Found found = stores_.find(uri);
    if (config::has_wildcards(found.object)) return {uri, std::move(found), nullptr, false};
    if (kind_.is_whole_name && !found.object.ends_with(kind_.endings)) {
      found.object = folder_of(found.object).append(kind_.endings);
      return ask_object(uri, std::move(found), true);
    }
    if (found.object.empty() || found.object.ends_with('/')) return {uri, std::move(found), nullptr, false};
    return ask_object(uri, std::move(found), kind_.endings.empty());
  }
  static Name ask_object(const std::string& uri, store::Stores::Found found, bool is_object_alone) {
    auto look = std::make_unique<ObjectLook>(*found.store, found.object);
    return {uri, std::move(found), std::move(look), is_object_alone};
  }

  void add(const Name& name) {
    if (!name.look && config::has_wildcards(name.found.object)) return add_fitting(name.uri, name.found);
    if (!name.look) return add_folder(name.uri, name.found, nullptr);
    store::Identity identity;
    const Status seen = name.look->finish(identity, stop_);
    if (seen) return add_archive(name.found, name.found.object, identity);
    if (name.is_object_alone) refuse_remote(seen.error());
    add_folder(name.uri, name.found, &seen.error());
  }

  void add_listed(const std::string& uri, const Entries& listed) {
    const store::Stores::Found found = stores_.find(uri);
    const auto entry = listed.find(found.object);
    if (entry == listed.end())
      throw SetupError(Trouble::kNotFound, "the " + std::string(kind_.noun) + ' ' + uri + " does not exist.");
    add_archive(found, found.object, entry->second);
  }

  static std::string folder_of(const std::string& object) {
    return object.empty() || object.ends_with('/') ? object : object + '/';
  }

  // All objects right below a folder; none: its store has no lists, which is an error where `is_needed`.
  std::optional<Entries> list_of(store::Store& store, const std::string& prefix, bool is_needed) const {
    Entries entries;
    try {
      for_each_page(store, prefix, true, stop_, [&](const store::List& page) {
        for (const store::Entry& entry : page.entries) entries.emplace(entry.name, entry.identity);
      });
    } catch (const SetupError& e) {
      if (e.trouble() != Trouble::kUnsupported || is_needed) throw;
      return std::nullopt;
    }
    return entries;
  }

  // `why`: it is no archive; null: its name ends like a folder's.
  void add_folder(const std::string& uri, const store::Stores::Found& found, const Error* why) {
    const std::string prefix = folder_of(found.object);
    const auto listed = list_of(*found.store, prefix, why == nullptr);
    if (!listed) refuse_remote(*why);
    std::vector<store::Entry> entries;
    std::vector<std::string> names;
    for (const auto& [object, identity] : *listed) {
      const std::string_view name = std::string_view(object).substr(prefix.size());
      if (!kind_.takes(name)) continue;
      entries.push_back({object, identity});
      names.emplace_back(name);
    }
    refuse_twins(names, kind_.endings, uri);
    if (add_sorted(found, entries)) return;
    if (why != nullptr && why->trouble == Trouble::kDenied) refuse_remote(*why);
    throw SetupError(Trouble::kNotFound, uri + " is neither " + std::string(kind_.meant) +
                                             " nor a folder with objects named " + words_of_endings(kind_.endings) +
                                             '.');
  }

  void add_fitting(const std::string& uri, const store::Stores::Found& found) {
    const std::string fixed = found.object.substr(0, found.object.find_first_of("*?["));
    std::vector<store::Entry> entries;
    for_each_page(*found.store, fixed, false, stop_, [&](const store::List& page) {
      for (const store::Entry& entry : page.entries) {
        if (::fnmatch(found.object.c_str(), entry.name.c_str(), FNM_PERIOD | FNM_PATHNAME) == 0)
          entries.push_back(entry);
      }
    });
    if (!add_sorted(found, entries))
      throw SetupError(Trouble::kNotFound, "source.uri \"" + uri + "\": nothing fits it.");
  }

  // Not all stores list names in the order of their bytes. False: there are none.
  bool add_sorted(const store::Stores::Found& found, std::vector<store::Entry>& entries) {
    std::sort(entries.begin(), entries.end(),
              [](const store::Entry& a, const store::Entry& b) { return a.name < b.name; });
    for (const store::Entry& entry : entries) add_archive(found, entry.name, entry.identity);
    return !entries.empty();
  }

  void add_archive(const store::Stores::Found& found, const std::string& object, const store::Identity& identity) {
    std::string uri = found.store->uri_of(object);
    if (!seen_.insert(uri).second)
      throw SetupError(Trouble::kUsage, "source.uri names the " + std::string(kind_.noun) + ' ' + uri +
                                            " twice: name each " + std::string(kind_.noun) + " once.");
    if (found_.size() == config::kUriPathsMax)
      throw SetupError(Trouble::kLimit, "source.uri names more than " + std::to_string(config::kUriPathsMax) + ' ' +
                                            std::string(kind_.nouns) + '.');
    found_.push_back({std::move(uri), identity.size, object, found.store, identity});
  }

  const store::Stores& stores_;
  const std::stop_token& stop_;
  std::vector<std::string> uris_;
  const FileKind& kind_;
  std::vector<DataFile> found_;
  std::unordered_set<std::string> seen_;
};

}  // namespace

std::vector<DataFile> find_remote_archives(const std::vector<std::string>& uris, const store::Stores& stores,
                                           const std::stop_token& stop, const FileKind& kind) {
  RemoteSearch search(stores, stop, kind);
  for (const std::string& uri : uris) search.add_uri(uri);
  return search.find();
}

std::vector<DataFile> name_remote_files(const std::vector<std::string>& uris, const store::Stores& stores,
                                        const std::stop_token& stop, const FileKind& kind) {
  return RemoteSearch(stores, stop, kind).find_names(uris);
}

}  // namespace spdld::source
