// MosaicML Streaming's shards as a data set: their columns are fields.
#include "daemon/source/tables/mds.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include "config/catalogue.h"
#include "config/text/remote_uri.h"
#include "daemon/base/result.h"
#include "daemon/source/listings.h"
#include "daemon/source/tables/indexed_rows.h"
#include "daemon/source/tables/reading/whole_texts.h"

namespace spdld::source {
namespace {

constexpr FileKind kIndexes = {.noun = "index",
                               .nouns = "folders of MDS shards",
                               .endings = "index.json",
                               .is_whole_name = true,
                               .advice = ": it must be a folder of MDS shards, with their index.json",
                               .meant = "an index of MDS shards"};
constexpr FileKind kShards = {
    .noun = "shard", .nouns = "shards", .endings = "", .advice = "", .meant = "a shard of MDS", .may_be_packed = true};

// A shard's name as its index has it, behind the index's folder.
std::string shard_name(const std::string& index, const std::string& basename) {
  return index.substr(0, index.rfind('/') + 1) +
         (config::is_remote(index) ? config::written_in_uri(index, basename) : basename);
}

std::vector<std::string> read_index_texts(DataFiles& indexes, const SourceOpening& opening) {
  KeptUse unused;  // the listing's use counts shards
  return whole_texts(indexes, opening.indexing(kIndexes, "mds indexes", "bytes of indexes", &unused),
                     kMdsIndexBytesMax);
}

// The shards of all indexes, in order.
struct Shards {
  std::vector<std::string> names;
  std::unordered_map<std::string, MdsShard> by_name;
  std::vector<MdsColumn> columns;
};

// `is_packed`: by the names of the compressed files, where shards have them.
Shards shards_of(const DataFiles& indexes, const std::vector<std::string>& texts, bool is_packed) {
  Shards shards;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string& index = indexes.files[i].name;
    for (MdsShard& shard : read_mds_index(texts[i], index)) {
      if (shards.columns.empty()) shards.columns = shard.columns;
      if (shards.columns != shard.columns)
        throw SetupError(Trouble::kUsage, index + ": its shard " + shard.name +
                                              " has other columns than the first shard: all must have the same.");
      shards.names.push_back(
          shard_name(index, is_packed && !shard.packed_name.empty() ? shard.packed_name : shard.name));
      if (!shards.by_name.emplace(shards.names.back(), std::move(shard)).second)
        throw SetupError(Trouble::kUsage, index + " names the shard " + shards.names.back() + " twice.");
    }
  }
  return shards;
}

// A folder has its shards compressed; or unpacked, as Streaming leaves them in its local folder. Then `shards` has
// these names.
DataFiles find_shards(Shards& shards, const DataFiles& indexes, const std::vector<std::string>& texts,
                      const SourceOpening& opening) {
  try {
    return name_data_files(shards.names, kShards, opening.places, opening.stop);
  } catch (const SetupError& error) {
    Shards unpacked = shards_of(indexes, texts, false);
    if (error.trouble() != Trouble::kNotFound || unpacked.names == shards.names) throw;
    try {
      DataFiles files = name_data_files(unpacked.names, kShards, opening.places, opening.stop);
      shards = std::move(unpacked);
      return files;
    } catch (const SetupError& again) {
      if (again.trouble() == Trouble::kNotFound) throw error;
      throw;
    }
  }
}

}  // namespace

std::unique_ptr<Listing> open_mds(const SourceOpening& opening) {
  DataFiles indexes = find_data_files(opening.uris, kIndexes, opening.places, opening.stop);
  const std::vector<std::string> texts = read_index_texts(indexes, opening);
  Shards shards = shards_of(indexes, texts, true);
  if (shards.names.empty()) throw SetupError(Trouble::kUsage, config::uris_text(opening.spec) + " has no shard.");
  DataFiles files = find_shards(shards, indexes, texts, opening);
  const auto read = [&](store::View& view, const DataFile& file, std::atomic<uint64_t>& done) {
    return index_mds(view, file.name, shards.by_name.at(file.name), done, opening.stop);
  };
  std::vector<TableIndex> places =
      index_files(files, opening.indexing(kShards, "mds 3", "bytes of shards"), packed_table_way(read, opening.stop));
  for (size_t i = 0; i < places.size(); ++i)
    if (places[i].rows() != shards.by_name.at(files.files[i].name).samples)
      throw SetupError(Trouble::kContent, files.files[i].name + " has another number of samples than its index says.");
  std::vector<Field> fields;
  for (const MdsColumn& column : shards.columns) {
    if (column.name == config::kTableNameField)
      throw SetupError(Trouble::kUsage, config::uris_text(opening.spec) + " has a column " + column.name +
                                            ": give it another name, for this one is the sample's.");
    fields.push_back({column.name, FieldKind::kFetched, values_of_encoding(column.encoding)});
  }
  files.is_unchanged = [of_indexes = std::move(indexes.is_unchanged), of_shards = std::move(files.is_unchanged)] {
    return of_indexes() && of_shards();
  };
  return std::make_unique<IndexedRows>(std::move(files), std::move(places), std::move(fields),
                                       std::make_unique<MdsRows>(std::move(shards.columns)), "mds",
                                       config::uris_text(opening.spec), Remarks(), opening.access(kShards));
}

}  // namespace spdld::source
