// Shared by the checks of pipelines and the checks of the daemon's file: they gather complaints, read tables key by key
// against Parameters, and refuse unknown keys. A wrong value gives a complaint and a stand-in, so that the check goes
// on and finds the other errors; a caller that gets complaints throws the stand-ins away. Any thread; not shared.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/catalogue.h"
#include "config/checks/document.h"
#include "config/checks/load.h"
#include "config/text/words.h"

namespace spdld::config {

constexpr size_t kComplaintsMax = 100;

// Whose keys they are.
enum class KeyOwner : uint8_t { kTable, kOperation, kOtherFile };

// A table, or another place of a file, and the keys that it may have.
struct KeyPlace {
  KeyOwner owner;
  std::string where;  // "in [batch]"
  std::vector<std::string> keys;
};

// The places of a pipeline's file and of the daemon's file. Each list has the other file's places after its own.
std::span<const KeyPlace> pipeline_places();
std::span<const KeyPlace> daemon_places();
// Says where `key` is known ("in [batch]"); empty: no place knows it.
std::string place_of_key(std::span<const KeyPlace> places, std::string_view key);

class Complaints {
 public:
  // `places`: where keys that stand at the wrong place may belong.
  explicit Complaints(std::string file, std::span<const KeyPlace> places = {})
      : file_(std::move(file)), places_(places) {}

  void add(int line, std::string key, std::string text);
  bool empty() const { return complaints_.empty(); }
  bool has(std::string_view key) const;         // there is one about this key
  bool has_inside(std::string_view key) const;  // there is one about a key inside of this key's table
  size_t size() const { return complaints_.size(); }
  const std::string& file() const { return file_; }
  std::span<const KeyPlace> places() const { return places_; }
  std::vector<Complaint> take();  // in the order of the lines

