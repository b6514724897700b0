// TFRecord files as a data set: the features of their examples are fields.
#include "daemon/source/tables/tfrecord.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "config/catalogue.h"
#include "config/text/words.h"
#include "daemon/base/result.h"
#include "daemon/source/listings.h"
#include "daemon/source/tables/indexed_rows.h"
#include "daemon/source/tables/reading/example.h"

namespace spdld::source {
namespace {

constexpr FileKind kTfrecords = {.noun = "TFRecord file",
                                 .nouns = "TFRecord files",
                                 .endings = ".tfrecord .tfrecord.gz .tfrecord.zst",
                                 .advice = " (where they are named in another way, write a wildcard, such as /*)",
                                 .meant = "a TFRecord file",
                                 .may_be_packed = true};

std::optional<config::RawValues> values_of_kind(uint8_t kind) {
  if (kind == static_cast<uint8_t>(FeatureKind::kFloat))
    return config::RawValues{config::DType::kFloat32, std::nullopt};
  if (kind == static_cast<uint8_t>(FeatureKind::kInt64)) return config::RawValues{config::DType::kInt64, std::nullopt};
  return std::nullopt;
}

// The features of all files, sorted, or the features that the user named.
class Features {
 public:
  explicit Features(const std::vector<std::string>& wanted) : is_open_(wanted.empty()) {
    for (const std::string& name : wanted) fields_.push_back({name, FieldKind::kFetched});
  }

  void add(const TableIndex& index, const std::string& path) {
    if (index.rows() == 0) return;
    for (size_t i = 0; i < index.columns.size(); ++i) add(index.columns[i], values_of_kind(index.kinds[i]), path);
    for (const Field& field : fields_) {
      const bool is_here = std::find(index.columns.begin(), index.columns.end(), field.name) != index.columns.end();
      if (!is_here)
        remarks_.add(path.substr(path.rfind('/') + 1) + ": its first records have no feature \"" +
                     config::printable(field.name) + "\".");
    }
  }

  std::vector<Field> take() {
    std::sort(fields_.begin(), fields_.end(), [](const Field& a, const Field& b) { return a.name < b.name; });
    return std::move(fields_);
  }
  const Remarks& remarks() const { return remarks_; }

 private:
  void add(const std::string& name, const std::optional<config::RawValues>& values, const std::string& path) {
    const auto same = [&](const Field& field) { return field.name == name; };
    const auto found = std::find_if(fields_.begin(), fields_.end(), same);
    const bool is_first = found == fields_.end();
    if (is_first && !is_open_) return;
    if (is_first) {
      if (name == config::kTableNameField)
        throw SetupError(Trouble::kUsage, path + " has a feature " + name +
                                              ", which is the name of the sample's name: "
                                              "give `features` without it.");
      fields_.push_back({name, FieldKind::kFetched, values});
      seen_.push_back(name);
    } else if (std::find(seen_.begin(), seen_.end(), name) == seen_.end()) {
      found->raw = values;
      seen_.push_back(name);
    } else if (found->raw != values) {
      found->raw.reset();
      remarks_.add("the feature \"" + config::printable(name) + "\" is of another kind in " + path + '.');
    }
    if (fields_.size() > kTableColumnsMax)
      throw SetupError(Trouble::kUsage, "the TFRecord files have more than " + std::to_string(kTableColumnsMax) +
                                            " features together: name some with features.");
  }

  const bool is_open_;
  std::vector<Field> fields_;
  std::vector<std::string> seen_;
  Remarks remarks_;
};

}  // namespace

std::unique_ptr<Listing> open_tfrecord(const SourceOpening& opening) {
  DataFiles files = find_data_files(opening.uris, kTfrecords, opening.places, opening.stop);
  const auto read = [&](store::View& view, const DataFile& file, std::atomic<uint64_t>& done) {
    return index_tfrecord(view, file.name, done, opening.stop);
  };
  std::vector<TableIndex> indexes =
      index_files(files, opening.indexing(kTfrecords, "tfrecord 3", "bytes of TFRecord files"),
                  packed_table_way(read, opening.stop));
  Features features(config::names_in(opening.text("features")));
  for (size_t i = 0; i < indexes.size(); ++i) features.add(indexes[i], files.files[i].name);
  std::vector<Field> fields = features.take();
  std::vector<std::string> names;
  std::vector<bool> are_numbers;
  for (const Field& field : fields) {
    names.push_back(field.name);
    are_numbers.push_back(field.raw.has_value());
  }
  return std::make_unique<IndexedRows>(std::move(files), std::move(indexes), std::move(fields),
                                       std::make_unique<ExampleRecords>(std::move(names), std::move(are_numbers)),
                                       "tfrecord", config::uris_text(opening.spec), features.remarks(),
                                       opening.access(kTfrecords));
}

}  // namespace spdld::source
