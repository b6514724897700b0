#include "config/catalogue.h"

#include <algorithm>

#include "config/batch_operation.h"
#include "config/text/json.h"

namespace spdld::config {
namespace {

Json value_json(const Value& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

Json parameters_json(const std::vector<Parameter>& parameters) {
  auto list = Json::array();
  for (const auto& parameter : parameters) {
    Json entry = {{"name", parameter.name},
                  {"type", type_name(parameter.type)},
                  {"help", parameter.help},
                  {"allowed", allowed(parameter)},
                  {"required", !parameter.fallback.has_value()}};
    if (parameter.fallback) entry["default"] = value_json(*parameter.fallback);
    if (parameter.min != parameter.max) {
      entry["min"] = parameter.min;
      entry["max"] = parameter.max;
      entry["above_min"] = parameter.above_min;
    }
    if (parameter.type == ParameterType::kNumbers || parameter.type == ParameterType::kOperations)
      entry["count"] = {parameter.count_min, parameter.count_max};
    if (!parameter.choices.empty()) entry["choices"] = parameter.choices;
    list.push_back(std::move(entry));
  }
  return list;
}

std::string parameters_text(const std::vector<Parameter>& parameters) {
  std::string text;
  for (const auto& parameter : parameters) {
    text += "    " + std::string(parameter.name) + ": " + allowed(parameter) + "; ";
    text += parameter.fallback ? "default " + value_json(*parameter.fallback).dump() : std::string("required");
    text += "\n        " + std::string(parameter.help) + "\n";
  }
  return text;
}

// The kinds of value that may stand before the operation: another executor is given pictures and sounds as tensors.
Kinds taken_by(const OperationType& operation) {
  Kinds kinds = operation.takes;
  for (const SignatureKind kind : kAllKinds)
    if (!operation.executor.empty() && kinds.has(SignatureKind::kTensor) && chain_end(kind) != nullptr) kinds.add(kind);
  return kinds;
}

// All parameters of an operation on batches but its name.
std::vector<Parameter> keys_of(const BatchOperationType& operation) {
  std::vector<Parameter> keys = batch_operation_keys();
  std::erase_if(keys, [](const Parameter& key) { return key.name == "op"; });
  keys.insert(keys.end(), operation.parameters.begin(), operation.parameters.end());
  return keys;
}

}  // namespace

const SourceType* find_source(std::string_view name) {
  const auto table = sources();
  const auto found = std::find_if(table.begin(), table.end(), [&](const auto& entry) { return entry.name == name; });
  return found == table.end() ? nullptr : &*found;
}

std::string sources_that(bool (*can)(const SourceType& type)) {
  std::string names;
  for (const SourceType& type : sources())
    if (can(type)) names.append(names.empty() ? "" : ", ").append(type.name);
  return names;
}

Signature field_signature(const SourceType& source, std::string_view field, const Parameters& parameters) {
  if (field == source.name_field) return bytes_of(Origin::kName);
  if (field != "class") return bytes_of(Origin::kContent);
  // Where the data decides the fields, a member or a column may be called "class" as well: it is bytes like any other.
  const auto named = parameters.find(source.class_parameter);
  const bool is_numbered = named != parameters.end() && !std::get<std::string>(named->second).empty();
  return !source.fields.empty() || is_numbered ? integer() : bytes_of(Origin::kContent);
}

std::string operations_text() {
  std::string text = "Operations, [[output]] ops:\n";
  for (const auto& operation : operations()) {
    text += "\n  " + std::string(operation.name) + "  (" + kinds_name(taken_by(operation)) + " -> " +
            kinds_name(operation.gives) + ")\n    " + std::string(operation.help) + "\n" +
            parameters_text(operation.parameters);
  }
  text += "\nOperations on batches, [batch] ops:\n";
  for (const auto& operation : batch_operations()) {
    text += "\n  " + std::string(operation.name) + "  (batch -> batch)\n    " + std::string(operation.help) + "\n" +
            parameters_text(keys_of(operation));
  }
  text += "\nSources, [source] type:\n";
  for (const auto& source : sources()) {
    text += "\n  " + std::string(source.name) + "\n    " + std::string(source.help) + "\n";
    if (!source.fields.empty()) {
      text += "    fields:";
      for (const auto& field : source.fields) text.append(" ").append(field);
      text += "\n";
    }
    text += parameters_text(source.parameters);
  }
  return text;
}

std::string operations_json() {
  Json root = {{"operations", Json::array()}, {"batch_operations", Json::array()}, {"sources", Json::array()}};
  for (const auto& operation : operations()) {
    root["operations"].push_back({{"name", operation.name},
                                  {"in", kinds_name(taken_by(operation))},
                                  {"out", kinds_name(operation.gives)},
                                  {"version", operation.version},
                                  {"help", operation.help},
                                  {"parameters", parameters_json(operation.parameters)}});
  }
  for (const auto& operation : batch_operations()) {
    root["batch_operations"].push_back({{"name", operation.name},
                                        {"version", operation.version},
                                        {"help", operation.help},
                                        {"parameters", parameters_json(keys_of(operation))}});
  }
  for (const auto& source : sources()) {
    root["sources"].push_back({{"name", source.name},
                               {"help", source.help},
                               {"fields", source.fields},
                               {"parameters", parameters_json(source.parameters)}});
  }
  return root.dump(2);
}

}  // namespace spdld::config
