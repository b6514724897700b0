// Reads the text of a condition: a reader of words, and one function for each rule of the grammar.
//
//   any        = all { "or" all }
//   all        = negated { "and" negated }
//   negated    = "not" negated | "(" any ")" | comparison
//   comparison = column ( sign value | [ "not" ] "in" list | "is" [ "not" ] "null" )
//   list       = ( "(" | "[" ) value { "," value } [ "," ] ( ")" | "]" )
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "config/condition/condition.h"
#include "utf8/utf8.h"

namespace spdld::config {
namespace {

enum class WordKind : uint8_t { kEnd, kName, kColumn, kText, kNumber, kSign, kBad };

struct Word {
  WordKind kind = WordKind::kEnd;
  size_t place = 0;       // of its first character in the text
  std::string text = {};  // of a column and a text without quotes; of a name as it is written; of kBad: what is wrong
  Number number = 0;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

class WordReader {
 public:
  explicit WordReader(std::string_view text) : text_(text) {}

  Word next() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
    const size_t place = at_;
    Word word = at_ == text_.size() ? Word{} : read();
    word.place = place;
    return word;
  }

 private:
  Word read() {
    const char c = text_[at_];
    if (c == '\'' || c == '"') return quoted(c, WordKind::kText);
    if (c == '`') return quoted(c, WordKind::kColumn);
    if (is_letter(c)) return name();
    const bool is_signed = (c == '-' || c == '+') && at_ + 1 < text_.size();
    const size_t first = is_signed ? at_ + 1 : at_;
    if (is_digit(text_[first]) || (text_[first] == '.' && first + 1 < text_.size() && is_digit(text_[first + 1])))
      return number();
    return sign();
  }

  // A doubled quote stands for one.
  Word quoted(char quote, WordKind kind) {
    Word word{kind};
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == quote && (at_ + 1 == text_.size() || text_[at_ + 1] != quote)) {
        ++at_;
        return word;
      }
      if (text_[at_] == quote) ++at_;
      word.text += text_[at_];
    }
    return {WordKind::kBad, 0, std::string("this ") + quote + " has no end"};
  }

  Word name() {
    const size_t begin = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]) || text_[at_] == '.')) ++at_;
    return {WordKind::kName, 0, std::string(text_.substr(begin, at_ - begin))};
  }

  Word number() {
    const size_t begin = at_;
    ++at_;
    while (at_ < text_.size() && (is_digit(text_[at_]) || is_letter(text_[at_]) || text_[at_] == '.' ||
                                  ((text_[at_] == '-' || text_[at_] == '+') && lower(text_[at_ - 1]) == 'e')))
      ++at_;
    const std::string_view written = text_.substr(begin, at_ - begin);
    const auto number = number_in(written);
    if (!number) return {WordKind::kBad, 0, "this is no number"};
    return {WordKind::kNumber, 0, {}, *number};
  }

  Word sign() {
    constexpr std::array<std::string_view, 14> kSigns = {"==", "!=", "<>", "<=", ">=", "<", ">",
                                                         "=",  "(",  ")",  "[",  "]",  ",", "-"};
    for (const std::string_view one : kSigns) {
      if (!text_.substr(at_).starts_with(one)) continue;
      at_ += one.size();
      return {WordKind::kSign, 0, std::string(one)};
    }
    const char c = text_[at_];
    const std::string advice = c == '&' ? "write and" : c == '|' ? "write or" : c == '!' || c == '~' ? "write not" : "";
    return {WordKind::kBad, 0, "this sign means nothing here" + (advice.empty() ? "" : ": " + advice)};
  }

  std::string_view text_;
  size_t at_ = 0;
};

