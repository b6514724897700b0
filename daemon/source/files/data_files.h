// The files of a source that hold many samples each: archives, tables. They lie on local disks or in remote stores.
// Both are found by the same uris and read through the same views, and their indexes are kept in the same way.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/source/files/archive_search.h"
#include "daemon/source/listing.h"
#include "daemon/store/store.h"
#include "daemon/store/view.h"

namespace spdld::source {

struct DataFile {
  std::string name;                          // its path or uri
  uint64_t bytes = 0;                        // as it was found, and later as it was indexed
  std::string object = {};                   // its name in the store, which is the end of `name`
  std::shared_ptr<store::Store> store = {};  // null: it is a local file
  store::Identity identity = {};             // of the object as it was found, or of the file as it was indexed

  bool is_same(const DataFile& other) const { return name == other.name && identity == other.identity; }
  Locator at(uint64_t offset, uint64_t bytes) const;  // borrows this file
};

struct DataFiles {
  std::vector<DataFile> files;
  std::function<bool()> is_unchanged;  // asks the file system or the stores whether the same files are there

  uint64_t bytes() const;
  unsigned store_concurrency() const;  // as Listing's
  std::vector<std::string> names() const;
};

// The files that these uris stand for, in order; they are all local paths (archive_search.h), or all remote
// (remote_archives.h). One thread. Throws SetupError as those do.
DataFiles find_data_files(const std::vector<std::string>& uris, const FileKind& kind, const Places& places,
                          const std::stop_token& stop);
// The files of these names alone, whatever signs are in them. Of several objects in a folder of a store that has lists,
// the list is asked for. Throws SetupError where one is missing.
DataFiles name_data_files(const std::vector<std::string>& names, const FileKind& kind, const Places& places,
                          const std::stop_token& stop);

// Notes the sizes and identities of local files that have no index. Throws SetupError where one is missing.
void look_at_each(DataFiles& files, const FileKind& kind, const Bounds* bounds, const std::stop_token& stop);

// How all files of a source are indexed.
struct Indexing {
  const FileKind& kind;
  std::string key;        // under which the indexes are kept: the type, and all parameters that an index depends on
  std::string_view what;  // as in Progress
  const Progress& progress;
  const std::stop_token& stop;
  const std::filesystem::path& kept;
  KeptUse& use;
  const Bounds* bounds;
};

// Called for each file once, on several threads at once.
struct IndexCalls {
  std::function<void(size_t file, store::View& view, std::atomic<uint64_t>& done)> read;
  std::function<std::string(size_t file)> keep;                        // the index that was read, as bytes
  std::function<bool(size_t file, std::string_view kept_bytes)> take;  // false: they are damaged
};
// Takes the index of each file from the kept listing where the file is as it was, and else reads the file. Sets the
// files' bytes and identities. Throws SetupError where a file changes while it is read.
void index_each(DataFiles& files, const Indexing& indexing, const IndexCalls& calls);

// How files are indexed whose indexes are of one type, and the calls that index_each() makes for them.
template <typename Index>
struct IndexWay {
  std::function<Index(store::View& view, const DataFile& file, std::atomic<uint64_t>& done)> read;
  std::function<std::string(const Index&)> keep;
  std::function<std::optional<Index>(std::string_view kept_bytes, const DataFile& file)> take;
};
template <typename Index>
std::vector<Index> index_files(DataFiles& files, const Indexing& indexing, const IndexWay<Index>& way) {
  std::vector<Index> all(files.files.size());
  index_each(
      files, indexing,
      {[&](size_t i, store::View& view, std::atomic<uint64_t>& done) { all[i] = way.read(view, files.files[i], done); },
       [&](size_t i) { return way.keep(all[i]); },
       [&](size_t i, std::string_view kept_bytes) {
         std::optional<Index> index = way.take(kept_bytes, files.files[i]);
         if (index) all[i] = std::move(*index);
         return index.has_value();
       }});
  return all;
}

}  // namespace spdld::source
