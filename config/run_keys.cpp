#include "config/run_keys.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "config/text/json.h"

namespace spdld::config {
namespace {

// The step of a path for the name of an output, a source, an operation or a key.
std::string step_of(const std::string& name) {
  std::string step = name;
  std::replace(step.begin(), step.end(), '/', '_');
  return step;
}

// The key by which the tables of a list are named; empty: it is no list of such tables.
std::string_view name_key_of(const Json& list) {
  for (const std::string_view key : {"op", "name"}) {
    const auto has_it = [key](const Json& value) { return value.find(key) != nullptr && value.find(key)->is_string(); };
    if (!list.empty() && std::all_of(list.begin(), list.end(), has_it)) return key;
  }
  return {};
}

void add(const Json& value, const std::string& path, std::string_view left_out, std::vector<RunKey>& keys);

// Of a list of tables: their names in their order, and each by its name.
void add_named(const Json& list, const std::string& path, std::string_view name_key, std::vector<RunKey>& keys) {
  Json names = Json::array();
  for (const Json& table : list.values()) {
    const std::string& name = table.find(name_key)->text();
    const auto before = std::count_if(names.begin(), names.end(), [&](const Json& one) { return one.text() == name; });
    const std::string number = before == 0 ? "" : '[' + std::to_string(before + 1) + ']';
    add(table, path + '/' + step_of(name) + number, name_key, keys);
    names.push_back(name);
  }
  keys.push_back({path, names.dump()});
}

void add(const Json& value, const std::string& path, std::string_view left_out, std::vector<RunKey>& keys) {
  if (value.is_object()) {
    for (const auto& [key, inside] : value.entries())
      if (key != left_out) add(*inside, path + (path.empty() ? "" : "/") + step_of(std::string(key)), {}, keys);
    return;
  }
  const std::string_view name_key = name_key_of(value);
  if (!name_key.empty()) return add_named(value, path, name_key, keys);
  keys.push_back({path, value.dump()});
}

bool is_path(const Json& value) { return value.is_string() && value.text().starts_with('/'); }

// The entries of a table of a whole pipeline that choose and weight samples, in a table for the same place.
void copy_choice(const Json& from, Json& to) {
  for (const std::string_view key : {"first", "where", "weights", "weights_column", "weights_default", "part"}) {
    const Json* const value = from.find(key);
    if (value == nullptr || is_path(*value)) continue;
    to[key] = Json();
    if (!value->is_object()) {
      to[key] = *value;
      continue;
    }
    for (const auto& [name, inside] : value->entries())
      if (!is_path(*inside)) to[key][name] = *inside;
  }
}

}  // namespace

std::vector<RunKey> run_keys(const PipelineSpec& spec) {
  Json keys = Json::parse(canonical_json(spec)).value_or(Json::object());
  const Json whole = full_document(spec);
  copy_choice(*whole.find("order"), keys["order"]);
  if (const Json* const source = whole.find("source")) copy_choice(*source, keys["source"]);
  if (const Json* const sources = whole.find("sources")) {
    Json chosen = Json::array();
    const auto deciding = keys["sources"].values();
    for (size_t i = 0; i < deciding.size(); ++i) {
      Json table = deciding[i];
      copy_choice(sources->values()[i], table);
      chosen.push_back(std::move(table));
    }
    keys["sources"] = std::move(chosen);
  }
  std::vector<RunKey> found;
  add(keys, "", {}, found);
  return found;
}

}  // namespace spdld::config
