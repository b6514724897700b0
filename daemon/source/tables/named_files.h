// The files that a column of a manifest names, row by row: by urls ("s3://bucket/a.jpg", "https://host/a.jpg"), and by
// paths, which begin at the manifest's folder, wherever the manifest lies. A manifest in a remote store names no local
// file. All urls and remote paths keep to the rules for the pipeline's own uris. Nothing is asked of a store before a
// row is read, so that nothing is known of an object until then.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/source/files/data_files.h"
#include "daemon/source/tables/columns.h"
#include "daemon/store/stores.h"

namespace spdld::source {

inline constexpr size_t kNamedStoresMax = 1024;  // buckets and servers that the rows of a source name

// The stores that rows name, numbered from 1. One thread; then constant.
class NamedStores {
 public:
  explicit NamedStores(const Places& places) : stores_(places.stores) {}

  // Where a uri leads: the number of its store. Throws SetupError: the pipeline may not read there, there are no stores
  // here, or too many.
  uint16_t add(const std::string& uri);
  store::Store* operator[](uint16_t number) const { return number == 0 ? nullptr : found_[number - 1].get(); }
  unsigned concurrency() const;

 private:
  std::shared_ptr<const store::Stores> stores_;
  std::vector<std::shared_ptr<store::Store>> found_;
};

// One column of one manifest. Rows name files of few folders mostly, so that each folder is held once, with its store.
// Constant after construction; any thread.
class NamedFiles {
 public:
  // `texts`: of the rows; an empty one names no file. `stores` outlives this. Throws SetupError with the first row that
  // names a file that may not be read, or none that can be.
  NamedFiles(const TextColumn& texts, const DataFile& manifest, const std::string& column, NamedStores& stores,
             const std::stop_token& stop);

  bool lacks(uint64_t row) const { return names_[row].empty(); }
  Locator locate(uint64_t row) const;
  uint64_t memory_bytes() const;

 private:
  struct Folder {
    std::string path;  // in its store; ends in '/', or is empty
    uint16_t store;    // 0: it is local
    auto operator<=>(const Folder&) const = default;
  };
  using FolderNumbers = std::map<Folder, uint32_t>;
  uint32_t number_of(Folder folder, FolderNumbers& numbers);
  void note_folder(uint32_t number);

  const NamedStores& stores_;
  std::vector<Folder> folders_;
  TextColumn names_;  // in the folders
  // By row, a place in folders_: in the narrower one as long as the places fit.
  std::vector<uint16_t> narrow_;
  std::vector<uint32_t> wide_;
};

}  // namespace spdld::source
