// Manifests as a data set: rows of CSV, TSV or JSON lines, whose columns are fields.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "config/catalogue.h"
#include "config/text/words.h"
#include "daemon/base/result.h"
#include "daemon/source/alternatives.h"
#include "daemon/source/fingerprint.h"
#include "daemon/source/folders/class_list.h"
#include "daemon/source/listings.h"
#include "daemon/source/tables/manifest_index.h"
#include "daemon/source/tables/named_files.h"
#include "daemon/source/tables/table_listing.h"

namespace spdld::source {
namespace {

constexpr FileKind kManifests = {.noun = "manifest",
                                 .nouns = "manifests",
                                 .endings = "",
                                 .advice = "",
                                 .meant = "a manifest",
                                 .may_be_packed = true};
constexpr std::string_view kClassField = "class";
constexpr uint32_t kNoClass = UINT32_MAX;
constexpr size_t kUnlistedShown = 5;

ManifestFormat format_of(std::string_view path, const std::string& wanted) {
  path = content_name(path);
  constexpr std::array<std::string_view, 3> kLines = {".jsonl", ".ndjson", ".json"};
  if (wanted == "csv") return ManifestFormat::kCsv;
  const bool is_free = wanted.empty() || wanted == "auto";
  if (wanted == "tsv" || (is_free && path.ends_with(".tsv"))) return ManifestFormat::kTsv;
  const bool has_ending = std::any_of(kLines.begin(), kLines.end(), [&](auto end) { return path.ends_with(end); });
  return wanted == "jsonl" || (is_free && has_ending) ? ManifestFormat::kJsonLines : ManifestFormat::kCsv;
}

class Manifest final : public TableListing {
 public:
  Manifest(DataFiles files, std::vector<TableIndex> indexes, const std::string& wanted_format, ManifestColumns columns,
           std::optional<ClassList> classes, const SourceOpening& opening)
      : TableListing(std::move(files)),
        columns_(std::move(columns)),
        indexes_(std::move(indexes)),
        stores_(opening.places),
        list_(std::move(classes)) {
    const std::string where = opening.text(config::kConditionKey), what = config::uris_text(opening.spec);
    make_fields();
    Fingerprint fingerprint;
    fingerprint.add_text("manifest");
    for (const auto* names : {&columns_.files, &columns_.base64})
      for (const std::string& name : *names) fingerprint.add_text(name);
    fingerprint.add_text(columns_.classes);
    fingerprint.add_text(columns_.key);
    for (size_t i = 0; i < indexes_.size(); ++i) {
      TableIndex& index = indexes_[i];
      add_untaken(std::move(index.untaken));
      add_file(index, fingerprint);
      add_rows(index, i, format_of(file(i).name, wanted_format), opening.stop);
    }
    if (list_)
      for (const auto* texts : {&list_->labels(), &list_->names()})
        for (const std::string& text : *texts) fingerprint.add_text(text);
    fingerprint_ = fingerprint.digits();
    tell_untaken(where, what);
    store_concurrency_ = std::max(store_concurrency_, stores_.concurrency());
    if (!columns_.classes.empty()) number_classes();
    open_streams(opening.access(kManifests), reads_rows(opening.wanted));
  }

  Locator locate(uint64_t sample, FieldId field) const override {
    if (field >= columns_of_fields_) return {};
    const size_t file = file_of(sample);
    const uint64_t row = sample - first_of(file);
    if (const auto named = named_[field]) return files_[file].named[*named].locate(row);
    if (lacks_value(file, row, field)) return {};
    const auto [offset, length] = indexes_[file].places[row];
    Locator locator = place_in(file, offset, length);
    locator.packing = files_[file].rows.get();
    locator.packed = field;
    return locator;
  }
  bool lacks(uint64_t sample, FieldId field) const override {
    if (field >= columns_of_fields_) return false;
    const size_t file = file_of(sample);
    const uint64_t row = sample - first_of(file);
    const auto named = named_[field];
    return named ? files_[file].named[*named].lacks(row) : lacks_value(file, row, field);
  }
  bool has_weights() const override { return !columns_.weights.empty(); }
  double weight(uint64_t sample) const override {
    const size_t file = file_of(sample);
    return indexes_[file].weights[sample - first_of(file)];
  }
  int64_t integer(uint64_t sample, FieldId) const override {
    const size_t file = file_of(sample);
    const uint32_t number = indexes_[file].class_of[sample - first_of(file)];
    return number == kNoClass ? -1 : int64_t{number};
  }
  std::string name(uint64_t sample) const override {
    if (columns_.key.empty()) return TableListing::name(sample);
    const size_t file = file_of(sample);
    return name_of(file, indexes_[file].texts[columns_.files.size()][sample - first_of(file)]);
  }
  std::string group(uint64_t sample) const override {
    if (columns_.groups.empty()) return {};
    const size_t file = file_of(sample);
    return std::string(indexes_[file].texts.back()[sample - first_of(file)]);
  }
  uint64_t memory_bytes() const override {
    uint64_t bytes = untaken_bytes();
    for (const TableIndex& index : indexes_) bytes += index.memory_bytes();
    for (const File& file : files_)
      for (const NamedFiles& named : file.named) bytes += named.memory_bytes();
    return bytes;
  }
  std::span<const std::string> classes() const override { return classes_; }
  bool unchanged() const override { return TableListing::unchanged() && (!list_ || list_->stamps.unchanged()); }

