// Values in a text of JSON (RFC 8259), taken off its front one after another, without a tree: for the rows of JSON
// lines and for small indexes. NaN, Infinity and -Infinity may stand for values, as Python's json writes them; the
// reader of media/text/json has the same rule. The text is not trusted: nesting is bounded, and nothing recurses
// further. Borrows the text; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace spdld::source {

inline constexpr int kJsonTextDepthMax = 64;
inline constexpr std::string_view kJsonBlanks = " \t\r\n";

enum class JsonKind : uint8_t { kNull, kText, kNumber, kFlag, kList, kTable };

struct JsonValue {
  JsonKind kind = JsonKind::kNull;
  std::string_view text;     // as it is written; of a text without its quotes
  bool has_escapes = false;  // of a text
};

class JsonText {
 public:
  explicit JsonText(std::string_view text) : rest_(text) {}

  // Takes the next value whole; none: there is no sound one.
  std::optional<JsonValue> take_value() { return take_value(0); }
  // Takes the sign, with the blanks before it, where it is the next one.
  bool take(char sign);
  bool is_at_end();  // but for blanks

 private:
  std::optional<JsonValue> take_value(int depth);
  std::optional<JsonValue> take_text();
  bool skip_inside(char closing, int depth);
  void skip_blanks();

  std::string_view rest_;
};

// Calls each(key, value) for the entries of a table's text; false: each() said so, or the text is no sound table.
template <typename Each>
bool for_each_entry_of(std::string_view table, const Each& each) {
  JsonText text(table);
  if (!text.take('{')) return false;
  if (text.take('}')) return text.is_at_end();
  do {
    const auto key = text.take_value();
    if (!key || key->kind != JsonKind::kText || !text.take(':')) return false;
    const auto value = text.take_value();
    if (!value || !each(*key, *value)) return false;
  } while (text.take(','));
  return text.take('}') && text.is_at_end();
}

// Calls each(value) for each element of a list's text. False: the text is no list.
template <typename Each>
bool for_each_element_of(std::string_view list, const Each& each) {
  JsonText text(list);
  if (!text.take('[')) return false;
  if (text.take(']')) return text.is_at_end();
  do {
    const auto value = text.take_value();
    if (!value || !each(*value)) return false;
  } while (text.take(','));
  return text.take(']') && text.is_at_end();
}

// Writes a text with its escapes resolved, as UTF-8, and returns its bytes; none: an escape is unknown, or half of a
// surrogate pair. `to` has room for text.size(): no escape is shorter than what it stands for.
std::optional<uint64_t> plain_json(std::string_view text, uint8_t* to);
// The text of a JsonValue of kind kText, with its escapes resolved; none as plain_json() has it.
std::optional<std::string> plain_text(const JsonValue& value);
// The number in a JsonValue; none: it is no whole number of 0 or more.
std::optional<uint64_t> plain_count(const JsonValue& value);

// Appends a text of UTF-8 in quotes, as JSON has it.
void append_text(std::string& list, std::string_view text);

}  // namespace spdld::source
