#include "client/cli/top/lines.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "utf8/utf8.h"

namespace spdld::cli::top {
namespace {

constexpr std::string_view kCutEnd = "..";
constexpr size_t kBeforeEnd = 2;  // blanks before a text at the end

struct Range {
  char32_t first, last;
};

// Unicode's East Asian Width W and F, in broad ranges.
constexpr std::array<Range, 14> kWide = {{{0x1100, 0x115F},
                                          {0x231A, 0x231B},
                                          {0x2E80, 0x303E},
                                          {0x3041, 0x4DBF},
                                          {0x4E00, 0xA4CF},
                                          {0xA960, 0xA97C},
                                          {0xAC00, 0xD7A3},
                                          {0xF900, 0xFAFF},
                                          {0xFE30, 0xFE6F},
                                          {0xFF01, 0xFF60},
                                          {0xFFE0, 0xFFE6},
                                          {0x1F300, 0x1F64F},
                                          {0x1F680, 0x1F9FF},
                                          {0x20000, 0x3FFFD}}};
// Marks that stand on another character, joiners, and marks of direction.
constexpr std::array<Range, 8> kNone = {{{0x0300, 0x036F},
                                         {0x0483, 0x0489},
                                         {0x200B, 0x200F},
                                         {0x202A, 0x202E},
                                         {0x2060, 0x206F},
                                         {0x20D0, 0x20FF},
                                         {0xFE00, 0xFE0F},
                                         {0xFE20, 0xFE2F}}};

template <size_t N>
bool is_in(const std::array<Range, N>& ranges, char32_t character) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [character](const Range& range) { return character >= range.first && character <= range.last; });
}

}  // namespace

Line& Line::add(std::string text, Style style, bool is_reversed_span) {
  if (!text.empty()) spans.push_back({std::move(text), style, is_reversed_span});
  return *this;
}

size_t Line::columns() const {
  size_t columns = 0;
  for (const Span& span : spans) columns += columns_of(span.text);
  return columns;
}

std::string Line::text() const {
  std::string all;
  for (const Span& span : spans) all += span.text;
  return all;
}

Line line_of(std::string text, Style style) {
  Line line;
  line.add(std::move(text), style);
  return line;
}

size_t columns_of(char32_t character) {
  if (character < 0x300) return 1;
  if (is_in(kNone, character)) return 0;
  return is_in(kWide, character) ? 2 : 1;
}

size_t columns_of(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) columns += columns_of(take_character(text));
  return columns;
}

char32_t take_character(std::string_view& text) {
  const size_t bytes = utf8::character_bytes(text);
  if (bytes == 0) {
    text.remove_prefix(1);
    return U'?';
  }
  char32_t character = bytes == 1 ? utf8::byte_at(text, 0) : utf8::byte_at(text, 0) & (0x7Fu >> bytes);
  for (size_t i = 1; i < bytes; i++) character = character << 6 | (utf8::byte_at(text, i) & 0x3F);
  text.remove_prefix(bytes);
  return character;
}

std::string cut(std::string_view text, size_t columns) {
  if (columns_of(text) <= columns) return std::string(text);
  const std::string_view end = columns > kCutEnd.size() ? kCutEnd : std::string_view();
  size_t room = columns - end.size();
  std::string_view rest = text;
  size_t kept = 0;
  while (!rest.empty()) {
    const size_t wide = columns_of(take_character(rest));
    if (wide > room) break;
    room -= wide;
    kept = text.size() - rest.size();
  }
  return std::string(text.substr(0, kept)) + std::string(end);
}

std::string padded(std::string_view text, size_t columns, bool is_right) {
  const std::string shown = cut(text, columns);
  const std::string blanks(columns - std::min(columns, columns_of(shown)), ' ');
  return is_right ? blanks + shown : shown + blanks;
}

void add_bar(Line& line, double part, size_t columns, Style style) {
  if (columns < 3) return;
  const size_t room = columns - 2;
  const double sound = std::isfinite(part) ? std::clamp(part, 0.0, 1.0) : 0.0;
  const auto least = static_cast<size_t>(sound > 0);
  const size_t full = std::max(least, static_cast<size_t>(std::lround(sound * static_cast<double>(room))));
  line.add("[", Style::kStrong).add(std::string(full, '|'), style);
  line.add(std::string(room - full, ' ')).add("]", Style::kStrong);
}

std::vector<std::string> broken(std::string_view text, size_t columns) {
  std::vector<std::string> lines;
  columns = std::max<size_t>(columns, 1);
  for (const std::string& whole : wrapped(text, columns)) {
    std::string_view rest = whole;
    std::string line;
    size_t taken = 0;
    while (!rest.empty()) {
      const std::string_view before = rest;
      const size_t wide = columns_of(take_character(rest));
      if (taken + wide > columns && !line.empty()) {
        lines.push_back(std::move(line));
        line.clear();
        taken = 0;
      }
      line += before.substr(0, before.size() - rest.size());
      taken += wide;
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

void add_at_end(Line& line, std::string right, size_t columns, Style style) {
  const size_t taken = line.columns(), wanted = columns_of(right);
  if (taken + kBeforeEnd + wanted > columns) return;
  line.add(std::string(columns - taken - wanted, ' '));
  line.add(std::move(right), style);
}

}  // namespace spdld::cli::top
