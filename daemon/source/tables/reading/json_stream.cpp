#include "daemon/source/tables/reading/json_stream.h"

#include <algorithm>

#include "daemon/base/result.h"
#include "daemon/source/tables/reading/json_text.h"

namespace spdld::source {
namespace {

// Finds where a value ends, in a text that grows.
class ValueEnd {
 public:
  // Looks at the characters that it has not seen yet. True: the value ends before size().
  bool find(std::string_view text) {
    for (; size_ < text.size(); ++size_) {
      const char c = text[size_];
      if (is_text_) {
        if (is_escaped_) {
          is_escaped_ = false;
        } else if (c == '\\') {
          is_escaped_ = true;
        } else if (c == '"') {
          is_text_ = false;
          if (depth_ == 0) {
            ++size_;
            return true;
          }
        }
      } else if (c == '"') {
        is_text_ = true;
      } else if (c == '[' || c == '{') {
        ++depth_;
      } else if (depth_ == 0 && (c == ',' || c == ']' || c == '}' || kJsonBlanks.find(c) != kJsonBlanks.npos)) {
        return true;  // a number or a word ends before it
      } else if ((c == ']' || c == '}') && --depth_ == 0) {
        ++size_;
        return true;
      }
    }
    return false;
  }
  size_t size() const { return size_; }
  bool is_open() const { return is_text_ || depth_ > 0; }

 private:
  size_t size_ = 0;
  uint64_t depth_ = 0;
  bool is_text_ = false, is_escaped_ = false;
};

}  // namespace

char JsonStream::next() {
  while (true) {
    const std::string_view text = reader_.text();
    const size_t blanks = std::min(text.find_first_not_of(kJsonBlanks), text.size());
    reader_.drop(blanks);
    if (blanks < text.size()) return reader_.text().front();
    if (reader_.is_at_end() || !reader_.more()) return '\0';
  }
}

bool JsonStream::take(char sign) {
  if (next() != sign) return false;
  reader_.drop(1);
  return true;
}

void JsonStream::want(char sign) {
  if (!take(sign)) refuse(std::string("a '") + sign + "' is missing: the file is no whole JSON");
}

bool JsonStream::is_at_end() { return next() == '\0' && reader_.text().empty(); }

std::string_view JsonStream::value() {
  next();
  ValueEnd end;
  while (!end.find(reader_.text())) {
    if (reader_.text().size() > kJsonValueBytesMax)
      refuse("a value has more than " + std::to_string(kJsonValueBytesMax) + " bytes");
    if (!reader_.is_at_end() && reader_.more()) continue;
    if (end.is_open()) refuse("the file ends inside of a value: was it copied whole?");
    break;
  }
  if (end.size() == 0) refuse("a value is missing: the file is no whole JSON");
  taken_ = end.size();
  return reader_.text().substr(0, taken_);
}

void JsonStream::drop() { reader_.drop(taken_); }

void JsonStream::refuse(const std::string& clause) const {
  throw SetupError(Trouble::kUsage, path_ + ", byte " + std::to_string(offset()) + ": " + clause + '.');
}

}  // namespace spdld::source
