#include "config/text/json.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>
#include <variant>

#include "config/text/steering.h"
#include "config/text/words.h"

namespace spdld::config {

using List = std::vector<Json>;
using Table = std::map<std::string, Json, std::less<>>;

struct Json::Value {
  std::variant<bool, int64_t, uint64_t, double, std::string, List, Table> held;
};

// To and from the library's own values.
struct JsonText {
  static nlohmann::json to(const Json& json) {
    if (!json.value_) return nullptr;
    return std::visit([](const auto& held) { return to(held); }, json.value_->held);
  }
  static nlohmann::json to(const List& list) {
    auto out = nlohmann::json::array();
    for (const Json& value : list) out.push_back(to(value));
    return out;
  }
  static nlohmann::json to(const Table& table) {
    auto out = nlohmann::json::object();
    for (const auto& [key, value] : table) out.emplace(key, to(value));
    return out;
  }
  template <typename T>
  static nlohmann::json to(const T& plain) {
    return plain;
  }

  static Json from(const nlohmann::json& json) {
    switch (json.type()) {
      case nlohmann::json::value_t::boolean:
        return json.get<bool>();
      case nlohmann::json::value_t::number_integer:
        return json.get<int64_t>();
      case nlohmann::json::value_t::number_unsigned:
        return json.get<uint64_t>();
      case nlohmann::json::value_t::number_float:
        return json.get<double>();
      case nlohmann::json::value_t::string:
        return json.get_ref<const std::string&>();
      case nlohmann::json::value_t::array: {
        Json list = Json::array();
        for (const auto& value : json) list.push_back(from(value));
        return list;
      }
      case nlohmann::json::value_t::object: {
        Json table = Json::object();
        for (const auto& [key, value] : json.items()) table[key] = from(value);
        return table;
      }
      default:
        return {};
    }
  }
};

namespace {

[[noreturn]] void wrong_kind(const char* wanted) {
  throw std::logic_error(std::string("a JSON value is no ") + wanted);
}

}  // namespace

Json::Json() = default;
Json Json::of(Value value) {
  Json json;
  json.value_ = std::make_unique<Value>(std::move(value));
  return json;
}
Json::Json(const Json& other) : value_(other.value_ ? std::make_unique<Value>(*other.value_) : nullptr) {}
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(Json other) noexcept {
  value_ = std::move(other.value_);
  return *this;
}
Json::~Json() = default;

Json::Json(double number) : Json(of(Value{number})) {}
Json::Json(std::string text) : Json(of(Value{std::move(text)})) {}
Json Json::of_flag(bool flag) { return of(Value{flag}); }
Json Json::of_signed(int64_t number) { return of(Value{number}); }
Json Json::of_unsigned(uint64_t number) { return of(Value{number}); }
Json Json::array() { return of(Value{List()}); }
Json Json::object() { return of(Value{Table()}); }

Json::Json(std::initializer_list<Json> values) {
  const auto is_entry = [](const Json& value) {
    return value.is_array() && value.size() == 2 && value.begin()->is_string();
  };
  if (!std::all_of(values.begin(), values.end(), is_entry)) {
    value_ = std::make_unique<Value>(Value{List(values)});
    return;
  }
  Table table;
  for (const Json& entry : values) table.emplace(entry.begin()->text(), entry.begin()[1]);
  value_ = std::make_unique<Value>(Value{std::move(table)});
}

std::optional<Json> Json::parse(std::string_view text) {
  const auto parsed = nlohmann::json::parse(text, nullptr, false);
  if (parsed.is_discarded()) return std::nullopt;
  return JsonText::from(parsed);
}

std::string Json::dump(int indent) const {
  return steady_json(JsonText::to(*this).dump(indent, ' ', false, nlohmann::json::error_handler_t::replace));
}

bool Json::is_null() const { return value_ == nullptr; }
bool Json::is_object() const { return value_ && std::holds_alternative<Table>(value_->held); }
bool Json::is_array() const { return value_ && std::holds_alternative<List>(value_->held); }
bool Json::is_string() const { return value_ && std::holds_alternative<std::string>(value_->held); }
bool Json::is_boolean() const { return value_ && std::holds_alternative<bool>(value_->held); }
bool Json::is_number() const {
  return value_ && (std::holds_alternative<int64_t>(value_->held) || std::holds_alternative<uint64_t>(value_->held) ||
                    std::holds_alternative<double>(value_->held));
}

const std::string& Json::text() const {
  if (!is_string()) wrong_kind("text");
  return std::get<std::string>(value_->held);
}

double Json::number() const {
  if (!is_number()) wrong_kind("number");
  if (const auto* number = std::get_if<int64_t>(&value_->held)) return static_cast<double>(*number);
  if (const auto* number = std::get_if<uint64_t>(&value_->held)) return static_cast<double>(*number);
  return std::get<double>(value_->held);
}

uint64_t Json::count() const {
  if (!is_number()) wrong_kind("number");
  if (const auto* number = std::get_if<uint64_t>(&value_->held)) return *number;
  if (const auto* number = std::get_if<int64_t>(&value_->held)) return *number < 0 ? 0 : static_cast<uint64_t>(*number);
  const double number = std::get<double>(value_->held);
  if (!(number > 0)) return 0;
  return number >= 0x1p64 ? UINT64_MAX : static_cast<uint64_t>(number);
}

bool Json::flag() const {
  if (!is_boolean()) wrong_kind("flag");
  return std::get<bool>(value_->held);
}

const Json* Json::find(std::string_view key) const {
  if (!is_object()) return nullptr;
  const Table& table = std::get<Table>(value_->held);
  const auto found = table.find(key);
  return found == table.end() ? nullptr : &found->second;
}

Json& Json::operator[](std::string_view key) {
  if (!value_) *this = object();
  if (!is_object()) wrong_kind("table");
  Table& table = std::get<Table>(value_->held);
  const auto found = table.find(key);
  return found != table.end() ? found->second : table.emplace(std::string(key), Json()).first->second;
}

void Json::update(const Json& other) {
  if (!other.is_object()) wrong_kind("table");
  for (const auto& [key, value] : std::get<Table>(other.value_->held)) (*this)[key] = value;
}

void Json::push_back(Json value) {
  if (!value_) *this = array();
  if (!is_array()) wrong_kind("list");
  std::get<List>(value_->held).push_back(std::move(value));
}

std::span<const Json> Json::values() const {
  if (!is_array()) return {};
  return std::get<List>(value_->held);
}

std::vector<std::pair<std::string_view, const Json*>> Json::entries() const {
  std::vector<std::pair<std::string_view, const Json*>> entries;
  if (!is_object()) return entries;
  for (const auto& [key, value] : std::get<Table>(value_->held)) entries.emplace_back(key, &value);
  return entries;
}

size_t Json::size() const {
  if (is_object()) return std::get<Table>(value_->held).size();
  return values().size();
}

}  // namespace spdld::config
