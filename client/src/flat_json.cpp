#include "client/src/flat_json.h"

#include <array>
#include <charconv>
#include <cstdio>

namespace spdld::client {

namespace {

constexpr uint32_t kHighSurrogate = 0xD800, kLowSurrogate = 0xDC00, kSurrogatesEnd = 0xE000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void append_utf8(std::string& text, uint32_t code) {
  const auto put = [&text](uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0 | code >> 6);
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
  }
  put(0x80 | (code & 0x3F));
}

// Each function: whether it found what it wants; else fault_ says so, and at_ where.
class Reader {
 public:
  explicit Reader(std::string_view json) : json_(json) {}

  bool read_object(std::vector<FlatMember>& members) {
    skip_space();
    if (!take('{')) return fail("no { begins it");
    skip_space();
    if (!take('}')) {
      do {
        if (members.size() == kFlatMembersMax) return fail("it has too many members");
        if (!read_member(members)) return false;
      } while (take(','));
      if (!take('}')) return fail("neither , nor } follows a value");
    }
    skip_space();
    return at_ == json_.size() || fail("something follows its }");
  }

  std::string fault() const { return std::string(fault_) + " (byte " + std::to_string(at_) + ")"; }

 private:
  bool read_member(std::vector<FlatMember>& members) {
    FlatMember member;
    skip_space();
    if (!read_text(member.name)) return false;
    skip_space();
    if (!take(':')) return fail("no : follows a name");
    skip_space();
    member.is_text = is_next('"');
    if (!(member.is_text ? read_text(member.text) : read_number(member.number))) return false;
    skip_space();
    members.push_back(std::move(member));
    return true;
  }

  bool read_number(uint64_t& number) {
    const char* const begin = json_.data() + at_;
    const char* const end = json_.data() + json_.size();
    if (begin == end || !is_digit(*begin)) return fail("a value is neither a text nor a whole number from 0");
    const auto [rest, error] = std::from_chars(begin, end, number);
    if (error != std::errc()) return fail("a number is too large");
    if (*begin == '0' && rest != begin + 1) return fail("a number begins with a 0");
    at_ += static_cast<size_t>(rest - begin);
    if (is_next('.') || is_next('e') || is_next('E')) return fail("a number is not whole");
    return true;
  }

  bool read_text(std::string& text) {
    if (!take('"')) return fail("no text in quotes where one belongs");
    while (at_ < json_.size()) {
      const char c = json_[at_];
      if (c == '"') return take('"');
      if (static_cast<unsigned char>(c) < 0x20) return fail("a text holds a control character");
      if (text.size() >= kFlatTextBytesMax) return fail("a text is too long");
      ++at_;
      if (c != '\\') {
        text += c;
      } else if (!read_escape(text)) {
        return false;
      }
    }
    return fail("a text does not end");
  }

  bool read_escape(std::string& text) {
    static constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    if (at_ == json_.size()) return fail("a text does not end");
    const char letter = json_[at_];
    const size_t index = kLetters.find(letter);
    if (index != std::string_view::npos) {
      text += kMeanings[index];
      ++at_;
      return true;
    }
    uint32_t code = 0;
    if (!read_code(code)) return false;
    if (code >= kHighSurrogate && code < kLowSurrogate) {  // one character beyond 16 bits takes two escapes
      uint32_t low = 0;
      if (!take('\\') || !read_code(low)) return fail("half a character is escaped");
      if (low < kLowSurrogate || low >= kSurrogatesEnd) return fail("half a character is escaped");
      code = 0x10000 + ((code - kHighSurrogate) << 10) + (low - kLowSurrogate);
    } else if (code >= kLowSurrogate && code < kSurrogatesEnd) {
      return fail("half a character is escaped");
    }
    if (code == 0) return fail("a text holds a NUL");
    append_utf8(text, code);
    return true;
  }

  // Of an escape, what follows its backslash: u and four hexadecimal digits.
  bool read_code(uint32_t& code) {
    const char* const digits = json_.data() + at_ + 1;
    if (at_ + 5 > json_.size() || json_[at_] != 'u') return fail("an escape that JSON does not have");
    const auto [rest, error] = std::from_chars(digits, digits + 4, code, 16);
    if (error != std::errc() || rest != digits + 4) return fail("an escape that JSON does not have");
    at_ += 5;
    return true;
  }

  bool is_next(char c) const { return at_ < json_.size() && json_[at_] == c; }
  bool take(char c) {
    if (!is_next(c)) return false;
    ++at_;
    return true;
  }
  void skip_space() {
    while (is_next(' ') || is_next('\t') || is_next('\n') || is_next('\r')) ++at_;
  }
  bool fail(const char* fault) {
    fault_ = fault;
    return false;
  }

  const std::string_view json_;
  size_t at_ = 0;
  const char* fault_ = "";
};

}  // namespace

std::string read_flat_object(std::string_view json, std::vector<FlatMember>& members) {
  members.clear();
  if (json.size() > kFlatBytesMax) return "it has more than " + std::to_string(kFlatBytesMax) + " bytes";
  Reader reader(json);
  return reader.read_object(members) ? std::string() : reader.fault();
}

void append_json_text(std::string& json, std::string_view text) {
  json += '"';
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(c));
      json += escape.data();
    } else {
      if (c == '"' || c == '\\') json += '\\';
      json += c;
    }
  }
  json += '"';
}

}  // namespace spdld::client
