// What the checks of pipelines and of the daemon's file share: complaints are gathered, tables are read key by key
// against Parameters, keys nobody knows are refused. A wrong value gives a complaint and a stand-in, so that the check
// goes on and finds the other errors; whoever gets complaints throws the stand-ins away. Any thread; not shared.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/catalogue.h"
#include "config/document.h"
#include "config/load.h"

namespace spdld::config {

constexpr size_t kComplaintsMax = 100;

// A table, or another place of a file, and the keys that it may have.
struct KeyPlace {
  enum class Kind : uint8_t { kTable, kOperation, kOtherFile };
  Kind kind;
  std::string where;  // "in [batch]"
  std::vector<std::string> keys;
};

// Of a pipeline's file and of the daemon's, each with the other's places behind its own.
std::span<const KeyPlace> pipeline_places();
std::span<const KeyPlace> daemon_places();
// "in [batch]" for a key that is known there; empty: it is known nowhere.
std::string place_of_key(std::span<const KeyPlace> places, std::string_view key);

class Complaints {
 public:
  // `places`: where keys that stand at the wrong place may belong.
  explicit Complaints(std::string file, std::span<const KeyPlace> places = {})
      : file_(std::move(file)), places_(places) {}

  void add(int line, std::string key, std::string text);
  bool empty() const { return complaints_.empty(); }
  size_t size() const { return complaints_.size(); }
  const std::string& file() const { return file_; }
  std::span<const KeyPlace> places() const { return places_; }
  std::vector<Complaint> take();  // in the order of the lines

 private:
  std::string file_;
  std::span<const KeyPlace> places_;
  std::vector<Complaint> complaints_;
};

std::string in_quotes(std::string_view text);  // as it may stand in a message: "text"

// ' (did you mean "scale"?)', or nothing where none is near.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> known);

std::string joined(std::span<const std::string_view> words);  // "a", "b", "c"

// 1 to 64 letters, digits (ASCII) and characters of `also`.
bool is_word(std::string_view text, std::string_view also);
bool is_digits(std::string_view text);  // 1 to 9 of them
// A text for messages and paths alike has no use for control characters, and a C interface ends at a NUL.
bool is_plain(std::string_view text);

class TableReader {
 public:
  // `node` is a table (any other is complained about, once, and read as an empty one); `key` is its dotted name, "" for
  // the root. All three must outlive the reader.
  TableReader(const Node& node, std::string key, std::span<const Parameter> known, Complaints& complaints);

  const Node* find(std::string_view name) const { return node_.find(name); }
  std::string key(std::string_view name) const;
  int line(std::string_view name) const;  // the entry's, or the table's where it is missing
  int line() const { return node_.line; }

  // The checked value of a known parameter, or its default; a stand-in after a complaint.
  Value value(std::string_view name) const;
  bool flag(std::string_view name) const { return std::get<bool>(value(name)); }
  int64_t integer(std::string_view name) const { return std::get<int64_t>(value(name)); }
  double number(std::string_view name) const { return std::get<double>(value(name)); }
  std::string text(std::string_view name) const { return std::get<std::string>(value(name)); }
  // None: the parameter's word stands there ("auto").
  std::optional<int64_t> integer_or_word(std::string_view name) const;
  // None where it is missing or was complained about: there is nothing to check further.
  std::optional<std::string> given_text(std::string_view name) const;
  // Of a kTexts. Elements that are no texts or not plain are complained about and left out.
  std::vector<std::string> texts(std::string_view name) const;
  // All known parameters, by name.
  Parameters values() const;

  // Complains about every key that is neither a known parameter nor one of `others`.
  void refuse_unknown(std::span<const std::string_view> others = {}) const;

  void complain(std::string_view name, std::string text) const;  // about one of its entries
  Complaints& complaints() const { return complaints_; }

 private:
  Value checked(const Parameter& parameter, const Node& node) const;

  const Node& node_;
  std::string key_;
  std::span<const Parameter> known_;
  Complaints& complaints_;
};

constexpr size_t kSourcesMax = 64;

// [source]; relative uris are taken from `folder`.
SourceSpec check_source(const Node& node, const std::filesystem::path& folder, Complaints& complaints);
// [[sources]]: two or more, whose keys are those of [source] and some of their own.
std::vector<SourceSpec> check_sources(const Node& node, MixRule mix, const std::filesystem::path& folder,
                                      Complaints& complaints);

// The absolute path that a uri (a path, or file:///...) means, or what is wrong with it.
struct LocalPath {
  std::string path;
  std::string error;
};
LocalPath local_path_of(const std::string& uri, const std::filesystem::path& folder);

// `from` of an output: sets output.from. Gives what the field gives; none where there is no such field, or the type of a
// source is not known (nullptr).
using SourceTypes = std::vector<const SourceType*>;  // of all sources
std::optional<Flow> check_from(const TableReader& reader, const SourceTypes& sources, OutputSpec& output);

// The keys of a pipeline's tables. Those of an operation and of a type of source stand in the catalogue.
const std::vector<Parameter>& top_keys();
const std::vector<Parameter>& source_keys();
const std::vector<Parameter>& named_source_keys();  // what a table of [[sources]] has beside those of [source]
const std::vector<Parameter>& output_keys();
const std::vector<Parameter>& order_keys();
const std::vector<Parameter>& batch_keys();

// The tables of the daemon's file, in its order.
struct DaemonSection {
  std::string_view name;
  std::vector<Parameter> keys;
};
std::span<const DaemonSection> daemon_sections();

// include, exclude and first: of [order], or of one of [[sources]].
const std::vector<Parameter>& selection_keys();
// Paths of lists are taken from `folder`.
Selection check_selection(const TableReader& reader, const std::filesystem::path& folder);

// [order] and [batch]; relative paths of lists are taken from `folder`.
OrderSpec check_order(const Node& node, const std::filesystem::path& folder, Complaints& complaints);
BatchSpec check_batch(const Node& node, Complaints& complaints);
// What of [order] does not go with one source ([source]) or with several ([[sources]]).
void check_order_of(bool several, const Node& node, Complaints& complaints);

// The two checks behind load.h.
Loaded<PipelineSpec> check_pipeline(const Node& root, const std::string& origin, const std::filesystem::path& folder);
Loaded<DaemonSettings> check_daemon(const Node& root, const std::string& origin);

}  // namespace spdld::config
