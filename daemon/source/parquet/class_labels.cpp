#include "daemon/source/parquet/class_labels.h"

#include <optional>
#include <utility>

#include "daemon/source/tables/manifest_index.h"
#include "daemon/source/tables/reading/json_text.h"

namespace spdld::source::parquet {
namespace {

std::optional<JsonValue> entry_of(const JsonValue& table, std::string_view wanted) {
  std::optional<JsonValue> found;
  const bool is_sound = table.kind == JsonKind::kTable &&
                        for_each_entry_of(table.text, [&](const JsonValue& key, const JsonValue& value) {
                          if (key.text == wanted) found = value;
                          return true;
                        });
  return is_sound ? found : std::nullopt;
}

// Empty: they are no list of texts.
std::vector<std::string> names_in(const JsonValue& list) {
  std::vector<std::string> names;
  const bool is_sound = list.kind == JsonKind::kList && for_each_element_of(list.text, [&](const JsonValue& element) {
                          auto name = element.kind == JsonKind::kText ? plain_text(element) : std::nullopt;
                          if (!name || name->find('\0') != std::string::npos || names.size() == kClassesMax)
                            return false;
                          names.push_back(std::move(*name));
                          return true;
                        });
  return is_sound ? names : std::vector<std::string>();
}

class Features {
 public:
  std::vector<ClassLabels> take() { return std::move(found_); }

  // A list adds nothing to the name of its elements, as in a column's name.
  void read(const JsonValue& feature, const std::string& name, int depth) {
    if (depth == kDepthMax) return;
    if (feature.kind == JsonKind::kList) {  // [feature], as older versions write lists
      for_each_element_of(feature.text, [&](const JsonValue& element) {
        read(element, name, depth + 1);
        return false;
      });
      return;
    }
    if (feature.kind != JsonKind::kTable) return;
    const auto type = entry_of(feature, "_type");
    if (!type || type->kind != JsonKind::kText) return read_parts(feature, name, depth);
    if (type->text == "ClassLabel") return add(feature, name);
    if (const auto inner = entry_of(feature, "feature")) read(*inner, name, depth + 1);
  }

 private:
  static constexpr int kDepthMax = 16;

  void read_parts(const JsonValue& parts, const std::string& name, int depth) {
    for_each_entry_of(parts.text, [&](const JsonValue& key, const JsonValue& value) {
      if (const auto part = plain_text(key)) read(value, name.empty() ? *part : name + '.' + *part, depth + 1);
      return true;
    });
  }

  void add(const JsonValue& feature, const std::string& name) {
    const auto list = entry_of(feature, "names");
    std::vector<std::string> names = list ? names_in(*list) : std::vector<std::string>();
    if (!names.empty() && found_.size() < kColumnsMax) found_.push_back({name, std::move(names)});
  }

  std::vector<ClassLabels> found_;
};

}  // namespace

std::vector<ClassLabels> class_labels_in(std::string_view json) {
  JsonText text(json);
  const auto all = text.take_value();
  const auto info = all ? entry_of(*all, "info") : std::nullopt;
  const auto features = info ? entry_of(*info, "features") : std::nullopt;
  Features reader;
  if (features) reader.read(*features, "", 0);
  return reader.take();
}

}  // namespace spdld::source::parquet
