#include "config/checks/document.h"

#include <toml++/toml.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "config/text/steering.h"
#include "utf8/utf8.h"

namespace spdld::config {
namespace {

Document failed(const std::string& origin, int line, std::string key, std::string text) {
  Document document;
  document.complaints.push_back({{origin, line}, std::move(key), std::move(text)});
  return document;
}

std::string too_large(size_t bytes) {
  return "is too large: " + std::to_string(bytes) + " bytes; at most " + std::to_string(kTextBytesMax) + " are allowed";
}

// TOML's texts of several lines have tabs and ends of lines. No key takes such a text, and its checker says so.
bool is_unfit(std::string text) {
  std::erase_if(text, [](char c) { return c == '\t' || c == '\n' || c == '\r'; });
  return utf8::has_control(text);
}

constexpr const char* kControlInText = "must be a text without control characters";
constexpr const char* kControlInKey = "is a key with control characters, which no key has";

std::string too_deep() {
  return "tables and lists may stand in one another at most " + std::to_string(kDepthMax) + " deep";
}

std::string too_many(size_t most, std::string_view of) {
  return "has more than " + std::to_string(most) + " " + std::string(of);
}

// toml++ 3.3 bounds the nesting of brackets, but not of dotted keys: a.a.a.a... makes a tree whose destruction
// overflows the stack. This finds the line of a statement with too many dots in its keys, before the parser sees it; 0:
// there is none.
class DottedKeys {
 public:
  explicit DottedKeys(std::string_view text) : text_(text) {}

  int find_excess_line() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        skip_string(c);
      } else if (c == '#') {
        while (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
      } else if (c == '.') {
        ++run_;
      } else if (!is_key_character(c)) {
        end_run(c);
      }
      if (run_ > kDepthMax || dots_ > kDepthMax) return line_;
    }
    return 0;
  }

 private:
  static bool is_key_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == ' ' || c == '\t';
  }

  // One dot alone may be a number's; every nest of brackets adds at most that one, and the parser bounds those.
  void end_run(char c) {
    if (run_ > 1) dots_ += run_;
    run_ = 0;
    if (c == '[' || c == '{') ++open_;
    if ((c == ']' || c == '}') && open_ > 0) --open_;
    if (c != '\n') return;
    ++line_;
    if (open_ == 0) dots_ = 0;
  }

  // Leaves at_ on the string's last character.
  void skip_string(char quote) {
    const bool triple = text_.substr(at_, 3) == std::string(3, quote);
    at_ += triple ? 3 : 1;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\n') {
        ++line_;
        if (!triple) return;  // the parser will refuse it
      }
      if (text_[at_] == '\\' && quote == '"') {
        ++at_;
        if (at_ < text_.size() && text_[at_] == '\n') ++line_;
      } else if (text_[at_] == quote) {
        if (!triple) return;
        if (text_.substr(at_, 3) == std::string(3, quote)) {
          at_ += 2;
          for (int more = 0; more < 2 && text_.substr(at_ + 1, 1) == text_.substr(at_, 1); ++more) ++at_;  // """a"""""
          return;
        }
      }
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  int run_ = 0;   // dots of the key being read
  int dots_ = 0;  // of the statement, in keys with at least two
  int open_ = 0;  // brackets
};

int line_of(const toml::source_region& region) { return static_cast<int>(region.begin.line); }

// Thrown and caught in this file alone.
struct Excess {
  int line;
  std::string key;
  std::string text;
};

Node convert(const toml::node& from, int line, const std::string& key, int depth);

Node convert_table(const toml::table& from, int line, const std::string& key, int depth) {
  if (from.size() > kTableKeysMax) throw Excess{line, key, too_many(kTableKeysMax, "keys")};
  std::vector<Entry> entries;
  entries.reserve(from.size());
  for (const auto& [name, node] : from) {
    const std::string whole = (key.empty() ? "" : key + ".") + printable(name.str(), 64);
    if (utf8::has_control(name.str())) throw Excess{line_of(name.source()), whole, kControlInKey};
    entries.push_back({std::string(name.str()), convert(node, line_of(name.source()), whole, depth + 1)});
  }
  return {.line = line, .octal = false, .value = std::move(entries)};
}

Node convert_list(const toml::array& from, int line, const std::string& key, int depth) {
  if (from.size() > kListLengthMax) throw Excess{line, key, too_many(kListLengthMax, "elements")};
  std::vector<Node> elements;
  elements.reserve(from.size());
  for (const auto& node : from) {
    const std::string whole = key + "[" + std::to_string(elements.size()) + "]";
    elements.push_back(convert(node, line_of(node.source()), whole, depth + 1));
  }
  return {.line = line, .octal = false, .value = std::move(elements)};
}

Node convert(const toml::node& from, int line, const std::string& key, int depth) {
  if (depth > kDepthMax) throw Excess{line, key, too_deep()};
  if (line == 0) line = line_of(from.source());
  if (const auto* table = from.as_table()) return convert_table(*table, line, key, depth);
  if (const auto* array = from.as_array()) return convert_list(*array, line, key, depth);
  Node node{.line = line, .octal = false, .value = Alien{"a date or time"}};
  if (const auto* text = from.as_string()) {
    if (is_unfit(text->get())) throw Excess{line, key, kControlInText};
    node.value = text->get();
  }
  if (const auto* number = from.as_floating_point()) node.value = number->get();
  if (const auto* flag = from.as_boolean()) node.value = flag->get();
  if (const auto* integer = from.as_integer()) {
    node.value = integer->get();
    node.octal = (integer->flags() & toml::value_flags::format_as_octal) == toml::value_flags::format_as_octal;
  }
  return node;
}

