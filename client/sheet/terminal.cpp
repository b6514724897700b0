#include "client/sheet/terminal.h"

#include <algorithm>
#include <set>
#include <utility>

namespace spdld::sheet {
namespace {

constexpr size_t kKittyPiece = 4096;  // characters of base64, a multiple of 4
constexpr int kSixelRows = 6;
constexpr int kShades = 6;  // of each channel
constexpr int kRepeatMin = 4;

std::string colour_text(Colour colour) {
  return std::to_string(colour.red) + ";" + std::to_string(colour.green) + ";" + std::to_string(colour.blue);
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - at);
    uint32_t bits = 0;
    for (size_t i = 0; i < 3; ++i) bits = bits << 8 | (i < count ? static_cast<uint8_t>(bytes[at + i]) : 0U);
    for (size_t i = 0; i < 4; ++i) text += i <= count ? kDigits[bits >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

int shade_of(uint8_t value) { return (value * (kShades - 1) + 127) / 255; }
int sixel_colour(Colour colour) {
  return (shade_of(colour.red) * kShades + shade_of(colour.green)) * kShades + shade_of(colour.blue);
}

std::string sixel_palette() {
  const auto percent = [](int shade) { return std::to_string(shade * 100 / (kShades - 1)); };
  std::string text;
  for (int number = 0; number < kShades * kShades * kShades; ++number) {
    text += "#" + std::to_string(number) + ";2;" + percent(number / (kShades * kShades)) + ";" +
            percent(number / kShades % kShades) + ";" + percent(number % kShades);
  }
  return text;
}

void append_run(std::string& text, char sixel, int count) {
  if (count >= kRepeatMin)
    text += "!" + std::to_string(count) + sixel;
  else
    text.append(static_cast<size_t>(count), sixel);
}

// The pixels of one colour in the six rows from `top` on.
void append_band(std::string& text, const Canvas& canvas, int top, int colour) {
  const int rows = std::min(kSixelRows, canvas.height() - top);
  char run = 0;
  int count = 0;
  for (int x = 0; x < canvas.width(); ++x) {
    int bits = 0;
    for (int y = 0; y < rows; ++y)
      if (sixel_colour(canvas.at(x, top + y)) == colour) bits |= 1 << y;
    const char sixel = static_cast<char>('?' + bits);
    if (sixel != run) append_run(text, run, std::exchange(count, 0));
    run = sixel;
    count++;
  }
  append_run(text, run, count);
}

}  // namespace

Graphics graphics_of(const std::function<std::string(const char*)>& variable) {
  const std::string term = variable("TERM"), program = variable("TERM_PROGRAM");
  // tmux and screen stand between, and pass neither kind of picture on without being told to.
  if (!variable("TMUX").empty() || term.starts_with("screen") || term.starts_with("tmux")) return Graphics::kBlocks;
  if (!variable("KITTY_WINDOW_ID").empty() || term == "xterm-kitty" || term == "xterm-ghostty" ||
      program == "ghostty" || program == "WezTerm")
    return Graphics::kKitty;
  if (term.starts_with("foot") || term.starts_with("mlterm") || term.starts_with("contour") || term == "yaft-256color")
    return Graphics::kSixel;
  return Graphics::kBlocks;
}

std::string blocks_text(const Canvas& canvas) {
  std::string text;
  for (int y = 0; y < canvas.height(); y += 2) {
    const bool has_lower = y + 1 < canvas.height();
    std::string before;
    for (int x = 0; x < canvas.width(); ++x) {
      std::string colours = "\x1b[38;2;" + colour_text(canvas.at(x, y)) +
                            (has_lower ? ";48;2;" + colour_text(canvas.at(x, y + 1)) : std::string()) + "m";
      if (colours != before) text += colours;
      before = std::move(colours);
      text += "\u2580";
    }
    text += "\x1b[0m\n";
  }
  return text;
}

std::string kitty_text(std::string_view png) {
  const std::string digits = base64(png);
  std::string text;
  for (size_t at = 0; at < digits.size(); at += kKittyPiece) {
    const bool is_last = at + kKittyPiece >= digits.size();
    text += std::string("\x1b_G") + (at == 0 ? "f=100,a=T,q=2," : "") + "m=" + (is_last ? "0" : "1") + ";";
    text += digits.substr(at, kKittyPiece);
    text += "\x1b\\";
  }
  return text + "\n";
}

std::string sixel_text(const Canvas& canvas) {
  std::string text =
      "\x1bPq\"1;1;" + std::to_string(canvas.width()) + ";" + std::to_string(canvas.height()) + sixel_palette();
  for (int top = 0; top < canvas.height(); top += kSixelRows) {
    std::set<int> colours;
    for (int y = top; y < std::min(top + kSixelRows, canvas.height()); ++y)
      for (int x = 0; x < canvas.width(); ++x) colours.insert(sixel_colour(canvas.at(x, y)));
    for (const int colour : colours) {
      text += "#" + std::to_string(colour);
      append_band(text, canvas, top, colour);
      text += "$";
    }
    text += "-";
  }
  return text + "\x1b\\\n";
}

}  // namespace spdld::sheet
