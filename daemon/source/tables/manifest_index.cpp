#include "daemon/source/tables/manifest_index.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "config/catalogue.h"
#include "config/text/words.h"
#include "daemon/base/result.h"
#include "daemon/source/fingerprint.h"
#include "daemon/source/lists/weight_list.h"
#include "daemon/source/tables/condition_row.h"
#include "daemon/source/tables/reading/block_reader.h"

namespace spdld::source {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw SetupError(Trouble::kUsage, message); }

// A value of a row, with nothing left to decode; null: the row has none.
using Plain = std::optional<std::string>;

class ManifestIndexer {
 public:
  ManifestIndexer(BlockReader& reader, const std::string& path, ManifestFormat format, const ManifestColumns& columns)
      : reader_(reader), path_(path), format_(format), columns_(columns) {
    held_ = columns.files;
    if (!columns.key.empty()) held_.push_back(columns.key);
    if (!columns.groups.empty()) held_.push_back(columns.groups);
    index_.texts.resize(held_.size());
    if (!columns.weights.empty()) held_.push_back(columns.weights);  // held as numbers
    values_.resize(held_.size());
    if (columns.condition) condition_.emplace(*columns.condition, path_);
  }

  TableIndex run() {
    reader_.drop_byte_order_mark();
    if (format_ == ManifestFormat::kJsonLines) {
      read_lines();
    } else {
      read_header();
      while (read_csv()) {
      }
    }
    finish();
    return std::move(index_);
  }

 private:
  // ---- CSV

  // Reads the row at the front of the text into row_. False: there is none.
  bool next_csv() {
    while (true) {
      read_csv_row(reader_.text(), separator_of(format_), reader_.is_at_end(), row_);
      if (row_.state != CsvRow::State::kCut) return true;
      if (reader_.text().size() <= kManifestRowBytesMax && !reader_.is_at_end()) {
        reader_.more();
        continue;
      }
      if (reader_.text().empty()) return false;
      lose("begins a value in quotes that has no end: the rest of the file is lost", 0);
      return false;
    }
  }

  void read_header() {
    while (next_csv() && row_.values.empty()) pass(row_.bytes);
    if (row_.state == CsvRow::State::kBad || index_.remarks.missing().count > 0)
      refuse(path_ + ": its first line, which names the columns, is no row of CSV.");
    if (row_.values.empty()) refuse(path_ + " is empty: its first line must name the columns.");
    for (const CsvValue& value : row_.values) {
      std::string name(value.text.size(), '\0');
      name.resize(plain_csv(value, reinterpret_cast<uint8_t*>(name.data())));
      index_.columns.push_back(std::move(name));
    }
    check_columns();
    places_.resize(held_.size());
    for (size_t i = 0; i < held_.size(); ++i) places_[i] = column_of(held_[i]);
    if (!columns_.classes.empty()) class_place_ = column_of(columns_.classes);
    for (const std::string& name : columns_.base64) base64_places_.push_back(column_of(name));
    if (condition_)
      for (const std::string& name : columns_.condition->columns()) condition_places_.push_back(column_of(name));
    pass(row_.bytes);
  }

  bool read_csv() {
    if (!next_csv()) return false;
    if (row_.state == CsvRow::State::kBad) {
      lose("has text behind a closing quote", line_left());
      return true;
    }
    if (row_.values.empty()) {
      pass(row_.bytes);
      return true;
    }
    if (row_.values.size() != index_.columns.size()) {
      lose("has " + std::to_string(row_.values.size()) + " values, and the first line names " +
               std::to_string(index_.columns.size()) + " columns",
           row_.bytes);
      return true;
    }
    for (size_t i = 0; i < held_.size(); ++i) values_[i] = plain(row_.values[places_[i]]);
    class_ = columns_.classes.empty() ? Plain() : plain(row_.values[class_place_]);
    for (size_t i = 0; i < condition_places_.size(); ++i) condition_->take(i, row_.values[condition_places_[i]]);
    absent_.clear();
    for (const size_t place : base64_places_)
      if (row_.values[place].text.empty()) absent_.push_back(place);
    add_row(row_.bytes);
    return true;
  }

  static Plain plain(const CsvValue& value) {
    if (!value.has_doubled_quotes) return std::string(value.text);
    std::string text(value.text.size(), '\0');
    text.resize(plain_csv(value, reinterpret_cast<uint8_t*>(text.data())));
    return text;
  }

