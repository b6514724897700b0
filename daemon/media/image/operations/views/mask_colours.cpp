#include "daemon/media/image/operations/views/mask_colours.h"
#include "daemon/base/formats/text_encoding.h"
#include "proto/hex.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace spdld::image {
namespace {

std::string text_of(uint32_t colour) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "#%06x", colour & 0xFFFFFF);
  return text.data();
}

// A value of a mask, in decimal digits.
std::optional<uint32_t> number_in(std::string_view word) {
  if (word.empty() || word.size() > 6) return std::nullopt;
  uint32_t number = 0;
  for (const char c : word) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + static_cast<uint32_t>(c - '0');
  }
  return number <= MaskColours::kValueMax ? std::optional(number) : std::nullopt;
}

// "#800000".
std::optional<uint32_t> colour_in(std::string_view word) {
  if (word.size() != 7 || word[0] != '#') return std::nullopt;
  uint32_t colour = 0;
  for (const char c : word.substr(1)) {
    const int digit = hex_digit(c);
    if (digit < 0) return std::nullopt;
    colour = colour << 4 | static_cast<uint32_t>(digit);
  }
  return colour;
}

// Cuts the text up to the next of `ends` off.
std::string_view take(std::string_view& text, std::string_view ends) {
  const size_t end = std::min(text.find_first_of(ends), text.size());
  const auto word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

struct Line {
  std::optional<uint32_t> value, colour;
};

Line line_of(std::string_view text) {
  std::vector<uint32_t> numbers;
  Line line;
  while (!text.empty()) {
    const auto word = take(text, " \t,;\r");
    if (const auto colour = colour_in(word))
      line.colour = colour;
    else if (const auto number = number_in(word))
      numbers.push_back(*number);
  }
  if (line.colour) {
    if (numbers.size() == 1) line.value = numbers[0];
    return numbers.size() <= 1 ? line : Line();
  }
  if (numbers.size() != 3 && numbers.size() != 4) return {};
  if (numbers.size() == 4) line.value = numbers[0];
  const auto rgb = std::span(numbers).last(3);
  if (*std::max_element(rgb.begin(), rgb.end()) > 255) return {};
  line.colour = rgb[0] << 16 | rgb[1] << 8 | rgb[2];
  return line;
}

// Nothing, or a remark.
bool says_nothing(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r"), text.size()));
  return text.empty() || text.starts_with('#') || text.starts_with("//");
}

[[noreturn]] void refuse(const std::string& sentence) { throw SetupError(Trouble::kUsage, sentence); }

}  // namespace

MaskColours MaskColours::of_texts(std::string_view texts) {
  MaskColours colours;
  while (!texts.empty()) {
    const auto text = take(texts, ",");
    const auto colour = colour_in(text);
    if (!colour) refuse("the mask's colours: \"" + std::string(text) + "\" is no colour such as \"#800000\".");
    colours.values_.emplace_back(*colour, static_cast<uint32_t>(colours.values_.size()));
  }
  colours.finish("the mask's colours");
  return colours;
}

MaskColours MaskColours::of_file(const std::string& path, std::span<const uint8_t> bytes) {
  MaskColours colours;
  std::string_view text = without_byte_order_mark({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  for (size_t number = 1; !text.empty(); ++number) {
    const auto line = take(text, "\n");
    const auto [value, colour] = line_of(line);
    if (!colour && (says_nothing(line) || colours.values_.empty())) continue;
    if (!colour)
      refuse(path + ", line " + std::to_string(number) +
             ": a colour of a mask is three numbers from 0 to 255, or a text such as #800000.");
    const auto next = static_cast<uint32_t>(colours.values_.size());
    if (next > kValueMax) refuse(path + " has more colours than a mask has values: 65536.");
    colours.values_.emplace_back(*colour, value.value_or(next));
  }
  if (colours.values_.empty())
    refuse(path + " has no line with a colour of a mask: three numbers from 0 to 255, or a text such as #800000.");
  colours.finish(path);
  return colours;
}

void MaskColours::finish(const std::string& where) {
  std::sort(values_.begin(), values_.end());
  const auto twice = std::adjacent_find(values_.begin(), values_.end(),
                                        [](const auto& one, const auto& other) { return one.first == other.first; });
  if (twice != values_.end()) refuse(where + ": the colour " + text_of(twice->first) + " is there twice.");
  for (const auto& [colour, value] : values_) largest_ = std::max(largest_, value);
}

std::optional<uint32_t> MaskColours::find(uint32_t colour) const {
  const auto found = std::lower_bound(values_.begin(), values_.end(), std::pair(colour, 0U));
  return found == values_.end() || found->first != colour ? std::nullopt : std::optional(found->second);
}

// Neighbours have the same colour mostly, so that the last one is looked at first.
template <typename T>
Status MaskColours::convert(const PixelRows& rows, std::optional<uint32_t> other, T* out) const {
  uint32_t last = UINT32_MAX, value = 0;
  for (int y = 0; y < rows.picture.height; ++y) {
    const uint8_t* pixel = rows.row(y);
    for (int x = 0; x < rows.picture.width; ++x, pixel += 3) {
      const uint32_t colour = uint32_t{pixel[0]} << 16 | uint32_t{pixel[1]} << 8 | pixel[2];
      if (colour != last) {
        const auto found = find(colour);
        if (!found && !other)
          return Error{Trouble::kContent, "the mask has the colour " + text_of(colour) + " in row " +
                                              std::to_string(y) + ", column " + std::to_string(x) +
                                              ", which is not among decode-mask's colours: add the colour, or say with "
                                              "`other` which value it has"};
        last = colour;
        value = found ? *found : *other;
      }
      *out++ = static_cast<T>(value);
    }
  }
  return Done{};
}

template Status MaskColours::convert(const PixelRows& rows, std::optional<uint32_t> other, uint8_t* out) const;
template Status MaskColours::convert(const PixelRows& rows, std::optional<uint32_t> other, uint16_t* out) const;

}  // namespace spdld::image
