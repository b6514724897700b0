// A JSON value. The daemon answers queries with JSON, and spdlctl reads and prints it. nlohmann's library, which reads
// and writes the text, stands behind this header, in one source file: no other file compiles it. Plain values; one
// thread at a time.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spdld::config {

class Json {
 public:
  Json();  // null
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(Json other) noexcept;
  ~Json();

  Json(std::same_as<bool> auto flag) : Json(of_flag(flag)) {}
  template <std::signed_integral T>
  requires(!std::same_as<T, bool>) Json(T number) : Json(of_signed(number)) {}
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) Json(T number) : Json(of_unsigned(number)) {}
  Json(double number);
  Json(std::string text);
  Json(std::string_view text) : Json(std::string(text)) {}
  Json(const char* text) : Json(std::string(text)) {}
  template <typename T>
  Json(const std::vector<T>& values) : Json(array()) {
    for (const auto& value : values) push_back(value);
  }
  // A table where each value is a list of a text and something else, else a list: Json{{"a", 1}, {"b", 2}} is a table
  // of two. A list of pairs that begin with texts is made by array() and push_back().
  Json(std::initializer_list<Json> values);

  static Json array();
  static Json object();
  // Reads a text; nothing where `text` is not JSON.
  static std::optional<Json> parse(std::string_view text);
  // The value as text, without blanks; with `indent` 0 or more, each value on a line. Bytes that are not UTF-8 become
  // U+FFFD.
  std::string dump(int indent = -1) const;

  bool is_null() const;
  bool is_object() const;
  bool is_array() const;
  bool is_string() const;
  bool is_boolean() const;
  bool is_number() const;

  // Preconditions: the value is of that kind (throws std::logic_error else). Numbers are converted; a negative or too
  // large number becomes the nearest count.
  const std::string& text() const;
  double number() const;
  uint64_t count() const;
  bool flag() const;

  // The table's entry; nullptr where there is none, or where this is no table.
  const Json* find(std::string_view key) const;
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  // The entry of a table, which is made where there is none. Null becomes a table (throws std::logic_error for other
  // values).
  Json& operator[](std::string_view key);
  // Adds the entries of another table, which replace entries of the same names.
  void update(const Json& other);

  // Appends to a list; null becomes a list (throws std::logic_error for other values).
  void push_back(Json value);
  // The values of a list; empty for anything else.
  std::span<const Json> values() const;
  const Json* begin() const { return values().data(); }
  const Json* end() const { return values().data() + values().size(); }
  // The entries of a table, in the order of their keys' bytes; empty for anything else. Views of this value.
  std::vector<std::pair<std::string_view, const Json*>> entries() const;
  // The number of a list's values, or of a table's entries.
  size_t size() const;
  bool empty() const { return size() == 0; }

 private:
  struct Value;
  friend struct JsonText;

  static Json of(Value value);
  static Json of_flag(bool flag);
  static Json of_signed(int64_t number);
  static Json of_unsigned(uint64_t number);

  std::unique_ptr<Value> value_;  // none: null
};

}  // namespace spdld::config