// Builds the tree while nlohmann's parser, which keeps no stack of its own, reads on; false ends it.
class JsonTree {
 public:
  bool null() { return put(Alien{"null"}); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(int64_t value) { return put(value); }
  bool number_unsigned(uint64_t value) {
    if (value > static_cast<uint64_t>(INT64_MAX)) return put(Alien{"an integer beyond 64 bits"});
    return put(static_cast<int64_t>(value));
  }
  bool number_float(double value, const std::string&) { return put(value); }
  bool string(std::string& value) {
    if (is_unfit(value)) return fail(path(true), kControlInText);
    return put(std::move(value));
  }
  bool binary(nlohmann::json::binary_t&) { return put(Alien{"binary"}); }
  bool start_object(size_t) { return open(std::vector<Entry>()); }
  bool start_array(size_t) { return open(std::vector<Node>()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    auto& frame = open_.back();
    const auto& entries = *frame.node.table();
    if (entries.size() >= kTableKeysMax) return fail(path(false), too_many(kTableKeysMax, "keys"));
    frame.name = std::move(name);
    if (utf8::has_control(frame.name)) return fail(path(true), kControlInKey);
    if (frame.node.find(frame.name) != nullptr) return fail(path(true), "is written twice");
    return true;
  }

  bool parse_error(size_t, const std::string&, const nlohmann::json::exception& error) {
    std::string_view text = error.what();
    const size_t bracket = text.find("] ");  // the library's own code of the error
    if (bracket != std::string_view::npos) text.remove_prefix(bracket + 2);
    return fail("", "is not JSON: " + printable(text, 240));
  }

  std::optional<Node> root;
  std::string error_key, error_text;

 private:
  struct Frame {
    Node node;
    std::string name;  // of the table's entry being read
  };

  bool fail(std::string where, std::string text) {
    error_key = std::move(where);
    error_text = std::move(text);
    return false;
  }

  // The dotted key of the innermost open table or list, or of the entry being read there.
  std::string path(bool with_entry) const {
    std::string text;
    for (size_t i = 0; i < open_.size() && (with_entry || i + 1 < open_.size()); ++i) {
      if (const auto* list = open_[i].node.list()) {
        text.append("[").append(std::to_string(list->size())).append("]");
      } else {
        text.append(text.empty() ? "" : ".").append(printable(open_[i].name, 64));
      }
    }
    return text;
  }

  template <typename T>
  bool open(T empty) {
    if (open_.size() >= static_cast<size_t>(kDepthMax)) return fail(path(true), too_deep());
    Frame frame;
    frame.node.value = std::move(empty);
    open_.push_back(std::move(frame));
    return true;
  }

  bool close() {
    Node node = std::move(open_.back().node);
    open_.pop_back();
    return add(std::move(node));
  }

  template <typename T>
  bool put(T value) {
    Node node;
    node.value = std::move(value);
    return add(std::move(node));
  }

  bool add(Node node) {
    if (open_.empty()) {
      root = std::move(node);
      return true;
    }
    auto& frame = open_.back();
    if (auto* entries = std::get_if<std::vector<Entry>>(&frame.node.value)) {
      entries->push_back({frame.name, std::move(node)});
      return true;
    }
    auto& list = std::get<std::vector<Node>>(frame.node.value);
    if (list.size() >= kListLengthMax) return fail(path(false), too_many(kListLengthMax, "elements"));
    list.push_back(std::move(node));
    return true;
  }

  std::vector<Frame> open_;
};

}  // namespace

const Node* Node::find(std::string_view name) const {
  const auto* entries = table();
  if (entries == nullptr) return nullptr;
  for (const auto& entry : *entries) {
    if (entry.name == name) return &entry.node;
  }
  return nullptr;
}

Document read_toml(std::string_view text, const std::string& origin) {
  if (text.size() > kTextBytesMax) return failed(origin, 0, "", too_large(text.size()));
  if (const int line = DottedKeys(text).find_excess_line(); line > 0) return failed(origin, line, "", too_deep());
  try {
    const toml::table parsed = toml::parse(text);
    Document document;
    document.root = convert_table(parsed, 0, "", 0);
    return document;
  } catch (const toml::parse_error& error) {
    return failed(origin, line_of(error.source()), "", "is not TOML: " + printable(error.description(), 240));
  } catch (const Excess& excess) {
    return failed(origin, excess.line, excess.key, excess.text);
  }
}

Document read_json(std::string_view text, const std::string& origin) {
  if (text.size() > kTextBytesMax) return failed(origin, 0, "", too_large(text.size()));
  JsonTree tree;
  const bool read = nlohmann::json::sax_parse(text.begin(), text.end(), &tree);
  if (!read) return failed(origin, 0, tree.error_key, tree.error_text);
  if (!tree.root || tree.root->table() == nullptr) return failed(origin, 0, "", "must be a JSON object: { ... }");
  Document document;
  document.root = std::move(tree.root);
  return document;
}

std::string_view kind_of(const Node& node) {
  struct Words {
    std::string_view operator()(const Alien& alien) const { return alien.what; }
    std::string_view operator()(bool) const { return "true or false"; }
    std::string_view operator()(int64_t) const { return "an integer"; }
    std::string_view operator()(double) const { return "a number with a fraction"; }
    std::string_view operator()(const std::string&) const { return "a text"; }
    std::string_view operator()(const std::vector<Node>&) const { return "a list"; }
    std::string_view operator()(const std::vector<Entry>&) const { return "a table"; }
  };
  return std::visit(Words{}, node.value);
}

}  // namespace spdld::config
