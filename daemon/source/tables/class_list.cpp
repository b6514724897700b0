#include "daemon/source/folders/class_list.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "daemon/base/result.h"
#include "daemon/source/lists/list_file.h"
#include "daemon/source/tables/manifest_index.h"
#include "daemon/source/tables/reading/json_text.h"

namespace spdld::source {
namespace {

constexpr size_t kShownTexts = 5;
constexpr uint64_t kClassListBytesMax = 64u << 20;

[[noreturn]] void refuse_classes(const std::string& message) { throw SetupError(Trouble::kUsage, message); }

struct Labelled {
  std::string label, name;  // the name may be empty
};

// The classes of a text in JSON. Each function returns false where the text is in another form, and why() says more.
class JsonClasses {
 public:
  explicit JsonClasses(const std::string& what) : what_(what) {}

  bool read(std::string_view json) {
    JsonText text(json);
    const auto all = text.take_value();
    if (!all || !text.is_at_end()) return false;
    if (all->kind == JsonKind::kList)
      return for_each_element_of(all->text, [&](const JsonValue& value) { return add(classes_.size(), value); });
    return all->kind == JsonKind::kTable &&
           for_each_entry_of(all->text, [&](const JsonValue& key, const JsonValue& value) {
             return value.kind == JsonKind::kNumber ? add(plain_count(value), key) : add(number_in(key), value);
           });
  }

  // Throws SetupError where a number from 0 on is missing.
  std::vector<Labelled> take() {
    std::vector<Labelled> classes;
    for (auto& [number, one] : classes_) {
      if (number != classes.size())
        refuse_classes(what_ + " gives no class the number " + std::to_string(classes.size()) + ", and " +
                       quoted(one.label) + " the number " + std::to_string(number) +
                       ": number the classes from 0 on, and leave no number out.");
      classes.push_back(std::move(one));
    }
    return classes;
  }

 private:
  static std::string quoted(std::string_view text) { return '"' + shown(text) + '"'; }

  static std::optional<uint64_t> number_in(const JsonValue& key) {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(key.text.data(), key.text.data() + key.text.size(), number);
    const bool is_number = error == std::errc() && end == key.text.data() + key.text.size();
    return is_number ? std::optional(number) : std::nullopt;
  }

  // `value`: a label, or a list of a label and a name. Further elements of such a list mean nothing.
  bool add(std::optional<uint64_t> number, const JsonValue& value) {
    if (!number || *number >= kClassesMax) return false;
    std::vector<std::string> texts;
    const auto add_text = [&](const JsonValue& element) {
      auto text = texts.size() < 2 && element.kind == JsonKind::kText ? plain_text(element) : std::nullopt;
      if (text) texts.push_back(std::move(*text));
      return text.has_value() || texts.size() == 2;
    };
    const bool is_sound = value.kind == JsonKind::kList ? for_each_element_of(value.text, add_text) : add_text(value);
    if (!is_sound || texts.empty()) return false;
    texts.resize(2);
    const auto [at, is_new] = classes_.emplace(*number, Labelled{texts[0], texts[1]});
    if (!is_new)
      refuse_classes(what_ + " gives the number " + std::to_string(*number) + " to " + quoted(at->second.label) +
                     " and to " + quoted(texts[0]) + ": each class has a number of its own.");
    return true;
  }

  const std::string& what_;
  std::map<uint64_t, Labelled> classes_;
};

std::vector<std::string> lines_of(std::string_view text, const std::string& what) {
  std::vector<std::string> labels;
  for_each_line(text, [&](std::string_view line, uint64_t number) {
    if (line.find('\0') != std::string_view::npos)
      refuse_classes(what + ", line " + std::to_string(number) +
                     " has a NUL: the file must have a class's name on each line.");
    labels.emplace_back(line);
  });
  return labels;
}

}  // namespace

ClassList::ClassList(std::string what, std::vector<std::string> labels, std::vector<std::string> names)
    : what_(std::move(what)), labels_(std::move(labels)), names_(std::move(names)) {
  if (labels_.empty()) refuse_classes(what_ + " names no class.");
  if (labels_.size() > kClassesMax)
    refuse_classes(what_ + " names more than " + std::to_string(kClassesMax) + " classes: is it a list of classes?");
  for (size_t i = 0; i < labels_.size(); ++i) {
    if (labels_[i].empty()) refuse_classes(what_ + ": the name of class " + std::to_string(i) + " is empty.");
    if (!numbers_.emplace(labels_[i], static_cast<uint32_t>(i)).second)
      refuse_classes(what_ + " names the class \"" + shown(labels_[i]) + "\" twice: a class has one number.");
  }
  names_.resize(labels_.size());
  std::unordered_map<std::string, size_t> count;
  for (size_t i = 0; i < names_.size(); ++i) {
    if (names_[i].empty()) names_[i] = labels_[i];
    if (names_[i].find('\0') != std::string::npos)
      refuse_classes(what_ + ": the name of class " + std::to_string(i) + " has a NUL.");
    ++count[names_[i]];
  }
  for (size_t i = 0; i < names_.size(); ++i)
    if (count[names_[i]] > 1 && names_[i] != labels_[i]) names_[i] += " (" + labels_[i] + ')';
}

std::optional<uint32_t> ClassList::number_of(std::string_view label) const {
  const auto found = numbers_.find(label);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<ClassList> read_class_list(const std::string& classes, const Bounds* bounds) {
  if (classes.empty()) return std::nullopt;
  const std::string key = "source.classes";
  if (!config::is_list_path(classes)) return ClassList(key, lines_of(std::string_view(classes).substr(1), key));
  const std::string what = key + ": " + classes;
  Stamps stamps;
  const std::string text = read_user_file(classes, what, kClassListBytesMax, bounds, stamps);
  std::vector<std::string> labels, names;
  if (classes.ends_with(".json")) {
    JsonClasses json(what);
    if (!json.read(text))
      refuse_classes(
          what +
          " is no JSON of classes: write a list of names, a table from names to numbers such as {\"cat\": 0}, or a "
          "table from numbers to names, such as {\"0\": \"cat\"} or {\"0\": [\"n02121808\", \"cat\"]}.");
    for (Labelled& one : json.take()) {
      labels.push_back(std::move(one.label));
      names.push_back(std::move(one.name));
    }
  } else {
    labels = lines_of(text, what);
  }
  ClassList list(what, std::move(labels), std::move(names));
  list.stamps = std::move(stamps);
  return list;
}

std::string first_texts(const std::vector<std::string>& texts) {
  std::string text = texts.size() == 1 ? "it is " : "the first are ";
  const size_t count = std::min(texts.size(), kShownTexts);
  for (size_t i = 0; i < count; ++i)
    text.append(i == 0 ? "" : i + 1 == count ? " and " : ", ").append(1, '"').append(shown(texts[i])).append(1, '"');
  return text;
}

}  // namespace spdld::source
