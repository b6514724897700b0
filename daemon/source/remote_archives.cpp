#include "daemon/source/remote_archives.h"

#include <fnmatch.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <string_view>
#include <unordered_set>

#include "config/remote_uri.h"
#include "config/uri_pattern.h"
#include "daemon/base/result.h"
#include "daemon/source/parts.h"
#include "daemon/source/remote_names.h"

namespace spdld::source {
namespace {

class RemoteSearch {
 public:
  RemoteSearch(const store::Stores& stores, const std::stop_token& stop) : stores_(stores), stop_(stop) {}

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

  // Asks for as many names at once as the store works on, and takes the answers in the order of the names.
  std::vector<RemoteArchive> find() {
    std::deque<Name> asked;
    for (size_t next = 0; next < uris_.size() || !asked.empty();) {
      const bool has_room = asked.empty() || asked.size() < asked.front().found.store->concurrency();
      if (has_room && next < uris_.size()) {
        asked.push_back(ask(uris_[next++]));
        continue;
      }
      const Name name = std::move(asked.front());
      asked.pop_front();
      add(name);
    }
    return std::move(found_);
  }

 private:
  struct Name {
    const std::string& uri;
    store::Stores::Found found;
    std::unique_ptr<ObjectLook> look;  // null: it names no single object
  };

  Name ask(const std::string& uri) {
    check_stop(stop_);
    Name name{uri, stores_.find(uri), nullptr};
    const std::string& object = name.found.object;
    if (!config::has_wildcards(object) && !object.empty() && !object.ends_with('/'))
      name.look = std::make_unique<ObjectLook>(*name.found.store, object);
    return name;
  }

  void add(const Name& name) {
    if (config::has_wildcards(name.found.object)) return add_fitting(name.uri, name.found);
    if (!name.look) return add_folder(name.uri, name.found, nullptr);
    store::Identity identity;
    const Status seen = name.look->finish(identity, stop_);
    if (seen) return add_archive(name.found, name.found.object, identity);
    add_folder(name.uri, name.found, &seen.error());
  }

  // `why`: it is no archive; null: its name ends like a folder's.
  void add_folder(const std::string& uri, const store::Stores::Found& found, const Error* why) {
    std::string prefix = found.object;
    if (!prefix.empty() && !prefix.ends_with('/')) prefix += '/';
    std::vector<store::Entry> entries;
    try {
      for_each_page(*found.store, prefix, true, stop_, [&](const store::List& page) {
        for (const store::Entry& entry : page.entries) {
          const std::string_view name = std::string_view(entry.name).substr(prefix.size());
          if (name.ends_with(".tar") && !name.starts_with('.')) entries.push_back(entry);
        }
      });
    } catch (const SetupError& e) {
      if (e.trouble() != Trouble::kUnsupported || why == nullptr) throw;
      refuse_remote(*why);
    }
    if (add_sorted(found, entries)) return;
    if (why != nullptr && why->trouble == Trouble::kDenied) refuse_remote(*why);
    throw SetupError(Trouble::kNotFound, uri + " is neither an archive nor a folder with objects named *.tar.");
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
      throw SetupError(Trouble::kUsage, "source.uri names the archive " + uri + " twice: name each archive once.");
    if (found_.size() == config::kUriPathsMax)
      throw SetupError(Trouble::kLimit,
                       "source.uri names more than " + std::to_string(config::kUriPathsMax) + " archives.");
    found_.push_back({std::move(uri), object, found.store, identity});
  }

  const store::Stores& stores_;
  const std::stop_token& stop_;
  std::vector<std::string> uris_;
  std::vector<RemoteArchive> found_;
  std::unordered_set<std::string> seen_;
};

}  // namespace

std::vector<RemoteArchive> find_remote_archives(const std::vector<std::string>& uris, const store::Stores& stores,
                                                const std::stop_token& stop) {
  RemoteSearch search(stores, stop);
  for (const std::string& uri : uris) search.add_uri(uri);
  return search.find();
}

}  // namespace spdld::source
