#include "daemon/source/tables/reading/csv.h"

#include <cstring>

namespace spdld::source {
namespace {

using State = CsvRow::State;

bool ends_line(char c) { return c == '\n' || c == '\r'; }

class CsvRowReader {
 public:
  CsvRowReader(std::string_view text, char separator, bool is_all, CsvRow& row)
      : text_(text), separator_(separator), is_all_(is_all), row_(row) {}

  State read() {
    if (!text_.empty() && ends_line(text_.front())) return end_row();  // a blank line has no value
    while (true) {
      const State value = at_ < text_.size() && text_[at_] == '"' ? read_quoted() : read_plain();
      if (value != State::kWhole) return value;
      if (at_ == text_.size()) return is_all_ ? State::kWhole : State::kCut;
      if (text_[at_] != separator_) return end_row();
      ++at_;
    }
  }
  uint64_t bytes() const { return at_; }

 private:
  // Up to the separator or the end of the row.
  State read_plain() {
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != separator_ && !ends_line(text_[at_])) ++at_;
    if (at_ == text_.size() && !is_all_) return State::kCut;
    row_.values.push_back({text_.substr(begin, at_ - begin)});
    return State::kWhole;
  }

  State read_quoted() {
    const size_t begin = ++at_;
    bool has_doubled = false;
    while (true) {
      at_ = text_.find('"', at_);
      if (at_ == std::string_view::npos) {
        at_ = text_.size();
        return State::kCut;
      }
      if (at_ + 1 == text_.size() && !is_all_) return State::kCut;  // a second quote may follow
      if (at_ + 1 == text_.size() || text_[at_ + 1] != '"') break;
      has_doubled = true;
      at_ += 2;
    }
    row_.values.push_back({text_.substr(begin, at_ - begin), has_doubled});
    ++at_;
    const bool is_closed = at_ == text_.size() || text_[at_] == separator_ || ends_line(text_[at_]);
    return is_closed ? State::kWhole : State::kBad;
  }

  State end_row() {
    if (text_[at_] == '\r') {
      if (at_ + 1 == text_.size() && !is_all_) return State::kCut;  // LF may follow
      if (at_ + 1 < text_.size() && text_[at_ + 1] == '\n') ++at_;
    }
    ++at_;
    return State::kWhole;
  }

  const std::string_view text_;
  const char separator_;
  const bool is_all_;
  CsvRow& row_;
  size_t at_ = 0;
};

}  // namespace

void read_csv_row(std::string_view text, char separator, bool is_all, CsvRow& row) {
  row.values.clear();
  if (text.empty()) {
    row.state = State::kCut;
    row.bytes = 0;
    return;
  }
  CsvRowReader reader(text, separator, is_all, row);
  row.state = reader.read();
  row.bytes = reader.bytes();
}

uint64_t plain_csv(const CsvValue& value, uint8_t* to) {
  const uint8_t* const begin = to;
  for (std::string_view rest = value.text; !rest.empty();) {
    const size_t quote = value.has_doubled_quotes ? rest.find('"') : std::string_view::npos;
    const size_t size = quote == std::string_view::npos ? rest.size() : quote + 1;
    std::memcpy(to, rest.data(), size);
    to += size;
    rest.remove_prefix(quote == std::string_view::npos ? size : size + 1);
  }
  return static_cast<uint64_t>(to - begin);
}

}  // namespace spdld::source
