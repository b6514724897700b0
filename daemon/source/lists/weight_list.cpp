#include "daemon/source/lists/weight_list.h"

#include <charconv>
#include <deque>
#include <limits>

#include "config/text/words.h"
#include "daemon/base/result.h"
#include "daemon/source/lists/list_file.h"

namespace spdld::source {
namespace {

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// As std::from_chars has it. None: it is no number; a number that is too large or small for a double is a NaN.
std::optional<double> number_in(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || end != text.data() + text.size() || error == std::errc::invalid_argument) return std::nullopt;
  return error == std::errc() ? number : std::numeric_limits<double>::quiet_NaN();
}

class WeightLines {
 public:
  WeightLines(std::string what, std::string_view column) : what_(std::move(what)), column_(column) {}

  void read(std::string_view text) {
    bool is_header = !column_.empty();
    for_each_line(text, [&](std::string_view line, uint64_t number) {
      split(line, number);
      if (!std::exchange(is_header, false)) return add(number);
      read_header(number);
    });
    if (is_header) refuse("is empty: its first line must name the columns, " + quoted_column() + " among them.");
  }

  const std::vector<NamedLine>& lines() const { return lines_; }
  const std::vector<double>& weights() const { return weights_; }  // by line

  [[noreturn]] void refuse(const std::string& words) const { throw SetupError(Trouble::kUsage, what_ + " " + words); }
  [[noreturn]] void refuse(uint64_t line, const std::string& words) const {
    throw SetupError(Trouble::kUsage, what_ + ", line " + std::to_string(line) + ": " + words);
  }

 private:
  // The column's name is the pipeline's own word; nothing of the file is quoted.
  std::string quoted_column() const { return "\"" + config::printable(column_) + "\""; }

  // Sets columns_, which live as long as the text and this.
  void split(std::string_view line, uint64_t number) {
    columns_.clear();
    const char separator = line.find('\t') != std::string_view::npos ? '\t' : ',';
    for (;;) {
      if (separator == ',' && line.starts_with('"')) {
        columns_.push_back(take_quoted(line, number));
      } else {
        columns_.push_back(line.substr(0, line.find(separator)));
        line.remove_prefix(columns_.back().size());
      }
      if (line.empty()) return;
      if (!line.starts_with(separator)) refuse(number, "a column goes on behind its closing quote.");
      line.remove_prefix(1);
    }
  }

  std::string_view take_quoted(std::string_view& line, uint64_t number) {
    std::string text;
    for (size_t at = 1;; ++at) {
      if (at >= line.size()) refuse(number, "a column's closing quote is missing.");
      if (line[at] == '"' && !line.substr(at + 1).starts_with('"')) {
        line.remove_prefix(at + 1);
        return unquoted_.emplace_back(std::move(text));
      }
      at += line[at] == '"' ? 1 : 0;
      text += line[at];
    }
  }

  void read_header(uint64_t number) {
    std::optional<size_t> found;
    for (size_t i = 1; i < columns_.size(); ++i) {
      if (trimmed(columns_[i]) != column_) continue;
      if (found) refuse(number, "two columns are called " + quoted_column() + ".");
      found = i;
    }
    if (!found) {
      refuse(number, "behind the first column, of names, none is called " + quoted_column() + "; there are " +
                         std::to_string(columns_.size() - 1) + ".");
    }
    place_ = *found;
    count_ = columns_.size();
  }

  void add(uint64_t number) {
    if (columns_.size() != count_) {
      refuse(number,
             "there " +
                 (columns_.size() == 1 ? std::string("is one column")
                                       : "are " + std::to_string(columns_.size()) + " columns") +
                 ", not " + std::to_string(count_) +
                 (column_.empty() ? ": a line is a name or id, a TAB or comma, and a weight (a name with commas "
                                    "stands in quotes)."
                                  : " as the first line has them."));
    }
    lines_.push_back({columns_.front(), number});
    weights_.push_back(weight_of(columns_[place_], number));
  }

  double weight_of(std::string_view text, uint64_t number) const {
    if (const auto weight = sample_weight_in(text)) return *weight;
    const bool may_be_header = lines_.size() == 1 && column_.empty() && !number_in(trimmed(text));
    refuse(number, "a weight must be " + std::string(kSampleWeightRule) +
                       (may_be_header ? "; where the first line names the columns, say which one has the weights "
                                        "(order.weights_column)."
                                      : "."));
  }

  const std::string what_;
  const std::string_view column_;  // its name; empty: there is no header
  size_t place_ = 1, count_ = 2;   // the column with the weights, and how many there are
  std::vector<std::string_view> columns_;
  std::deque<std::string> unquoted_;
  std::vector<NamedLine> lines_;
  std::vector<double> weights_;
};

}  // namespace

std::optional<double> sample_weight_in(std::string_view text) {
  const std::optional<double> weight = number_in(trimmed(text));
  if (!weight || !is_sample_weight(*weight)) return std::nullopt;
  return *weight == 0 ? 0 : *weight;  // -0 is 0
}

std::vector<double> read_sample_weights(const std::string& path, std::string_view column, std::string_view key,
                                        const Listing& listing, Stamps& stamps, const std::stop_token& stop) {
  const std::string what = std::string(key) + ": " + path;
  const std::string text = read_list_file(path, what, listing, stamps);
  WeightLines given(what, column);
  given.read(text);
  constexpr uint64_t kNoLine = UINT64_MAX;
  std::vector<double> weights(listing.size(), kNoWeight);
  // The first line that names a sample for the second time.
  NamedSample again{kNoLine, 0};
  for (const NamedSample& sample : find_samples(given.lines(), what, listing, stop)) {
    if (std::exchange(weights[sample.id], given.weights()[sample.line]) == kNoWeight) continue;
    if (sample.line < again.line) again = sample;
  }
  if (again.line != kNoLine) {
    given.refuse(given.lines()[again.line].line, "sample " + std::to_string(again.id) + " (" +
                                                     shown(listing.name(again.id)) +
                                                     ") has a weight in another line already: name each sample once.");
  }
  return weights;
}

}  // namespace spdld::source
