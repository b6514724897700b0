#include "config/text/words.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "config/text/steering.h"
#include "utf8/utf8.h"

namespace spdld::config {
namespace {

constexpr size_t kNameBytesMax = 64;  // of a name that is compared with others

// How many letters to add, drop, change or swap with their neighbour: the optimal string alignment distance of
// https://en.wikipedia.org/wiki/Damerau-Levenshtein_distance. Short texts only.
size_t edits(std::string_view a, std::string_view b) {
  std::vector<size_t> two_above, above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({above[j + 1] + 1, row[j] + 1, above[j] + (a[i] == b[j] ? 0 : 1)});
      const bool swapped = i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j];
      if (swapped) row[j + 1] = std::min(row[j + 1], two_above[j - 1] + 1);
    }
    two_above = std::exchange(above, row);
  }
  return above[b.size()];
}

std::string folded(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '-' || c == '_') continue;
    result += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return result;
}

size_t distance(std::string_view a, std::string_view b) { return edits(folded(a), folded(b)); }

}  // namespace

std::string printable(std::string_view text, size_t bytes_max) {
  const bool cut = text.size() > bytes_max;
  if (cut) text = text.substr(0, utf8::whole_characters(text, bytes_max));
  const bool plain = utf8::is_utf8(text);
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const size_t steering = steering_bytes(text.substr(i));
    result += steering > 0 || (!plain && byte >= 0x80) ? '?' : text[i];
    if (steering > 1 && plain) i += steering - 1;
  }
  return cut ? result + "..." : result;
}

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  result += printable(text);
  return result += '"';
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> known) {
  if (name.size() > kNameBytesMax) return "";
  std::string_view best;
  size_t best_distance = 1 + std::max<size_t>(1, folded(name).size() / 3);
  for (const auto& candidate : known) {
    const size_t candidate_distance = distance(name, candidate);
    if (candidate_distance < best_distance) {
      best = candidate;
      best_distance = candidate_distance;
    }
  }
  return best.empty() ? "" : " (did you mean " + in_quotes(best) + "?)";
}

bool is_nearly(std::string_view name, std::string_view known) {
  return name.size() <= kNameBytesMax && distance(name, known) <= 1;
}

std::string joined(std::span<const std::string_view> words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + in_quotes(word);
  return text;
}

bool is_word(std::string_view text, std::string_view also) {
  const auto is_alnum = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [&](char c) {
    return is_alnum(c) || also.find(c) != std::string_view::npos;
  });
}

bool is_plain(std::string_view text) { return !utf8::has_control(text); }

bool is_digits(std::string_view text) {
  return !text.empty() && text.size() <= 9 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace spdld::config
