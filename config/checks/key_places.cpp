// Where each key may stand, so that a key at the wrong place is told where it belongs.
#include <algorithm>

#include "config/batch_operation.h"
#include "config/checks/check.h"

namespace spdld::config {
namespace {

constexpr size_t kPlacesShown = 3;
constexpr const char* kTop = "at the top level, before the first [table]";

void add(std::vector<KeyPlace>& places, KeyOwner owner, std::string where, std::span<const Parameter> keys) {
  KeyPlace& place = places.emplace_back(KeyPlace{owner, std::move(where), {}});
  for (const auto& key : keys) place.keys.emplace_back(key.name);
}

std::vector<KeyPlace> of_pipeline() {
  std::vector<KeyPlace> places;
  add(places, KeyOwner::kTable, kTop, top_keys());
  add(places, KeyOwner::kTable, "in [source]", source_keys());
  for (const auto& type : sources()) {
    add(places, KeyOwner::kTable, "in [source] with type = " + in_quotes(type.name), type.parameters);
  }
  add(places, KeyOwner::kTable, "in [order]", order_keys());
  add(places, KeyOwner::kTable, "in part of [order]", part_keys());
  std::erase(places.back().keys, "seed");  // a seed at the wrong place is the pipeline's
  add(places, KeyOwner::kTable, "in [rows]", rows_keys());
  add(places, KeyOwner::kTable, "in [[output]]", output_keys());
  places.back().keys.emplace_back("ops");
  add(places, KeyOwner::kTable, "in [batch]", batch_keys());
  places.back().keys.emplace_back("ops");
  add(places, KeyOwner::kTable, "in [python]", python_keys());
  add(places, KeyOwner::kTable, "in [[sources]]", named_source_keys());
  for (const auto& operation : operations()) {
    add(places, KeyOwner::kOperation, "in { op = \"" + std::string(operation.name) + "\" }", operation.parameters);
  }
  for (const auto& operation : batch_operations()) {
    std::vector<Parameter> keys = batch_operation_keys();
    keys.insert(keys.end(), operation.parameters.begin(), operation.parameters.end());
    std::erase_if(keys, [](const Parameter& key) { return key.name == "op"; });
    add(places, KeyOwner::kOperation, "in [batch] ops { op = \"" + std::string(operation.name) + "\" }", keys);
  }
  return places;
}

std::vector<KeyPlace> of_daemon() {
  std::vector<KeyPlace> places;
  for (const auto& section : daemon_sections()) {
    if (section.name == "pipelines.cpu_weight") continue;  // its keys are names of pipelines
    const std::string name(section.name);
    add(places, KeyOwner::kTable, section.name == "data.roots" ? "in [[data.roots]]" : "in [" + name + "]",
        section.keys);
  }
  return places;
}

// Keys of one word, such as `path`, mean too much for a hint at another file.
void add_other_file(std::vector<KeyPlace>& places, std::vector<KeyPlace> others, const std::string& file) {
  for (KeyPlace& place : others) {
    if (place.owner != KeyOwner::kTable) continue;
    place.owner = KeyOwner::kOtherFile;
    place.where = place.where == kTop ? "at the top level of " + file : place.where + " of " + file;
    std::erase_if(place.keys, [](const std::string& key) { return key.find('_') == std::string::npos; });
    places.push_back(std::move(place));
  }
}

}  // namespace

std::span<const KeyPlace> pipeline_places() {
  static const std::vector<KeyPlace> places = [] {
    std::vector<KeyPlace> all = of_pipeline();
    add_other_file(all, of_daemon(), "the daemon's file");
    return all;
  }();
  return places;
}

std::span<const KeyPlace> daemon_places() {
  static const std::vector<KeyPlace> places = [] {
    std::vector<KeyPlace> all = of_daemon();
    add_other_file(all, of_pipeline(), "a pipeline's file");
    return all;
  }();
  return places;
}

std::string place_of_key(std::span<const KeyPlace> places, std::string_view key) {
  std::vector<std::string_view> found;
  KeyOwner owner = KeyOwner::kOtherFile;
  for (const auto& place : places) {
    if (std::find(place.keys.begin(), place.keys.end(), key) == place.keys.end() || place.owner > owner) continue;
    if (place.owner < owner) found.clear();
    owner = place.owner;
    if (std::find(found.begin(), found.end(), place.where) == found.end()) found.push_back(place.where);
  }
  std::string text;
  const size_t shown = std::min(found.size(), kPlacesShown);
  for (size_t i = 0; i < shown; ++i) {
    text.append(i == 0 ? "" : i + 1 == shown ? " or " : ", ").append(found[i]);
  }
  return text;
}

}  // namespace spdld::config
