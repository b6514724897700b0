#include "config/uri_pattern.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "config/catalogue.h"

namespace spdld::config {
namespace {

constexpr std::string_view kRule =
    "braces hold a range of numbers such as a-{000..127}.tar, or a list such as {train,extra}.tar";

uint64_t add(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

uint64_t multiply(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

bool is_number(std::string_view text) {  // of at most 9 digits
  return !text.empty() && text.size() <= 9 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

uint64_t number(std::string_view digits) {
  uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

// "000..127" or "0..10..2".
struct Range {
  std::string_view first, last, step = "1";

  bool is_padded() const { return (first.size() > 1 && first[0] == '0') || (last.size() > 1 && last[0] == '0'); }
  uint64_t count() const { return (number(last) - number(first)) / number(step) + 1; }
};

std::optional<Range> range_of(std::string_view inside) {
  const size_t dots = inside.find("..");
  if (dots == std::string_view::npos) return {};
  Range range{inside.substr(0, dots), inside.substr(dots + 2)};
  if (const size_t more = range.last.find(".."); more != std::string_view::npos) {
    range.step = range.last.substr(more + 2);
    range.last = range.last.substr(0, more);
  }
  if (!is_number(range.first) || !is_number(range.last) || !is_number(range.step)) return {};
  return range;
}

std::string range_error(const Range& range) {
  if (range.is_padded() && range.first.size() != range.last.size()) {
    return "the range {" + std::string(range.first) + ".." + std::string(range.last) +
           "} must have as many digits in its first number as in its last";
  }
  if (number(range.first) > number(range.last)) {
    return "the range {" + std::string(range.first) + ".." + std::string(range.last) +
           "} must have a first number not above its last";
  }
  return number(range.step) == 0 ? "a range's step must be 1 or more" : "";
}

// A piece of a pattern: what stands before its first braces, and what they hold.
struct Piece {
  std::string_view before, inside, rest;
  bool has_braces = false;
  bool is_sound = true;  // false: a brace has no partner
};

Piece first_piece(std::string_view pattern) {
  const size_t open = pattern.find_first_of("{}");
  if (open == std::string_view::npos) return {.before = pattern, .inside = {}, .rest = {}};
  size_t depth = 0;
  for (size_t i = open; i < pattern.size(); ++i) {
    if (pattern[i] == '{') ++depth;
    if (pattern[i] != '}') continue;
    if (depth == 0) break;
    if (--depth > 0) continue;
    return {pattern.substr(0, open), pattern.substr(open + 1, i - open - 1), pattern.substr(i + 1), true};
  }
  return {.before = pattern, .inside = {}, .rest = {}, .has_braces = false, .is_sound = false};
}

// The parts between commas; a comma within inner braces divides nothing.
std::vector<std::string_view> alternatives_of(std::string_view inside) {
  std::vector<std::string_view> all;
  size_t depth = 0, start = 0;
  for (size_t i = 0; i < inside.size(); ++i) {
    if (inside[i] == '{') ++depth;
    if (inside[i] == '}') --depth;
    if (inside[i] != ',' || depth > 0) continue;
    all.push_back(inside.substr(start, i - start));
    start = i + 1;
  }
  all.push_back(inside.substr(start));
  return all;
}

// Counts what `pattern` makes, without making it. `error` is set where it can't be.
Expansion count(std::string_view pattern, size_t depth, std::string& error) {
  Expansion all{1, 0};
  while (!pattern.empty() && error.empty()) {
    const Piece piece = first_piece(pattern);
    all.bytes = add(all.bytes, multiply(all.paths, piece.before.size()));
    if (!piece.is_sound) error = std::string(kRule) + ", and each brace has its partner";
    if (!piece.has_braces) break;
    Expansion here;
    if (depth == kBraceDepthMax) {
      error = "braces may stand in one another at most " + std::to_string(kBraceDepthMax) + " deep";
    } else if (const auto range = range_of(piece.inside)) {
      error = range_error(*range);
      if (error.empty()) here = {range->count(), multiply(range->count(), range->last.size())};
    } else if (const auto words = alternatives_of(piece.inside); words.size() > 1) {
      for (const auto& word : words) {
        const Expansion one = count(word, depth + 1, error);
        here = {add(here.paths, one.paths), add(here.bytes, one.bytes)};
      }
    } else {
      error = kRule;
    }
    all.bytes = add(multiply(all.bytes, here.paths), multiply(here.bytes, all.paths));
    all.paths = multiply(all.paths, here.paths);
    pattern = piece.rest;
  }
  return all;
}

std::vector<std::string> numbers_of(const Range& range) {
  const size_t width = range.is_padded() ? range.last.size() : 0;
  std::vector<std::string> all;
  for (uint64_t value = number(range.first); value <= number(range.last); value += number(range.step)) {
    all.push_back(std::to_string(value));
    if (all.back().size() < width) all.back().insert(0, width - all.back().size(), '0');
  }
  return all;
}

std::vector<std::string> expand(std::string_view pattern) {
  std::vector<std::string> all = {""};
  while (!pattern.empty()) {
    const Piece piece = first_piece(pattern);
    for (auto& path : all) path += piece.before;
    if (!piece.has_braces) break;
    std::vector<std::string> here;
    if (const auto range = range_of(piece.inside)) {
      here = numbers_of(*range);
    } else {
      for (const auto& word : alternatives_of(piece.inside)) {
        for (auto& text : expand(word)) here.push_back(std::move(text));
      }
    }
    std::vector<std::string> longer;
    longer.reserve(all.size() * here.size());
    for (const auto& path : all) {
      for (const auto& text : here) longer.push_back(path + text);
    }
    all = std::move(longer);
    pattern = piece.rest;
  }
  return all;
}

}  // namespace

bool has_braces(std::string_view path) { return path.find_first_of("{}") != std::string_view::npos; }
bool has_wildcards(std::string_view path) { return path.find_first_of("*?[") != std::string_view::npos; }

std::string pattern_error(std::string_view path) {
  std::string error;
  const Expansion all = count(path, 0, error);
  if (!error.empty()) return error;
  if (all.paths > kUriPathsMax || all.bytes > kUriPathBytesMax) {
    return "it may name at most " + std::to_string(kUriPathsMax) + " archives, of " +
           std::to_string(kUriPathBytesMax >> 20) + " MiB of paths together";
  }
  if (path.find("**") != std::string_view::npos) {
    return "\"**\" is not known here: a * stands for names in one folder, so write */* for the folders below";
  }
  return "";
}

Expansion expansion_of(std::string_view path) {
  std::string error;
  return count(path, 0, error);
}

std::vector<std::string> expand_braces(std::string_view path) { return expand(path); }

std::string fixed_folder(std::string_view path) {
  const size_t first = path.find_first_of("{}*?[");
  if (first == std::string_view::npos) return std::string(path);
  const size_t slash = path.rfind('/', first);
  return slash == std::string_view::npos || slash == 0 ? "/" : std::string(path.substr(0, slash));
}

std::vector<std::string> places_of(const SourceSpec& source) {
  std::vector<std::string> places = source.uris;
  const SourceType* const type = find_source(source.type);
  if (type == nullptr || !type->takes_patterns) return places;
  for (const auto& uri : source.uris) {
    if (const std::string folder = fixed_folder(uri); folder != uri) places.push_back(folder);
  }
  return places;
}

}  // namespace spdld::config
