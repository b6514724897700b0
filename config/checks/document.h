// A file's or a message's content before it is checked: one small tree, whether it was written as TOML or as JSON, so
// that one checker serves both. The text is not trusted: its size, depth and lists are bounded, and nothing is thrown.
// No key of the tree has a control character, and no text but for the tabs and the ends of lines that a text of several
// lines has: texts become names, paths and messages.
// TOML: https://toml.io/en/v1.0.0; JSON: RFC 8259. Plain values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/checks/load.h"
#include "config/text/words.h"

namespace spdld::config {

constexpr size_t kTextBytesMax = 1u << 20;
constexpr int kDepthMax = 32;            // of tables and lists in one another
constexpr size_t kTableKeysMax = 256;    // of one table
constexpr size_t kListLengthMax = 1024;  // of one list

// A value that no key takes: a date, JSON's null, an integer beyond 64 bits. `what` names it in words.
struct Alien {
  std::string_view what;
};

struct Entry;

struct Node {
  int line = 0;        // where the key stands (of a list's element: the value); 0 in JSON
  bool octal = false;  // of an integer: it was written as 0o660
  std::variant<Alien, bool, int64_t, double, std::string, std::vector<Node>, std::vector<Entry>> value;

  const std::vector<Entry>* table() const { return std::get_if<std::vector<Entry>>(&value); }
  const std::vector<Node>* list() const { return std::get_if<std::vector<Node>>(&value); }
  const std::string* text() const { return std::get_if<std::string>(&value); }
  const Node* find(std::string_view name) const;  // the table's entry; none where there is none or this is no table
};

// Names of one table are unique, in the order of the file (TOML: sorted).
struct Entry {
  std::string name;
  Node node;
};

// The root is a table. Without one there is exactly one complaint.
struct Document {
  std::optional<Node> root;
  std::vector<Complaint> complaints;
};

Document read_toml(std::string_view text, const std::string& origin);
Document read_json(std::string_view text, const std::string& origin);

// Names the kind of a value in words: "a text", "a table".
std::string_view kind_of(const Node& node);

}  // namespace spdld::config