  // Up to the end of the line in which the bad row's fault is.
  uint64_t line_left() {
    for (uint64_t from = row_.bytes;;) {
      const size_t end = reader_.text().find('\n', from);
      if (end != std::string_view::npos) return end + 1;
      from = reader_.text().size();
      if (reader_.is_at_end() || from > kManifestRowBytesMax || !reader_.more()) return from;
    }
  }

  // ---- JSON lines

  void read_lines() {
    while (true) {
      const uint64_t bytes = next_line();
      if (bytes == 0) break;
      if (bytes > kManifestRowBytesMax) {
        lose("is a line of more than " + std::to_string(kManifestRowBytesMax) + " bytes: the rest of the file is lost",
             0);
        break;
      }
      std::string_view line = reader_.text().substr(0, bytes);
      if (line.find_first_not_of(" \t\r\n") == std::string_view::npos) {
        pass(bytes);
      } else if (read_table(line)) {
        add_row(bytes);
      } else {
        lose("is no table of JSON, such as {\"name\": \"value\"}", bytes);
      }
    }
    check_columns();
    for (const std::string& name : held_) column_of(name);
    for (const std::string& name : columns_.base64) column_of(name);
    if (!columns_.classes.empty()) column_of(columns_.classes);
    if (condition_)
      for (const std::string& name : columns_.condition->columns()) column_of(name);
  }

  uint64_t next_line() {
    for (size_t from = 0;;) {
      const size_t end = reader_.text().find('\n', from);
      if (end != std::string_view::npos) return end + 1;
      from = reader_.text().size();
      if (reader_.is_at_end() || from > kManifestRowBytesMax || !reader_.more()) return reader_.text().size();
    }
  }

  bool read_table(std::string_view line) {
    for (Plain& value : values_) value.reset();
    class_.reset();
    found_.clear();
    if (condition_) condition_->clear();
    return for_each_entry_of(line, [&](const JsonValue& key, const JsonValue& value) {
      const auto name = plain_text(key);
      return name && take_entry(*name, value);
    });
  }

  bool take_entry(const std::string& name, const JsonValue& value) {
    Plain text;
    const bool is_null = value.kind == JsonKind::kNull;
    const auto wants_text = [&] {
      if (!is_null && !text) text = plain_text(value);
      return is_null || text;
    };
    for (size_t i = 0; i < held_.size(); ++i) {
      if (held_[i] != name) continue;
      if (!wants_text()) return false;
      values_[i] = text;
    }
    if (name == columns_.classes) {
      if (!wants_text()) return false;
      class_ = text;
    }
    if (condition_) {
      const auto names = columns_.condition->columns();
      const auto place = std::find(names.begin(), names.end(), name);
      if (place != names.end()) condition_->take(static_cast<size_t>(place - names.begin()), value);
    }
    const auto place = known_.find(name);
    size_t column = 0;
    if (place != known_.end()) {
      column = place->second;
    } else {
      column = known_.emplace(name, index_.columns.size()).first->second;
      index_.columns.push_back(name);
      index_.absent.emplace_back().add_all(0, index_.rows());
      if (index_.columns.size() > kTableColumnsMax) check_columns();
    }
    found_.emplace_back(column, is_null);
    return true;
  }

  // Notes the columns that the row lacks, among the columns that are known by now.
  void note_absent() {
    present_.assign(index_.columns.size(), 0);
    for (const auto& [column, is_null] : found_) present_[column] = is_null ? 0 : 1;
    for (size_t column = 0; column < present_.size(); ++column)
      if (present_[column] == 0) absent_.push_back(column);
  }

  // ---- both