 private:
  struct File {
    std::unique_ptr<const store::Packing> rows = {};
    std::vector<std::optional<size_t>> columns = {};  // by field: its column here
    std::vector<NamedFiles> named = {};               // of the columns of files, in their order
  };

  // Whether an output asks for a column that stays in the files: names, classes and weights are held in memory.
  bool reads_rows(std::span<const std::string> wanted) const {
    if (wanted.empty()) return true;
    for (size_t i = 0; i < columns_of_fields_; ++i)
      if (!named_[i] && std::any_of(wanted.begin(), wanted.end(),
                                    [&](const std::string& text) { return source::is_among(text, fields_[i].name); }))
        return true;
    return false;
  }

  RowPlaces::Place row_of(size_t number, uint64_t row) const override { return indexes_[number].places[row]; }

  static bool is_among(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  // The columns of all files, in the order of their first appearance; then class, and the name.
  void make_fields() {
    for (const TableIndex& index : indexes_) {
      for (const std::string& column : index.columns) {
        const bool is_hidden = column == kClassField && !columns_.classes.empty();
        if (!is_hidden && find_field(column, nullptr) == nullptr) fields_.push_back({column, FieldKind::kFetched});
      }
      if (fields_.size() > kTableColumnsMax)
        throw SetupError(Trouble::kUsage,
                         "the manifests have more than " + std::to_string(kTableColumnsMax) + " columns together.");
    }
    columns_of_fields_ = fields_.size();
    for (const Field& field : fields_) {
      const auto& files = columns_.files;
      const auto place = std::find(files.begin(), files.end(), field.name);
      named_.push_back(place == files.end() ? std::nullopt : std::optional(static_cast<size_t>(place - files.begin())));
    }
    if (!columns_.classes.empty()) fields_.push_back({std::string(kClassField), FieldKind::kInteger});
    fields_.push_back({std::string(config::kTableNameField), FieldKind::kText});
  }

  // Takes the texts of the columns of files.
  void add_rows(TableIndex& index, size_t number, ManifestFormat format, const std::stop_token& stop) {
    File& file = files_.emplace_back();
    for (size_t i = 0; i < columns_.files.size(); ++i) {
      const TextColumn texts = std::move(index.texts[i]);  // ends here, with its memory
      file.named.emplace_back(texts, TableListing::file(number), columns_.files[i], stores_, stop);
    }
    std::vector<ManifestField> fields;
    for (size_t i = 0; i < columns_of_fields_; ++i) {
      const std::string& name = fields_[i].name;
      const auto place = std::find(index.columns.begin(), index.columns.end(), name);
      std::optional<size_t> column;
      if (place != index.columns.end()) column = static_cast<size_t>(place - index.columns.begin());
      file.columns.push_back(column);
      fields.push_back({name, is_among(columns_.base64, name), column});
    }
    if (format == ManifestFormat::kJsonLines) {
      file.rows = std::make_unique<JsonRows>(std::move(fields));
    } else {
      file.rows = std::make_unique<CsvRows>(separator_of(format), index.columns.size(), std::move(fields));
    }
  }

  bool lacks_value(size_t file, uint64_t row, FieldId field) const {
    const auto column = files_[file].columns[field];
    return !column || indexes_[file].absent[*column].has(row);
  }

  void number_classes() {
    if (!list_) unite_classes();
    UnlistedRows unlisted;
    for (size_t file = 0; file < indexes_.size(); ++file) {
      TableIndex& index = indexes_[file];
      std::vector<uint32_t> numbers;
      for (const std::string& name : index.classes) numbers.push_back(number_of(name));
      for (uint64_t row = 0; row < index.class_of.size(); ++row) {
        uint32_t& number = index.class_of[row];
        if (numbers[number] == kNoClass) leave_out_unlisted(file, row, index.classes[number], unlisted);
        number = numbers[number];
      }
      index.classes = {};
    }
    if (!list_) return;
    classes_ = list_->names();
    if (unlisted.rows == 0) return;
    remarks_.add_missing(list_->what() + " does not name the classes of " + std::to_string(unlisted.rows) +
                         (unlisted.rows == 1 ? " row, which is" : " rows, which are") +
                         " left out; of the texts in the column \"" + config::printable(columns_.classes) + "\", " +
                         first_texts(unlisted.texts) + '.');
  }

  // Without a list they are all texts, sorted.
  void unite_classes() {
    for (const TableIndex& index : indexes_)
      classes_.insert(classes_.end(), index.classes.begin(), index.classes.end());
    std::sort(classes_.begin(), classes_.end());
    classes_.erase(std::unique(classes_.begin(), classes_.end()), classes_.end());
    if (classes_.size() > kClassesMax)
      throw SetupError(Trouble::kUsage, "the manifests' column \"" + columns_.classes + "\" has more than " +
                                            std::to_string(kClassesMax) +
                                            " distinct texts: is it the classes' column?");
  }

  uint32_t number_of(const std::string& name) const {
    if (list_) return list_->number_of(name).value_or(kNoClass);
    return static_cast<uint32_t>(std::lower_bound(classes_.begin(), classes_.end(), name) - classes_.begin());
  }

  // Rows whose text is not in the list.
  struct UnlistedRows {
    uint64_t rows = 0;
    std::vector<std::string> texts = {};  // the first ones, each once
  };
  void leave_out_unlisted(size_t file, uint64_t row, const std::string& text, UnlistedRows& unlisted) {
    if (is_untaken(first_of(file) + row)) return;  // by the source's condition
    leave_out(file, row);
    ++unlisted.rows;
    if (unlisted.texts.size() < kUnlistedShown && !is_among(unlisted.texts, text)) unlisted.texts.push_back(text);
  }

  const ManifestColumns columns_;
  std::vector<TableIndex> indexes_;  // of the files
  NamedStores stores_;
  const std::optional<ClassList> list_;
  std::vector<File> files_;
  size_t columns_of_fields_ = 0;              // fields_ begins with so many columns
  std::vector<std::optional<size_t>> named_;  // by field: the place among the columns of files
  std::vector<std::string> classes_;
};

}  // namespace

std::unique_ptr<Listing> open_manifest(const SourceOpening& opening) {
  const std::string format = opening.text("format");
  ManifestColumns columns{config::names_in(opening.text("files")),
                          config::names_in(opening.text("base64")),
                          opening.text("class"),
                          opening.text("key"),
                          opening.spec.groups_column,
                          opening.spec.weights_column};
  const std::string where = opening.text(config::kConditionKey);
  columns.condition = config::checked_condition(where);
  std::optional<ClassList> classes = read_class_list(opening.spec.classes, opening.places.bounds.get());
  std::string key = "manifest 3\n" + format;
  for (const std::string_view name : {"files", "base64", "class", "key"}) key += '\n' + opening.text(name);
  key += '\n' + columns.weights + '\n' + std::to_string(where.size()) + ' ' + where;
  if (!columns.groups.empty()) key += "\ngroups " + columns.groups;
  DataFiles files = find_data_files(opening.uris, kManifests, opening.places, opening.stop);
  const auto read = [&](store::View& view, const DataFile& file, std::atomic<uint64_t>& done) {
    return index_manifest(view, file.name, format_of(file.name, format), columns, done, opening.stop);
  };
  std::vector<TableIndex> indexes = index_files(
      files, opening.indexing(kManifests, std::move(key), "bytes of manifests"), packed_table_way(read, opening.stop));
  uint64_t rows = 0;
  std::string why;
  for (const TableIndex& index : indexes) {
    rows += index.rows();
    if (why.empty() && !index.remarks.all().first.empty()) why = " (" + index.remarks.all().first.front() + ")";
  }
  if (rows == 0) throw SetupError(Trouble::kUsage, config::uris_text(opening.spec) + " has no row" + why + ".");
  return std::make_unique<Manifest>(std::move(files), std::move(indexes), format, std::move(columns),
                                    std::move(classes), opening);
}

}  // namespace spdld::source
