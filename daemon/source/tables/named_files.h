// The files that a column of a manifest names, row by row: by urls ("s3://bucket/a.jpg", "https://host/a.jpg"), and by
// paths, which begin at the manifest's folder, wherever the manifest lies. A manifest in a remote store names no local
// file. All urls and remote paths keep to the rules for the pipeline's own uris. Nothing is asked of a store before a
// row is read, so that nothing is known of an object until then.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/source/data_files.h"
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

// One column of one manifest. Constant after construction; any thread.
class NamedFiles {
 public:
  // `texts`: of the rows; an empty one names no file. `stores` outlives this. Throws SetupError with the first row that
  // names a file that may not be read, or none that can be.
  NamedFiles(TextColumn texts, const DataFile& manifest, const std::string& column, NamedStores& stores,
             const std::stop_token& stop);

  bool lacks(uint64_t row) const { return texts_[row].empty(); }
  Locator locate(uint64_t row) const;
  uint64_t memory_bytes() const { return texts_.memory_bytes() + store_of_.capacity() * sizeof(store_of_[0]); }

 private:
  const NamedStores& stores_;
  std::string folder_;  // the manifest's: ends in '/', or is empty
  TextColumn texts_;
  std::vector<uint16_t> store_of_;  // by row; empty: all are local
};

}  // namespace spdld::source
