// Parquet files as a data set: their columns are fields.
#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <utility>

#include "config/catalogue.h"
#include "config/condition/condition.h"
#include "config/text/words.h"
#include "daemon/base/result.h"
#include "daemon/base/system/cpu.h"
#include "daemon/source/alternatives.h"
#include "daemon/source/files/data_files.h"
#include "daemon/source/fingerprint.h"
#include "daemon/source/listings.h"
#include "daemon/source/parquet/arrow_files.h"
#include "daemon/source/parquet/column_store.h"
#include "daemon/source/parquet/condition_rows.h"
#include "daemon/source/parquet/group_column.h"
#include "daemon/source/parquet/kept_footer.h"
#include "daemon/source/tables/table_listing.h"

namespace spdld::source {
namespace {

using parquet::Column;
using parquet::ColumnStore;
using parquet::Footer;
using parquet::ParquetTable;

constexpr FileKind kParquetFiles = {
    .noun = "file", .nouns = "Parquet files", .endings = ".parquet", .advice = "", .meant = "a Parquet file"};
constexpr unsigned kLocalThreads = 4, kRemoteThreads = 12;
constexpr std::string_view kMaskEnding = ".is_null";

config::RawValues values_of(const Column& column) {
  config::RawValues values;
  values.dtype = column.dtype;
  if (!column.is_list())
    values.shape.emplace();
  else
    values.shape = column.list_shape;
  return values;
}

class ParquetListing final : public TableListing {
 public:
  ParquetListing(DataFiles files, std::vector<Footer> footers, const SourceOpening& opening)
      : TableListing(std::move(files)), is_remote_(TableListing::store_concurrency() > 0) {
    const std::string what = config::uris_text(opening.spec);
    auto table = std::make_shared<ParquetTable>();
    table->columns = footers.front().columns;
    Fingerprint fingerprint;
    uint64_t spared = 0;
    fingerprint.add_text("parquet");
    choose_classes(footers, opening.wanted);
    for (size_t i = 0; i < footers.size(); ++i) {
      spared += footers[i].groups_spared;
      add_untaken(std::move(footers[i].untaken));
      groups_.push_back(std::move(footers[i].groups));
      for (const std::string& sentence : footers[i].lost) remarks_.add_missing(sentence);
      add_footer(i, std::move(footers[i]), *table);
      fingerprint.add_text(file_name(i));
      fingerprint.add_number(size() - first_of(i));
    }
    for (const Column& column : table->columns) {
      fingerprint.add_text(column.name);
      fingerprint.add_number(static_cast<uint64_t>(column.dtype));
    }
    fingerprint_ = fingerprint.digits();
    if (size() == 0) throw SetupError(Trouble::kUsage, what + " has no row.");
    tell_untaken(opening.text(config::kConditionKey), what,
                 "; statistics decided on " + std::to_string(spared) + " of " + std::to_string(table->groups.size()) +
                     " row groups, unread");
    table->rows = size();
    for (const parquet::Group& group : table->groups) group_starts_.push_back(group.first_row);
    table_ = std::move(table);
    open_store(opening, what);
  }

  Locator locate(uint64_t sample, FieldId field) const override {
    if (field >= objects_.size()) return {};
    const auto& file = table_->files[table_->groups[table_->group_of(sample)].file];
    return {
        .path = objects_[field], .offset = sample, .is_value = true, .store = store_.get(), .identity = file.identity};
  }
  bool may_lack(uint64_t, FieldId) const override { return false; }
  bool lacks(uint64_t, FieldId) const override { return false; }  // reading a value finds it out
  std::string group(uint64_t sample) const override {
    const size_t file = file_of(sample);
    return groups_[file].size() == 0 ? std::string() : std::string(groups_[file][sample - first_of(file)]);
  }
  uint64_t memory_bytes() const override {
    uint64_t group_bytes = 0;
    for (const TextColumn& groups : groups_) group_bytes += groups.memory_bytes();
    return group_bytes + table_->chunks.capacity() * sizeof(parquet::Chunk) +
           table_->groups.capacity() * sizeof(parquet::Group) + untaken_bytes();
  }
  std::span<const std::string> classes() const override { return classes_; }
  // An order reads row group after row group.
  std::span<const uint64_t> archive_starts() const override { return group_starts_; }
  unsigned store_concurrency() const override { return store_->concurrency(); }
  bool is_remote() const override { return is_remote_; }
  bool is_at_hand() const override { return true; }
  const Streaming* streaming() const override { return &streaming_; }
  void expect(uint64_t sample, uint64_t place, uint64_t horizon) const override {
    store_->expect(sample, place, horizon);
  }