 private:
  std::string file_;
  std::span<const KeyPlace> places_;
  std::vector<Complaint> complaints_;
};

class TableReader {
 public:
  // `node` is a table (any other value is complained about once, and read as an empty table); `key` is its dotted name,
  // "" for the root. All three must outlive the reader.
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
  // None: the file has the parameter's word instead of a number ("auto").
  std::optional<int64_t> integer_or_word(std::string_view name) const;
  // The text; none where it is missing or was complained about, so that there is nothing more to check.
  std::optional<std::string> given_text(std::string_view name) const;
  // The list of a kTexts parameter. Elements that are no texts or not plain are complained about and left out.
  std::vector<std::string> texts(std::string_view name) const;
  // All known parameters that are Values, by name.
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

// Checks the table of a kValueType. None: it has a fault.
struct ValueType;
struct NamedValueType;
std::optional<ValueType> check_value_type(const Node& node, const std::string& key, Complaints& complaints);
// Checks the table of a kValueTypes. They come in the order of their names; one with a fault is left out.
std::vector<NamedValueType> check_value_types(const Node& node, const std::string& key, Complaints& complaints);

constexpr size_t kSourcesMax = 64;

// Checks [source]. Relative uris are taken from `folder`.
SourceSpec check_source(const Node& node, const std::filesystem::path& folder, Complaints& complaints);
// Checks [[sources]]: two or more tables. Each may have the keys of [source] and some keys of its own.
std::vector<SourceSpec> check_sources(const Node& node, MixRule mix, const std::filesystem::path& folder,
                                      Complaints& complaints);

// Checks `from` of an output and sets output.from. Returns what the field gives; none where there is no such field, or
// where the type of a source is not known (its text is empty, or there is no source).
using Sources = std::span<const SourceSpec>;  // all of them
std::optional<Signature> check_from(const TableReader& reader, Sources sources, OutputSpec& output,
                                    const RowsSpec& rows = {});
// Checks an output's keys for samples that differ in length. None: the form that was meant is not known.
std::optional<VaryingSpec> check_varying(const TableReader& reader);
// The tensors that stand beside such an output, each with the key that it comes from.
struct NamedTensor {
  std::string_view key;
  std::string name;
};
std::vector<NamedTensor> further_tensors(const TableReader& reader, const OutputSpec& output);
// Complains where the samples that the chain gives have no bound, or too large a one. `end`: of a chain without error.
void check_bound(const TableReader& reader, const VaryingSpec& varying, const Signature& end);
// Complains about more tensors than a batch may have. `line`: of the outputs.
void refuse_too_many_tensors(const PipelineSpec& spec, int line, Complaints& complaints);
// Checks an operation that stands in `depth` - 1 others, with the operations that it holds. Its relative paths are
// taken from `folder`. None: it is not known which operation is meant, which one it holds, or what it gives; the rest
// of the chain can't be checked.
std::optional<OperationSpec> check_operation(const Node& node, const std::string& key,
                                             const std::filesystem::path& folder, Complaints& complaints,
                                             int depth = 1);
// How many operations it is, together with all operations that it holds.
size_t count_of(const OperationSpec& spec);
// Names the random numbers of the operations of a chain that hold others, and of the operations that they hold, where
// their `draw` is empty: no two of them draw alike. False: a name is too long.
bool name_draws(std::span<OperationSpec> ops);
// Checks all [[output]] tables; `node` is their list, null where there is none. Relative paths of operations are taken
// from `folder`.
std::vector<OutputSpec> check_outputs(const Node* node, Sources sources, const RowsSpec& rows, bool has_mask,
                                      const std::filesystem::path& folder, Complaints& complaints);
// The outputs with each one's copies in its place (`copies`). `list`: the tables of the outputs. Precondition: there
// was no complaint.
std::vector<OutputSpec> with_copies(const Node& list, std::vector<OutputSpec> outputs, Complaints& complaints);
// Checks [rows]; a stand-in after complaints.
RowsSpec check_rows(const Node& node, Sources sources, Complaints& complaints);
// Checks what the rest of the pipeline says beside [rows], or says though there is no [rows], and lets rows that are
// clips have the frames that outputs say. `line`: of [rows].
void check_beside_rows(PipelineSpec& spec, int line, Complaints& complaints);
// Reads `view` of an output.
std::string check_view_name(const TableReader& reader);
// Complains about views that lack a leader or have two, and about outputs that do not fit their view. `list`: the
// tables of the outputs. Precondition: all operations of the outputs are known.
void check_views(const std::vector<OutputSpec>& outputs, const Node& list, Complaints& complaints);
// Complains about operations that keep pictures from being cached decoded, for a pipeline that asks for that.
void refuse_hindrances(const std::vector<OutputSpec>& outputs, Complaints& complaints);

// The keys of a pipeline's tables. The catalogue has the keys of operations and of types of source.
const std::vector<Parameter>& top_keys();
const std::vector<Parameter>& source_keys();
const std::vector<Parameter>& named_source_keys();  // keys of a table of [[sources]], beside the keys of [source]
const std::vector<Parameter>& output_keys();
const std::vector<Parameter>& varying_keys();  // the part of them for samples that differ in length
const std::vector<Parameter>& rows_keys();
const std::vector<Parameter>& order_keys();
const std::vector<Parameter>& batch_keys();
const std::vector<Parameter>& python_keys();

// Reads `users` and `groups` of a table of the daemon's file.
struct Allowed;
Allowed check_allowed(const TableReader& reader);
// Checks one table of [[data.stores]], whose keys are store_keys().
struct StoreSettings;
StoreSettings check_store(const Node& node, const std::string& key, Complaints& complaints);
const std::vector<Parameter>& store_keys();

// Permissions in octal; `fallback` where the key is missing.
uint32_t check_mode(const TableReader& reader, std::string_view name, uint32_t fallback);
// Checks [http], whose keys are http_keys().
void check_http(const Node& node, DaemonSettings& settings, Complaints& complaints);
std::vector<Parameter> http_keys();

// The tables of the daemon's file, in its order.
struct DaemonSection {
  std::string_view name;
  std::vector<Parameter> keys;
};
std::span<const DaemonSection> daemon_sections();

// The absolute path of the list that `key` names, or a word that may stand in its place; empty: there is none.
std::string list_of(const TableReader& reader, std::string_view key, const std::filesystem::path& folder,
                    std::initializer_list<std::string_view> words = {});
// The keys include, exclude, part and first, of [order] or of a table of [[sources]].
const std::vector<Parameter>& selection_keys();
// Paths of lists are taken from `folder`.
Selection check_selection(const TableReader& reader, const std::filesystem::path& folder);
// The keys of `part` in such a table, and the part that the table has.
const std::vector<Parameter>& part_keys();
PartSpec check_part(const TableReader& reader, const std::filesystem::path& folder);

// Checks [order] and [batch]. Relative paths of lists are taken from `folder`.
OrderSpec check_order(const Node& node, const std::filesystem::path& folder, Complaints& complaints);
BatchSpec check_batch(const Node& node, const std::vector<OutputSpec>& outputs, Complaints& complaints);
// Complains about what can't stand beside cost_max. `order`: [order], null where there is none.
void check_order_by_cost(const PipelineSpec& spec, const Node* order, Complaints& complaints);
// Complains where outputs disagree about the sizes of batches, and about what can't stand beside these. `root`: the
// file.
void check_batch_shapes(const PipelineSpec& spec, const Node& root, Complaints& complaints);
// Checks the operations on batches and the keys beside them, and sets spec.batch. `node` is [batch]; the outputs have
// been checked.
void check_batch_operations(const Node& node, PipelineSpec& spec, Complaints& complaints);
// Checks [python]. `spec`: its sources and outputs; null where they have faults.
PythonSpec check_python(const Node& node, const PipelineSpec* spec, Complaints& complaints);
// Complains about what needs samples' bytes before their order is known, where user code makes them.
void check_beside_items(const PipelineSpec& spec, const Node& root, Complaints& complaints);
// Complains about keys of [order] that do not go with one source ([source]) or with several ([[sources]]).
void check_order_of(bool several, const Node& node, Complaints& complaints);

// The two checks behind load.h.
Loaded<PipelineSpec> check_pipeline(const Node& root, const std::string& origin, const std::filesystem::path& folder);
Loaded<DaemonSettings> check_daemon(const Node& root, const std::string& origin);

}  // namespace spdld::config