  void check_columns() const {
    const auto& names = index_.columns;
    if (names.size() > kTableColumnsMax)
      refuse(path_ + " has more than " + std::to_string(kTableColumnsMax) + " columns.");
    std::vector<std::string_view> sorted(names.begin(), names.end());
    std::sort(sorted.begin(), sorted.end());
    if (std::binary_search(sorted.begin(), sorted.end(), config::kTableNameField))
      refuse(path_ + " has a column " + std::string(config::kTableNameField) +
             ": give it another name, for this one is the sample's.");
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end())
      refuse(path_ + " has two columns \"" + config::printable(*twice) + "\": give one of them another name.");
  }

  size_t column_of(const std::string& name) const {
    const auto& names = index_.columns;
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) return static_cast<size_t>(found - names.begin());
    if (names.empty()) return 0;  // a file without a row is told about as a whole
    std::string has;
    for (size_t i = 0; i < names.size() && i < 16; ++i) has += (i == 0 ? "" : ", ") + config::printable(names[i]);
    refuse(path_ + " has no column \"" + config::printable(name) + "\"; it has " + has + ".");
  }

  // Adds the row at the front of the text.
  void add_row(uint64_t bytes) {
    if (bytes > kManifestRowBytesMax)
      return lose("has more than " + std::to_string(kManifestRowBytesMax) + " bytes", bytes);
    if (!columns_.key.empty() && !has_text(values_[columns_.files.size()]))
      return lose("has no text in the column " + columns_.key + ", which names the samples", bytes);
    if (!columns_.classes.empty() && !has_text(class_))
      return lose("has no value in the column " + columns_.classes + ", which is the sample's class", bytes);
    for (size_t i = 0; i < held_.size(); ++i)
      if (values_[i] && values_[i]->find('\0') != std::string::npos)
        return lose("has a NUL in the column " + held_[i], bytes);
    if (format_ == ManifestFormat::kJsonLines) {
      absent_.clear();
      note_absent();
    }
    const uint64_t row = index_.rows();
    index_.absent.resize(index_.columns.size());
    for (const size_t column : absent_) index_.absent[column].add(row);
    for (size_t i = 0; i < index_.texts.size(); ++i) index_.texts[i].add(values_[i].value_or(std::string()));
    if (!columns_.weights.empty()) index_.weights.push_back(weight_of(values_.back()));
    if (!columns_.classes.empty()) index_.class_of.push_back(class_number(*class_));
    if (condition_ && !condition_->is_taken(row)) index_.untaken.add(row);
    index_.add_row(reader_.offset(), bytes);
    pass(bytes);
  }

  static bool has_text(const Plain& value) { return value && !value->empty(); }

  double weight_of(const Plain& value) const {
    if (!has_text(value)) return kNoWeight;
    const std::optional<double> weight = sample_weight_in(*value);
    if (weight) return *weight;
    refuse(path_ + ", row " + std::to_string(index_.rows()) + ": the column \"" + config::printable(columns_.weights) +
           "\" has " + config::printable(*value, 40) + ", and a weight must be " + std::string(kSampleWeightRule) +
           '.');
  }

  uint32_t class_number(const std::string& text) {
    const auto known = class_numbers_.find(text);
    if (known != class_numbers_.end()) return known->second;
    const auto number = static_cast<uint32_t>(index_.classes.size());
    class_numbers_.emplace(text, number);
    index_.classes.push_back(text);
    if (index_.classes.size() > kClassesMax)
      refuse(path_ + ": the column \"" + config::printable(columns_.classes) + "\" has more than " +
             std::to_string(kClassesMax) + " distinct texts: is it the classes' column?");
    return number;
  }

  void pass(uint64_t bytes) {
    content_.add(reader_.text().substr(0, bytes));
    reader_.drop(bytes);
  }

  // A row that is no row.
  void lose(const std::string& what, uint64_t bytes) {
    index_.remarks.add_missing(path_.substr(path_.rfind('/') + 1) + ": the row at byte " +
                               std::to_string(reader_.offset()) + ", behind row " + std::to_string(index_.rows()) +
                               ", " + config::printable(what, 300) + '.');
    pass(bytes);
  }

  void finish() {
    index_.absent.resize(index_.columns.size());
    index_.fit();
    index_.content = content_.digits();
  }

  BlockReader& reader_;
  const std::string& path_;
  const ManifestFormat format_;
  const ManifestColumns& columns_;
  std::vector<std::string> held_;  // columns whose texts are held
  std::vector<size_t> places_, base64_places_, condition_places_;
  size_t class_place_ = 0;
  std::unordered_map<std::string, size_t> known_;  // JSON's columns
  std::unordered_map<std::string, uint32_t> class_numbers_;
  TableIndex index_;
  Fingerprint content_;
  // Of the row that is being read.
  CsvRow row_;
  std::vector<Plain> values_;  // of held_
  Plain class_;
  std::vector<size_t> absent_;
  std::vector<std::pair<size_t, bool>> found_;  // JSON's columns, and whether they are null
  std::vector<uint8_t> present_;
  std::optional<ConditionRow> condition_;
};

}  // namespace

TableIndex index_manifest(store::View& file, const std::string& path, ManifestFormat format,
                          const ManifestColumns& columns, std::atomic<uint64_t>& done, const std::stop_token& stop) {
  BlockReader reader(file, done, stop);
  return ManifestIndexer(reader, path, format, columns).run();
}

}  // namespace spdld::source
