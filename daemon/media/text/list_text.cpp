#include "daemon/media/text/list_text.h"

#include <charconv>
#include <utility>

#include "config/text/words.h"
#include "daemon/base/formats/text_encoding.h"

namespace spdld::text {
namespace {

constexpr size_t kCitedBytes = 32;
constexpr uint64_t kToldNumbers = 4096, kNumberNs = 50;  // at once; of one, about

bool is_white(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
bool ends_number(char c) { return is_white(c) || c == ',' || c == '[' || c == ']'; }

Error bad(std::string clause) { return {Trouble::kContent, std::move(clause)}; }

class ListReader {
 public:
  ListReader(std::string_view text, NumberList& list, media::WorkGuard* guard)
      : at_(without_byte_order_mark(text).data()), end_(text.data() + text.size()), list_(list), guard_(guard) {
    while (end_ != at_ && end_[-1] == '\0') --end_;
  }

  template <typename T>
  Status read() {
    skip_white();
    const bool is_open = next() == '[';
    Status status = Done{};
    if (list_.width == 0) {
      at_ += is_open ? 1 : 0;
      status = read_sequence(is_open, [this] { return read_number<T>(); });
    } else if (!is_open) {
      status = read_sequence(false, [this] { return read_number_of_line<T>(); });
      if (status && list_.count % list_.width != 0) return wrong_row_of_line();
    } else {
      const char second = next_behind();
      const bool has_outer = second == '[' || second == ']';  // brackets around all rows
      at_ += has_outer ? 1 : 0;
      status = read_sequence(has_outer, [this] { return read_row<T>(); });
    }
    if (!status) return status;
    skip_white();
    return at_ == end_ ? status : bad(list_.row_place() + ": " + cited() + " stands behind the list's end");
  }

 private:
  char next() const { return at_ == end_ ? '\0' : *at_; }
  // Looks behind the next character: returns the first character there that is not white space.
  char next_behind() const {
    const char* at = at_ + 1;
    while (at != end_ && is_white(*at)) ++at;
    return at == end_ ? '\0' : *at;
  }

  void skip_white() {
    for (; at_ != end_ && is_white(*at_); ++at_) line_has_ended_ |= *at_ == '\n';
  }

  // Elements up to the bracket that closes them, which is taken too, or up to the text's end.
  template <typename ReadElement>
  Status read_sequence(bool in_brackets, ReadElement&& read_element) {
    for (bool is_first = true;; is_first = false) {
      skip_white();
      const bool has_comma = !is_first && next() == ',';
      if (has_comma) {
        ++at_;
        skip_white();
      }
      if (at_ == end_) {
        if (has_comma) return bad(list_.place() + " is missing: the text ends behind a comma");
        return in_brackets ? Status(bad("the list has no end: a ']' is missing")) : Status(Done{});
      }
      if (*at_ == ',') return bad(list_.place() + " is missing: a comma stands in its place");
      if (*at_ == ']') {
        if (!in_brackets) return bad(list_.place() + ": a ']' has no '[' before it");
        if (has_comma) return bad(list_.place() + " is missing: a ']' stands behind a comma");
        ++at_;
        return Done{};
      }
      if (Status status = read_element(); !status) return status;
    }
  }

  template <typename T>
  Status read_row() {
    if (*at_ != '[')
      return bad(list_.row_place() + ": " + cited() + " is not a row of " + std::to_string(list_.width) + " numbers");
    ++at_;
    const uint64_t start = list_.count;
    const Status status = read_sequence(true, [this, start]() -> Status {
      if (list_.count - start < list_.width) return read_number<T>();
      return wrong_width("more than " + std::to_string(list_.width), start);
    });
    if (!status || list_.count - start == list_.width) return status;
    return wrong_width(std::to_string(list_.count - start), start);
  }

  // Of a row without brackets: the end of a line does not part it.
  template <typename T>
  Status read_number_of_line() {
    if (std::exchange(line_has_ended_, false) && list_.count % list_.width != 0) return wrong_row_of_line();
    return read_number<T>();
  }

  template <typename T>
  Status read_number() {
    if (*at_ == '[') return bad(list_.place() + " is a list, not a number");
    // std::from_chars does not take the plus sign that other programs write.
    const char* const digits = at_ + (*at_ == '+' && end_ - at_ > 1 && at_[1] != '-' ? 1 : 0);
    T number{};
    std::from_chars_result read{};
    bool fits = true;
    if constexpr (std::is_floating_point_v<T>) {
      double wide = 0;
      read = std::from_chars(digits, end_, wide);
      fits = narrow(wide, number);
    } else {
      read = std::from_chars(digits, end_, number);
    }
    if (read.ec != std::errc() || !fits || (read.ptr != end_ && !ends_number(*read.ptr))) return no_number(digits);
    list_.add(number);
    at_ = read.ptr;
    if (guard_ != nullptr && list_.count % kToldNumbers == 0) guard_->spend(kToldNumbers * kNumberNs);
    return Done{};
  }

  // The word that comes next, for an error.
  std::string cited() const {
    const char* stop = at_;
    while (stop != end_ && stop - at_ < static_cast<ptrdiff_t>(kCitedBytes) && !(stop != at_ && ends_number(*stop)))
      ++stop;
    return "'" + config::printable({at_, static_cast<size_t>(stop - at_)}) + "'";
  }

  // The error where the next word is no number of the type, though it may be a number.
  Error no_number(const char* digits) const {
    double number = 0;
    const auto [stop, error] = std::from_chars(digits, end_, number);
    const bool is_word = stop == end_ || ends_number(*stop);
    const bool is_decimal = error != std::errc::invalid_argument && is_word && std::isfinite(number);
    return bad(list_.place() + ": " + cited() +
               (is_decimal ? " does not fit " + std::string(config::dtype_name(list_.dtype))
                           : std::string(" is no decimal number")));
  }

  // The error of the row whose first number has this place among all numbers.
  Error wrong_width(const std::string& held, uint64_t start) const {
    return bad("element [" + std::to_string(start / list_.width) + "] has " + held + " numbers, not " +
               std::to_string(list_.width));
  }

  Error wrong_row_of_line() const {
    const uint64_t held = list_.count % list_.width;
    return wrong_width(std::to_string(held), list_.count - held);
  }

  const char* at_;
  const char* end_;
  NumberList& list_;
  media::WorkGuard* const guard_;
  bool line_has_ended_ = false;  // since the last number of a line
};

}  // namespace

Status read_list(std::string_view text, NumberList& list, media::WorkGuard* guard) {
  return with_number_type(list.dtype, [&](auto zero) { return ListReader(text, list, guard).read<decltype(zero)>(); });
}

}  // namespace spdld::text
