#include "config/text/call_path.h"

#include <algorithm>

#include "config/text/words.h"

namespace spdld::config {
namespace {

constexpr size_t kCallBytesMax = 256;
constexpr size_t kCodeDigitsMax = 64;

// A name of Python's, which may have letters of any language.
bool is_name(std::string_view text) {
  const auto is_letter = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
  };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !text.empty() && is_letter(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return is_letter(c) || is_digit(c); });
}

// Names with dots between them.
bool are_names(std::string_view text) {
  while (true) {
    const size_t dot = text.find('.');
    if (!is_name(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

}  // namespace

std::string code_fault(const std::string& code) {
  if (code.size() <= kCodeDigitsMax && code.find_first_not_of("0123456789abcdef") == code.npos) return "";
  return "must be at most " + std::to_string(kCodeDigitsMax) +
         " of the digits 0 to 9 and a to f: leave it out, since the client library fills it in";
}

std::string call_fault(const std::string& call, bool has_code, const Called& called) {
  if (call.size() > kCallBytesMax)
    return "may have at most " + std::to_string(kCallBytesMax) + " bytes, not " + std::to_string(call.size());
  const std::string noun(called.noun), module(called.module);
  const size_t colon = call.find(':');
  if (colon == call.npos && are_names(call))
    return has_code ? ""
                    : "must name the module too, such as " + in_quotes(module + ":" + call) + ": a " + noun +
                          "'s name alone is for " + noun + "s that a trainer brings along";
  if (colon != call.npos && are_names(call.substr(0, colon)) && are_names(call.substr(colon + 1))) return "";
  return "must be \"module:" + std::string(called.word) + "\", such as " +
         in_quotes(module + ":" + std::string(called.example)) + " or " +
         in_quotes("team." + module + ":" + std::string(called.inner)) + ", not " + in_quotes(call);
}

}  // namespace spdld::config