 private:
  void add_footer(size_t number, Footer footer, ParquetTable& table) {
    const DataFile& data = file(number);
    table.files.push_back(data);
    for (const std::string& sentence : footer.left_out) remarks_.add(data.name + ": " + sentence);
    std::vector<size_t> from(table.columns.size(), footer.columns.size());
    for (size_t i = 0; i < table.columns.size(); ++i) from[i] = place_of(table.columns[i], footer, data.name);
    uint64_t rows = 0;
    for (size_t group = 0; group < footer.group_rows.size(); ++group) {
      table.groups.push_back(
          {static_cast<uint32_t>(number), static_cast<uint32_t>(group), size() + rows, footer.group_rows[group]});
      rows += footer.group_rows[group];
      for (const size_t place : from)
        table.chunks.push_back(place < footer.columns.size() ? footer.chunks[group * footer.columns.size() + place]
                                                             : parquet::Chunk());
    }
    add_file(rows);
  }

  // Names are of a single column: outputs may ask for one of several.
  void choose_classes(const std::vector<Footer>& footers, std::span<const std::string> wanted) {
    std::vector<const parquet::ClassLabels*> candidates;
    for (const parquet::ClassLabels& labels : footers.front().classes)
      if (wanted.empty() || std::any_of(wanted.begin(), wanted.end(),
                                        [&](const std::string& text) { return is_among(text, labels.column); }))
        candidates.push_back(&labels);
    if (candidates.size() > 1)
      remarks_.add("the columns " + candidates[0]->column + " and " + candidates[1]->column +
                   " both have names of classes, so info.classes has none: let outputs ask for one of them.");
    if (candidates.size() != 1) return;
    classes_ = candidates.front()->names;
    for (size_t i = 1; i < footers.size(); ++i)
      for (const parquet::ClassLabels& labels : footers[i].classes)
        if (labels.column == candidates.front()->column && labels.names != classes_)
          throw SetupError(Trouble::kUsage, file(i).name + ": the classes of its column " + labels.column +
                                                " have other names than in the first file.");
  }

  // The column's place in the file; the number of its columns: the file lacks it.
  size_t place_of(const Column& column, const Footer& footer, const std::string& name) {
    const auto found = std::find_if(footer.columns.begin(), footer.columns.end(),
                                    [&](const Column& other) { return other.name == column.name; });
    if (found != footer.columns.end() && !(*found == column))
      throw SetupError(Trouble::kUsage, name + ": its column " + column.name +
                                            " has another type than in the first file: all must have the same.");
    if (found == footer.columns.end())
      remarks_.add(name + " lacks the column " + column.name + " of the first file: its rows have nulls there.");
    return static_cast<size_t>(found - footer.columns.begin());
  }

  void open_store(const SourceOpening& opening, const std::string& what) {
    std::vector<ColumnStore::Field> stored;
    for (size_t i = 0; i < table_->columns.size(); ++i) {
      const Column& column = table_->columns[i];
      if (column.name == config::kTableNameField)
        throw SetupError(Trouble::kUsage, what + " has a column " + column.name +
                                              ": give it another name, for this one is the sample's.");
      stored.push_back({column.name, static_cast<uint32_t>(i), false});
      fields_.push_back(
          {column.name, FieldKind::kFetched, column.is_numeric() ? std::optional(values_of(column)) : std::nullopt});
    }
    add_masks(stored);
    for (const auto& field : stored) objects_.push_back(field.name);
    fields_.push_back({std::string(config::kTableNameField), FieldKind::kText});

    ColumnStore::Settings settings;
    settings.name = what;
    settings.bytes_max = streaming_.bytes_max = opening.spec.stream_bytes_max;
    settings.threads = is_remote_ ? kRemoteThreads : std::clamp(usable_cores().cores, 1u, kLocalThreads);
    settings.nulls.are_bad = opening.text("nulls") != "default";
    settings.nulls.number = opening.number("null_number", 0);
    settings.nulls.text = opening.text("null_text");
    settings.wanted = wanted_columns(stored, opening.wanted);
    for (size_t group = 0; group < table_->groups.size(); ++group)
      for (const size_t column : settings.wanted) streaming_.bytes += table_->chunk(group, column).unpacked_bytes;
    store_ = std::make_unique<ColumnStore>(table_, std::move(stored), parquet::make_chunk_reader(opening.places.bounds),
                                           std::move(settings));
  }

