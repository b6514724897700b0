// MosaicML Streaming's shards as a data set: their columns are fields.
#include "daemon/source/tables/mds.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include "config/catalogue.h"
#include "daemon/base/result.h"
#include "daemon/source/listings.h"
#include "daemon/source/tables/block_reader.h"
#include "daemon/source/tables/indexed_rows.h"

namespace spdld::source {
namespace {

constexpr FileKind kIndexes = {.noun = "index",
                               .nouns = "folders of MDS shards",
                               .ending = "index.json",
                               .advice = ": it must be a folder of MDS shards, with their index.json",
                               .meant = "an index of MDS shards"};
constexpr FileKind kShards = {
    .noun = "shard", .nouns = "shards", .ending = "", .advice = "", .meant = "a shard of MDS"};

std::string read_index_text(const std::string& path, const TableOpening& opening) {
  struct stat status;
  const UniqueFd fd = open_table_file(path, opening.bounds, kIndexes, status);
  if (static_cast<uint64_t>(status.st_size) > kMdsIndexBytesMax)
    throw SetupError(Trouble::kLimit,
                     path + " has more than the limit of " + std::to_string(kMdsIndexBytesMax) + " bytes.");
  std::atomic<uint64_t> unused{0};
  BlockReader reader(fd.get(), path, unused, opening.stop);
  reader.have(kMdsIndexBytesMax);
  return std::string(reader.text());
}

}  // namespace

std::unique_ptr<Listing> open_mds(const TableOpening& opening) {
  FoundArchives found = find_archives(opening.uris, opening.stop, opening.bounds, kIndexes);
  std::vector<std::string> paths;
  std::unordered_map<std::string, MdsShard> shards;  // by path
  std::vector<MdsColumn> columns;
  for (const std::string& index : found.paths) {
    for (MdsShard& shard : read_mds_index(read_index_text(index, opening), index)) {
      if (columns.empty()) columns = shard.columns;
      if (columns != shard.columns)
        throw SetupError(Trouble::kUsage, index + ": its shard " + shard.name +
                                              " has other columns than the first shard: all must have the same.");
      paths.push_back(index.substr(0, index.rfind('/') + 1) + shard.name);
      shards.emplace(paths.back(), std::move(shard));
    }
  }
  if (paths.empty()) throw SetupError(Trouble::kUsage, config::uris_text(opening.spec) + " has no shard.");
  const auto read = [&](int fd, const std::string& path, std::atomic<uint64_t>& done) {
    return index_mds(fd, path, shards.at(path), done, opening.stop);
  };
  TableFiles files = index_files({paths, kShards, "mds", "bytes of shards", read}, opening.progress, opening.stop,
                                 opening.kept, opening.use, opening.bounds);
  for (size_t i = 0; i < paths.size(); ++i)
    if (files.indexes[i].rows() != shards.at(paths[i]).samples)
      throw SetupError(Trouble::kContent, paths[i] + " has another number of samples than its index says.");
  std::vector<Field> fields;
  for (const MdsColumn& column : columns) {
    if (column.name == config::kTableNameField)
      throw SetupError(Trouble::kUsage, config::uris_text(opening.spec) + " has a column " + column.name +
                                            ": give it another name, for this one is the sample's.");
    fields.push_back({column.name, FieldKind::kFetched, values_of_encoding(column.encoding)});
  }
  Stamps stamps = std::move(files.found.stamps);
  stamps.add_all(std::move(found.stamps));
  return std::make_unique<IndexedRows>(std::move(files), std::move(stamps), std::move(fields),
                                       std::make_unique<MdsRows>(std::move(columns)), "mds",
                                       config::uris_text(opening.spec), Remarks());
}

}  // namespace spdld::source
