#include "daemon/source/tables/reading/json_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "proto/hex.h"

namespace spdld::source {
namespace {

struct Word {
  std::string_view text;
  JsonKind kind;
};
constexpr std::array<Word, 6> kWords = {{{"null", JsonKind::kNull},
                                         {"true", JsonKind::kFlag},
                                         {"false", JsonKind::kFlag},
                                         {"NaN", JsonKind::kNumber},
                                         {"Infinity", JsonKind::kNumber},
                                         {"-Infinity", JsonKind::kNumber}}};

size_t count_digits(std::string_view text) { return std::min(text.find_first_not_of("0123456789"), text.size()); }

// How many characters the number at the start of the text has; 0: there is none.
size_t number_size(std::string_view text) {
  size_t at = text.starts_with('-') ? 1 : 0;
  const size_t digits = count_digits(text.substr(at));
  if (digits == 0 || (digits > 1 && text[at] == '0')) return 0;
  at += digits;
  if (at < text.size() && text[at] == '.') {
    const size_t fraction = count_digits(text.substr(at + 1));
    if (fraction == 0) return 0;
    at += 1 + fraction;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    const size_t exponent = count_digits(text.substr(at));
    if (exponent == 0) return 0;
    at += exponent;
  }
  return at;
}

// The four hexadecimal digits behind "\u", taken off the front.
std::optional<uint32_t> take_unit(std::string_view& rest) {
  uint32_t unit = 0;
  const std::string_view digits = rest.substr(0, 4);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), unit, 16);
  if (error != std::errc() || digits.size() != 4 || end != digits.data() + 4 || digits[0] == '-') return std::nullopt;
  rest.remove_prefix(4);
  return unit;
}

std::optional<uint32_t> take_code_point(std::string_view& rest) {
  const auto unit = take_unit(rest);
  if (!unit || *unit < 0xd800 || *unit > 0xdfff) return unit;
  if (*unit > 0xdbff || !rest.starts_with("\\u")) return std::nullopt;
  rest.remove_prefix(2);
  const auto low = take_unit(rest);
  if (!low || *low < 0xdc00 || *low > 0xdfff) return std::nullopt;
  return 0x10000 + ((*unit - 0xd800) << 10) + (*low - 0xdc00);
}

uint8_t* write_utf8(uint32_t code, uint8_t* to) {
  const auto tail = [&](unsigned shift) { return static_cast<uint8_t>(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) {
    *to++ = static_cast<uint8_t>(code);
    return to;
  }
  if (code < 0x800) {
    *to++ = static_cast<uint8_t>(0xc0 | code >> 6);
  } else if (code < 0x10000) {
    *to++ = static_cast<uint8_t>(0xe0 | code >> 12);
    *to++ = tail(6);
  } else {
    *to++ = static_cast<uint8_t>(0xf0 | code >> 18);
    *to++ = tail(12);
    *to++ = tail(6);
  }
  *to++ = tail(0);
  return to;
}

}  // namespace

void JsonText::skip_blanks() {
  const size_t blanks = rest_.find_first_not_of(kJsonBlanks);
  rest_.remove_prefix(std::min(blanks, rest_.size()));
}

bool JsonText::take(char sign) {
  skip_blanks();
  if (!rest_.starts_with(sign)) return false;
  rest_.remove_prefix(1);
  return true;
}

bool JsonText::is_at_end() {
  skip_blanks();
  return rest_.empty();
}

std::optional<JsonValue> JsonText::take_text() {
  JsonValue value{JsonKind::kText, {}, false};
  for (size_t at = 1; at < rest_.size(); ++at) {
    const char c = rest_[at];
    if (static_cast<unsigned char>(c) < 0x20) return std::nullopt;
    if (c == '\\') {
      value.has_escapes = true;
      ++at;
    } else if (c == '"') {
      value.text = rest_.substr(1, at - 1);
      rest_.remove_prefix(at + 1);
      return value;
    }
  }
  return std::nullopt;
}

bool JsonText::skip_inside(char closing, int depth) {
  if (depth == kJsonTextDepthMax) return false;
  if (take(closing)) return true;
  do {
    if (closing == '}') {
      skip_blanks();
      if (!rest_.starts_with('"') || !take_text() || !take(':')) return false;
    }
    if (!take_value(depth + 1)) return false;
  } while (take(','));
  return take(closing);
}

std::optional<JsonValue> JsonText::take_value(int depth) {
  skip_blanks();
  if (rest_.empty()) return std::nullopt;
  if (rest_.front() == '"') return take_text();
  const std::string_view all = rest_;
  if (rest_.front() == '{' || rest_.front() == '[') {
    const bool is_table = rest_.front() == '{';
    rest_.remove_prefix(1);
    if (!skip_inside(is_table ? '}' : ']', depth)) return std::nullopt;
    return JsonValue{is_table ? JsonKind::kTable : JsonKind::kList, all.substr(0, all.size() - rest_.size())};
  }
  for (const Word& word : kWords) {
    if (!rest_.starts_with(word.text)) continue;
    rest_.remove_prefix(word.text.size());
    return JsonValue{word.kind, word.text};
  }
  const size_t size = number_size(rest_);
  rest_.remove_prefix(size);
  if (size == 0) return std::nullopt;
  return JsonValue{JsonKind::kNumber, all.substr(0, size)};
}

std::optional<uint64_t> plain_json(std::string_view text, uint8_t* to) {
  constexpr std::string_view kEscaped = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
  const uint8_t* const begin = to;
  while (!text.empty()) {
    const size_t plain = std::min(text.find('\\'), text.size());
    if (plain > 0) std::memcpy(to, text.data(), plain);
    to += plain;
    text.remove_prefix(plain);
    if (text.empty()) break;
    if (text.size() < 2) return std::nullopt;
    const char escaped = text[1];
    text.remove_prefix(2);
    if (escaped == 'u') {
      const auto code = take_code_point(text);
      if (!code) return std::nullopt;
      to = write_utf8(*code, to);
      continue;
    }
    const size_t which = kEscaped.find(escaped);
    if (which == std::string_view::npos) return std::nullopt;
    *to++ = static_cast<uint8_t>(kMeant[which]);
  }
  return static_cast<uint64_t>(to - begin);
}

std::optional<std::string> plain_text(const JsonValue& value) {
  if (!value.has_escapes) return std::string(value.text);
  std::string plain(value.text.size(), '\0');
  const auto size = plain_json(value.text, reinterpret_cast<uint8_t*>(plain.data()));
  if (!size) return std::nullopt;
  plain.resize(*size);
  return plain;
}

std::optional<uint64_t> plain_count(const JsonValue& value) {
  uint64_t count = 0;
  const auto [end, error] = std::from_chars(value.text.data(), value.text.data() + value.text.size(), count);
  const bool is_whole = error == std::errc() && end == value.text.data() + value.text.size();
  return value.kind == JsonKind::kNumber && is_whole ? std::optional(count) : std::nullopt;
}

void append_text(std::string& list, std::string_view text) {
  list += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20)
      append_hex(list += "\\u00", byte);
    else
      list.append(c == '"' || c == '\\' ? 1 : 0, '\\').append(1, c);
  }
  list += '"';
}

}  // namespace spdld::source
