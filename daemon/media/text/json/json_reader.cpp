#include "daemon/media/text/json/json_reader.h"

#include <simdjson.h>

#include <array>
#include <charconv>
#include <new>
#include <optional>

namespace spdld::text {
namespace {

using config::JsonStep;
using simdjson::dom::element;
using simdjson::dom::element_type;

constexpr size_t kKeptBytesMax = 1u << 20;  // a parser has some twelve times the memory of the largest text it has read

std::string_view words(element_type type) {
  switch (type) {
    case element_type::ARRAY:
      return "a list";
    case element_type::OBJECT:
      return "a table";
    case element_type::STRING:
      return "a text";
    case element_type::BOOL:
      return "true or false";
    case element_type::NULL_VALUE:
      return "null";
    default:  // INT64, UINT64 and DOUBLE; later versions of simdjson know more
      return "a number";
  }
}

Error bad(std::string clause) { return {Trouble::kContent, std::move(clause)}; }

// None: it has no such entry or element.
std::optional<element> step_into(const element& from, const JsonStep& step) {
  if (step.is_index) {
    element found;
    const simdjson::dom::array list = from.get_array().value_unsafe();
    return list.at(step.index).get(found) == simdjson::SUCCESS ? std::optional(found) : std::nullopt;
  }
  std::optional<element> found;
  const simdjson::dom::object table = from.get_object().value_unsafe();
  for (const auto field : table) {
    if (field.key == step.key) found = field.value;
  }
  return found;
}

std::string where(const std::vector<JsonStep>& steps, size_t count) {
  if (count == 0) return "the JSON";
  return '"' + config::steps_text({steps.begin(), steps.begin() + static_cast<ptrdiff_t>(count)}) + '"';
}

}  // namespace

struct JsonReader::Inside {
  template <typename Number>
  std::string_view digits(Number number) {
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number);
    return {text.data(), static_cast<size_t>(end - text.data())};
  }

  Result<std::string_view> text_of(const element& value) {
    switch (value.type()) {
      case element_type::INT64:
        return digits(value.get_int64().value_unsafe());
      case element_type::UINT64:
        return digits(value.get_uint64().value_unsafe());
      case element_type::DOUBLE:
        return digits(value.get_double().value_unsafe());
      case element_type::STRING:
        return value.get_string().value_unsafe();
      case element_type::BOOL:
        return std::string_view(value.get_bool().value_unsafe() ? "1" : "0");
      default:
        return bad(std::string(words(value.type())) + ", not a number or a text");
    }
  }

  std::optional<simdjson::dom::parser> parser;
  element root;
  std::array<char, 32> text;  // a number
};

JsonReader::JsonReader() : inside_(std::make_unique<Inside>()) {}
JsonReader::~JsonReader() = default;
JsonReader::JsonReader(JsonReader&&) noexcept = default;

Status JsonReader::read(std::span<const uint8_t> bytes) {
  if (bytes.size() > kJsonBytesMax) {
    return bad("its " + std::to_string(bytes.size()) + " bytes of JSON are more than the limit of " +
               std::to_string(kJsonBytesMax));
  }
  auto& parser = inside_->parser;
  if (!parser || parser->capacity() > kKeptBytesMax) parser.emplace(kJsonBytesMax);
  // The library reads some bytes behind the text's end, so it takes a copy.
  const char* text = reinterpret_cast<const char*>(bytes.data());
  const auto error = parser->parse(text, bytes.size(), true).get(inside_->root);
  if (error == simdjson::SUCCESS) return Done{};
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();  // no fault of the text's
  return bad(std::string("it is no sound JSON: ") + simdjson::error_message(error));
}

Result<std::string_view> JsonReader::at(const std::vector<JsonStep>& steps) {
  element value = inside_->root;
  for (size_t i = 0; i < steps.size(); ++i) {
    const JsonStep& step = steps[i];
    const element_type wanted = step.is_index ? element_type::ARRAY : element_type::OBJECT;
    if (value.type() != wanted) {
      return bad(where(steps, i) + " is " + std::string(words(value.type())) + ", not " + std::string(words(wanted)));
    }
    const auto next = step_into(value, step);
    if (!next) {
      return bad(where(steps, i) + " has no " +
                 (step.is_index ? "element " + std::to_string(step.index) : '"' + step.key + '"'));
    }
    value = *next;
  }
  auto text = inside_->text_of(value);
  return text ? std::move(text) : bad(where(steps, steps.size()) + " is " + text.error().message);
}

}  // namespace spdld::text