struct Fault {
  std::string text;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), words_(text) { step(); }

  Condition parse() {
    Condition::Node root = any(0);
    if (word_.kind != WordKind::kEnd) fail("there must be \"and\", \"or\" or the end");
    return {std::move(columns_), std::move(comparisons_), std::move(root)};
  }

 private:
  using Node = Condition::Node;

  [[noreturn]] void fail(const std::string& what) const {
    if (word_.kind == WordKind::kEnd) throw Fault{"it ends too early: " + what};
    // Whole characters, so that the clause is UTF-8.
    size_t end = std::min(text_.size(), word_.place + 20);
    while (end < text_.size() && utf8::goes_on(text_[end])) ++end;
    const std::string here(text_.substr(word_.place, end - word_.place));
    throw Fault{"at character " + std::to_string(word_.place + 1) + ", \"" + here + "\": " + what};
  }
  void step() {
    word_ = words_.next();
    if (word_.kind == WordKind::kBad) fail(word_.text);
  }
  bool is_sign(std::string_view sign) const { return word_.kind == WordKind::kSign && word_.text == sign; }
  bool is_word(std::string_view wanted) const {
    return word_.kind == WordKind::kName && word_.text.size() == wanted.size() &&
           std::equal(wanted.begin(), wanted.end(), word_.text.begin(), [](char a, char b) { return a == lower(b); });
  }
  bool take_word(std::string_view wanted) {
    if (!is_word(wanted)) return false;
    step();
    return true;
  }

  Node any(int depth) {
    return several(Node::Connective::kAny, "or", [&] { return all(depth); });
  }
  Node all(int depth) {
    return several(Node::Connective::kAll, "and", [&] { return negated(depth); });
  }
  template <typename ParsePart>
  Node several(Node::Connective connective, std::string_view between, const ParsePart& part) {
    Node first = part();
    if (!is_word(between)) return first;
    Node node{connective};
    node.parts.push_back(std::move(first));
    while (take_word(between)) node.parts.push_back(part());
    return node;
  }

  Node negated(int depth) {
    if (depth > kConditionDepthMax)
      fail("there are more than " + std::to_string(kConditionDepthMax) + " brackets or \"not\" in one another");
    if (take_word("not")) return opposite(negated(depth + 1));
    if (!is_sign("(")) return comparison();
    step();
    Node node = any(depth + 1);
    if (!is_sign(")")) fail("there must be \"and\", \"or\" or the closing bracket");
    step();
    return node;
  }

  static Node opposite(Node node) {
    Node whole{Node::Connective::kNot};
    whole.parts.push_back(std::move(node));
    return whole;
  }

  Node comparison() {
    Comparison made{column()};
    bool is_opposite = false;
    if (take_word("is")) {
      is_opposite = take_word("not");
      if (!take_word("null")) fail("there must be \"null\" behind \"is\"");
      made.relation = Relation::kIsNull;
    } else if (is_word("not") || is_word("in")) {
      is_opposite = take_word("not");
      if (!take_word("in")) fail("there must be \"in\" behind \"not\"");
      made.relation = Relation::kAmong;
      list(made.values);
    } else {
      made.relation = relation();
      made.values.push_back(value());
    }
    Node node{Node::Connective::kComparison, comparisons_.size()};
    comparisons_.push_back(std::move(made));
    return is_opposite ? opposite(std::move(node)) : node;
  }

  size_t column() {
    constexpr std::array<std::string_view, 8> kReserved = {"and", "or", "not", "in", "is", "null", "true", "false"};
    const bool is_reserved =
        std::any_of(kReserved.begin(), kReserved.end(), [&](std::string_view one) { return is_word(one); });
    const bool is_column = word_.kind == WordKind::kColumn || (word_.kind == WordKind::kName && !is_reserved);
    if (!is_column || word_.text.empty())
      fail(
          "there must be the name of a column (in `backquotes` where it has other signs than letters, digits, \"_\" "
          "and \".\", or is a word such as \"in\")");
    const auto known = std::find(columns_.begin(), columns_.end(), word_.text);
    const auto place = static_cast<size_t>(known - columns_.begin());
    if (known == columns_.end()) columns_.push_back(word_.text);
    if (columns_.size() > kConditionColumnsMax)
      fail("there are more than " + std::to_string(kConditionColumnsMax) + " columns");
    step();
    return place;
  }

  Relation relation() {
    constexpr std::array<std::pair<std::string_view, Relation>, 8> kRelations = {{{"==", Relation::kEqual},
                                                                                  {"=", Relation::kEqual},
                                                                                  {"!=", Relation::kUnequal},
                                                                                  {"<>", Relation::kUnequal},
                                                                                  {"<=", Relation::kAtMost},
                                                                                  {"<", Relation::kLess},
                                                                                  {">=", Relation::kAtLeast},
                                                                                  {">", Relation::kMore}}};
    for (const auto& [sign, relation] : kRelations) {
      if (!is_sign(sign)) continue;
      step();
      return relation;
    }
    fail("there must be a comparison behind the column: ==, !=, <, <=, >, >=, in, not in, is null or is not null");
  }

  ConditionValue value() {
    ConditionValue value;
    if (word_.kind == WordKind::kText) {
      value = word_.text;
    } else if (word_.kind == WordKind::kNumber) {
      value = word_.number;
    } else if (is_word("true") || is_word("false")) {
      value = is_word("true");
    } else if (is_word("null")) {
      fail("there may be no null here: write \"is null\"");
    } else {
      fail("there must be a value: a number, true, false, or a text in quotes");
    }
    step();
    return value;
  }

  void list(std::vector<ConditionValue>& values) {
    if (!is_sign("(") && !is_sign("[")) fail("there must be a list of values in brackets behind \"in\"");
    const std::string_view closing = is_sign("(") ? ")" : "]";
    step();
    while (!is_sign(closing)) {
      const Word here = word_;
      values.push_back(value());
      if (values.back().index() != values.front().index()) {
        word_ = here;
        fail("there must be values of one kind in a list, and the first one is " +
             std::string(words_of(static_cast<ValueKind>(values.front().index()))));
      }
      if (is_sign(closing)) break;
      if (!is_sign(",")) fail("there must be a comma or the closing bracket");
      step();
    }
    if (values.empty()) fail("there must be a value in the list");
    step();
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
  }

  const std::string_view text_;
  WordReader words_;
  Word word_;
  std::vector<std::string> columns_;
  std::vector<Comparison> comparisons_;
};

}  // namespace

ParsedCondition parse_condition(std::string_view text) {
  if (text.size() > kConditionBytesMax) return {{}, "has more than " + std::to_string(kConditionBytesMax) + " bytes"};
  try {
    return {Parser(text).parse(), {}};
  } catch (const Fault& fault) {
    return {{}, "is no condition: " + fault.text};
  }
}

std::optional<Condition> checked_condition(std::string_view text) {
  if (text.empty()) return std::nullopt;
  ParsedCondition parsed = parse_condition(text);
  if (!parsed.condition) throw std::logic_error("an unchecked condition: " + parsed.error);
  return std::move(parsed.condition);
}

}  // namespace spdld::config
