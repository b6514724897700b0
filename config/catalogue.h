// The one table of sources, and the help on operations and sources. A type is one line of config/sources.inc, its
// description in config, and its code in a room of daemon/source. The checks of config/checks/load.h, `spdlctl ops` and
// the documentation all read the tables; the daemon binds each name to code (a test holds the two together). Constant
// data; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/operation.h"
#include "config/parameter.h"
#include "config/signature.h"
#include "config/text/value_type.h"

namespace spdld::config {

// The field that holds a sample's name: of files, and of tables, whose columns may have any other name.
inline constexpr std::string_view kNameField = "path", kTableNameField = "__key__";

// The parameter of tables that is a condition on their rows (config/condition).
inline constexpr std::string_view kConditionKey = "where";

struct SourceField {
  std::string name;
  std::optional<RawValues> raw = {};  // the numbers that its bytes are; none: this is not known
};

struct SourceType {
  std::string_view name;
  std::string_view help;
  std::vector<std::string_view> fields;  // fields that every sample has; empty where the data decides (webdataset)
  std::vector<Parameter> parameters;
  bool has_uri = true;             // false: no files or objects are read
  std::string_view executor = {};  // who makes its samples' bytes (config/segments.h); empty: they are read
  // Whether `uri` may be a list of texts, with braces and wildcards in them (config/uri_pattern.h).
  bool takes_patterns = false;
  bool takes_stream_bytes = false;           // whether `stream_bytes_max` means something
  bool takes_access = false;                 // whether `access` means something
  std::string_view name_field = kNameField;  // the field of every sample that holds its name
  // The parameter that names a field whose values are numbered as classes: then the field "class" is an integer.
  std::string_view class_parameter = {};
  bool has_weights_column = false;  // whether order.weights may be one of its columns
  bool has_groups_column = false;   // whether groups of a part may be one of its columns
  bool takes_classes = false;       // whether its labels are names, which `classes` numbers
  std::string_view reads = "file";  // what its listing counts: "archive", "file" or "folder"
  // Complains about parameters that are each allowed and make no sense together.
  void (*check)(const SourceSpec& spec, const Complain& complain) = nullptr;
  // The fields that its samples have, where its parameters say so; null: `fields` has them, or the data decides.
  std::vector<SourceField> (*own_fields)(const SourceSpec& spec) = nullptr;
};

std::span<const SourceType> sources();
const SourceType* find_source(std::string_view name);
// The names of the types for which `can` is true, in the table's order: "image-folder, manifest, voc".
std::string sources_that(bool (*can)(const SourceType& type));

// The field that the samples of a mix have in addition: the number of their source, in the file's order. Every sample
// of a single source would have 0.
inline constexpr std::string_view kSourceField = "source";

// The signature of a field of a source of this type with these parameters: an integer for classes that the listing
// numbers, bytes for all others.
Signature field_signature(const SourceType& source, std::string_view field, const Parameters& parameters = {});

// The numbers that the bytes of such a value are to the operations behind it; none: they are bytes.
std::optional<RawValues> raw_values(const ValueType& type);
// The values of an item of a source in user code, in the order in which a record (proto/crew/record.h) holds them.
// Precondition: the source is of such a type, and was checked.
std::vector<NamedValueType> item_values(const SourceSpec& source);
// Whether an executor makes the source's samples, so that there are no bytes of them before.
bool is_made(const SourceSpec& spec);
// Whether the source's `where` leaves rows out.
bool has_condition(const SourceSpec& spec);

// The tables as text for people (`spdlctl ops`) and as JSON.
std::string operations_text();
std::string operations_json();

}  // namespace spdld::config