  // A column that may have nulls has a field that tells where.
  void add_masks(std::vector<ColumnStore::Field>& stored) {
    for (size_t i = 0; i < table_->columns.size(); ++i) {
      if (!table_->columns[i].is_nullable()) continue;
      const std::string name = table_->columns[i].name + std::string(kMaskEnding);
      if (find_field(name, nullptr) != nullptr) continue;  // it is a column
      stored.push_back({name, static_cast<uint32_t>(i), true});
      fields_.push_back({name, FieldKind::kFetched, config::RawValues{config::DType::kUint8, std::vector<int64_t>()}});
    }
  }

  // The columns of the fields that are wanted.
  static std::vector<size_t> wanted_columns(const std::vector<ColumnStore::Field>& stored,
                                            std::span<const std::string> wanted) {
    std::set<size_t> columns;
    for (const std::string& text : wanted)
      for (const auto& field : stored)
        if (is_among(text, field.name)) columns.insert(field.column);
    return {columns.begin(), columns.end()};
  }

  const bool is_remote_;
  std::shared_ptr<const ParquetTable> table_;
  std::vector<uint64_t> group_starts_;
  std::vector<std::string> classes_;
  std::vector<TextColumn> groups_;    // by file
  std::vector<std::string> objects_;  // by field
  std::unique_ptr<ColumnStore> store_;
  Streaming streaming_;
};

// The columns of the first file are the data set's.
void check_columns(const config::Condition& condition, const Footer& footer, const std::string& name) {
  for (const std::string& wanted : condition.columns()) {
    const auto has_name = [&](const Column& column) { return column.name == wanted; };
    if (std::any_of(footer.columns.begin(), footer.columns.end(), has_name)) continue;
    std::string has;
    for (size_t i = 0; i < footer.columns.size() && i < 16; ++i)
      has += (i == 0 ? "" : ", ") + config::printable(footer.columns[i].name);
    throw SetupError(Trouble::kUsage, name + " has no column \"" + config::printable(wanted) +
                                          "\", which source.where names; it has " + has + ".");
  }
}

}  // namespace

std::unique_ptr<Listing> open_parquet(const SourceOpening& opening) {
  DataFiles files = find_data_files(opening.uris, kParquetFiles, opening.places, opening.stop);
  const std::string where = opening.text(config::kConditionKey);
  const auto condition = config::checked_condition(where);  // none: all rows
  const std::string& groups = opening.spec.groups_column;
  const IndexWay<Footer> way = {
      [&](store::View& view, const DataFile& file, std::atomic<uint64_t>& done) {
        Footer footer = condition ? parquet::read_footer_and_rows(view, file.name, *condition,
                                                                  opening.spec.stream_bytes_max, opening.stop)
                                  : parquet::read_footer(view, file.name);
        if (!groups.empty())
          parquet::read_group_column(view, file.name, groups, opening.spec.stream_bytes_max, opening.stop, footer);
        done.fetch_add(view.size(), std::memory_order_relaxed);
        return footer;
      },
      [](const Footer& footer) { return parquet::kept_bytes_of(footer); },
      [](std::string_view kept, const DataFile& file) { return parquet::footer_in(kept, file.bytes); }};
  const std::string key = "parquet 3" + (condition ? '\n' + std::to_string(where.size()) + ' ' + where : "") +
                          (groups.empty() ? "" : "\ngroups " + groups);
  std::vector<Footer> footers = index_files(files, opening.indexing(kParquetFiles, key, "bytes of files"), way);
  if (condition) check_columns(*condition, footers.front(), files.files.front().name);
  return std::make_unique<ParquetListing>(std::move(files), std::move(footers), opening);
}

}  // namespace spdld::source
