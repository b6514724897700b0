#include "client/text/numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "utf8/utf8.h"

namespace spdld::text {
namespace {

struct Unit {
  double seconds;
  const char* name;
};

// "3 min 4 s": a whole number of the greater unit, and what is left in the smaller.
std::string two_units(double seconds, Unit great, Unit small) {
  auto smalls = static_cast<uint64_t>(std::llround(seconds / small.seconds));
  const auto each = static_cast<uint64_t>(std::llround(great.seconds / small.seconds));
  const uint64_t greats = smalls / each;
  smalls %= each;
  return std::to_string(greats) + " " + great.name + " " + std::to_string(smalls) + " " + small.name;
}

}  // namespace

std::string decimal_text(double value, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

std::string percent_text(double part) { return decimal_text(part * 100, 0) + " %"; }

std::string percent_done_text(uint64_t done, uint64_t total) {
  const double part = static_cast<double>(std::min(done, total)) / static_cast<double>(total);
  return decimal_text(done >= total ? 100 : std::min(99.0, std::floor(part * 100)), 0) + " %";
}

std::string bytes_text(double bytes) {
  static constexpr std::array<const char*, 6> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  while (bytes >= 1023.5 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    unit++;
  }
  return decimal_text(bytes, unit > 0 && bytes < 99.95 ? 1 : 0) + " " + kUnits[unit];
}

std::string duration_text(double seconds) {
  if (seconds < 0.5e-6) return "0 s";
  if (seconds < 0.9995e-3) return decimal_text(seconds * 1e6, 0) + " us";
  if (seconds < 0.9995) return decimal_text(seconds * 1e3, seconds < 0.09995 ? 1 : 0) + " ms";
  if (seconds < 99.95) return decimal_text(seconds, 1) + " s";
  if (seconds < 3599.5) return two_units(seconds, {60, "min"}, {1, "s"});
  if (seconds < 86370) return two_units(seconds, {3600, "h"}, {60, "min"});
  return two_units(seconds, {86400, "d"}, {3600, "h"});
}

std::string time_left_text(double seconds) {
  return seconds < 99.5 ? decimal_text(std::max(1.0, std::ceil(seconds)), 0) + " s" : duration_text(seconds);
}

std::string count_text(uint64_t count) {
  const std::string digits = std::to_string(count);
  std::string text;
  for (size_t at = 0; at < digits.size(); at++) {
    if (at > 0 && (digits.size() - at) % 3 == 0) text += ',';
    text += digits[at];
  }
  return text;
}

std::string rate_text(double per_s) {
  if (per_s >= 99.5) return count_text(static_cast<uint64_t>(std::llround(per_s)));
  return per_s <= 0 ? "0" : decimal_text(per_s, per_s < 9.95 ? 2 : 1);
}

std::string counted(uint64_t count, std::string_view one, std::string_view many) {
  const std::string word = count == 1 ? std::string(one) : many.empty() ? std::string(one) + "s" : std::string(many);
  return count_text(count) + " " + word;
}

size_t display_width(std::string_view text) {
  return text.size() - static_cast<size_t>(std::count_if(text.begin(), text.end(), utf8::goes_on));
}

}  // namespace spdld::text
