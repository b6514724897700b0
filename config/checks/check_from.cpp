#include <algorithm>

#include "config/checks/check.h"
#include "config/rows.h"
#include "config/text/field_path.h"

namespace spdld::config {
namespace {

// Of a source whose parameters say which fields it has.
std::optional<Signature> check_own_from(const TableReader& reader, const SourceSpec& spec, const FieldPath& path,
                                        const std::string& from) {
  const SourceType& source = *find_source(spec.type);
  // The fields that the source names were complained about.
  if (reader.complaints().has("source.gives") || reader.complaints().has_inside("source.gives")) return std::nullopt;
  const std::vector<SourceField> fields = source.own_fields(spec);
  const auto known = std::ranges::find(fields, path.alternatives.front(), &SourceField::name);
  if (path.alternatives.size() > 1) {
    reader.complain(
        "from", "can't have alternatives here: all samples of " + std::string(source.name) + " have the same fields");
    return std::nullopt;
  }
  if (known != fields.end()) {
    if (path.is_json()) return bytes_of(Origin::kJson);
    Signature signature = field_signature(source, known->name, spec.parameters);
    signature.bytes().raw = known->raw;
    return signature;
  }
  std::vector<std::string_view> names;
  for (const SourceField& field : fields) names.push_back(field.name);
  reader.complain("from", "is not a field of " + std::string(source.name) + ": " + in_quotes(from) +
                              did_you_mean(from, names) + "; it has " + joined(names));
  return std::nullopt;
}

// The signature of a field of one type of source; none where there is no such field.
std::optional<Signature> check_from_one(const TableReader& reader, const SourceSpec& spec, const std::string& from) {
  const SourceType& source = *find_source(spec.type);
  const auto& fields = source.fields;
  const FieldPath path = parse_field_path(from);
  if (source.own_fields != nullptr && path.error.empty()) return check_own_from(reader, spec, path, from);
  if (fields.empty()) {
    if (path.error.empty())
      return path.is_json() ? bytes_of(Origin::kJson)
                            : field_signature(source, path.alternatives.front(), spec.parameters);
    reader.complain("from", path.error);
    return std::nullopt;
  }
  const auto is_known = [&](const std::string& name) {
    return std::find(fields.begin(), fields.end(), name) != fields.end();
  };
  const auto known = std::find_if(path.alternatives.begin(), path.alternatives.end(), is_known);
  if (path.error.empty() && known != path.alternatives.end()) {
    if (!path.is_json()) return field_signature(source, *known, spec.parameters);
    reader.complain("from", "can't name a value in JSON here: no field of " + std::string(source.name) + " holds any");
    return std::nullopt;
  }
  reader.complain("from", "is not a field of " + std::string(source.name) + ": " + in_quotes(from) +
                              did_you_mean(from, fields) + "; it has " + joined(fields));
  return std::nullopt;
}

// The text in its one spelling, after the checks that no source matters for.
std::string tidy_from(const TableReader& reader, Sources sources, const std::string& from) {
  const FieldPath path = parse_field_path(from);
  if (!path.error.empty()) return from;
  const auto& all = path.alternatives;
  for (const SourceSpec& source : sources) {
    const std::string_view name = find_source(source.type)->name_field;
    if ((all.size() == 1 && !path.is_json()) || std::find(all.begin(), all.end(), name) == all.end()) continue;
    reader.complain("from", "can't have " + in_quotes(name) +
                                (path.is_json() ? " before a \":\": it holds no JSON"
                                                : " beside other fields: every sample has it"));
    break;
  }
  return path.is_json() ? path.field() + ':' + steps_text(path.steps) : path.field();
}

}  // namespace

std::optional<Signature> check_from(const TableReader& reader, Sources sources, OutputSpec& output,
                                    const RowsSpec& rows) {
  const auto from = reader.given_text("from");
  const auto is_unknown = [](const SourceSpec& source) { return source.type.empty(); };
  if (!from || sources.empty() || std::any_of(sources.begin(), sources.end(), is_unknown)) return std::nullopt;
  output.from = tidy_from(reader, sources, *from);
  if (sources.size() > 1 && *from == kSourceField) return integer();
  if (is_row_field(*from, rows)) return integer();
  std::optional<Signature> given;
  for (const SourceSpec& source : sources) {
    const auto here = check_from_one(reader, source, *from);
    if (!here) return std::nullopt;
    if (given && *given != *here) {
      reader.complain("from", in_quotes(*from) + " gives " + std::string(kind_name(given->kind())) +
                                  " in one source and " + std::string(kind_name(here->kind())) +
                                  " in another: all must give the same");
      return std::nullopt;
    }
    given = here;
  }
  return given;
}

}  // namespace spdld::config
