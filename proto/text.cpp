#include "proto/text.h"

#include <algorithm>
#include <array>

#include "proto/hex.h"
#include "utf8/utf8.h"

namespace spdld::proto {

namespace {

constexpr std::string_view kAnyText = "UTF-8 without control characters";

constexpr std::array<TextRule, kTextKinds> kRules = {{
    {TextKind::kPipeline, "the name of a pipeline",
     "letters, digits, \"_\", \".\" and \"-\", a letter or a digit first", 64},
    {TextKind::kGroup, "the group", kAnyText, 128},
    {TextKind::kDevice, "the device", "letters, digits, \":\", \"_\", \".\" and \"-\"", 32},
    {TextKind::kClient, "the client's name", kAnyText, 256},
    {TextKind::kCapability, "a capability", "letters, digits, \"_\", \".\" and \"-\"", 64},
    {TextKind::kFingerprint, "the fingerprint", "letters, digits, \":\", \"_\", \".\" and \"-\"", 256},
    {TextKind::kFolder, "the spec's folder", "an absolute path in UTF-8 without control characters", 4095},
    {TextKind::kArgument, "the argument", kAnyText, 32768},
    {TextKind::kKeyDigests, "the digests of keys",
     "letters, digits, \" \", \"=\", \"/\", \"_\", \".\", \"-\", \"[\" and \"]\"", 4096},
    {TextKind::kToken, "the token", "letters and digits", 64},
    {TextKind::kReport, "the report", "any text", 16384},
}};

bool is_alphanumeric(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_made_of(std::string_view text, std::string_view signs) {
  return std::all_of(text.begin(), text.end(),
                     [signs](char c) { return is_alphanumeric(c) || signs.find(c) != std::string_view::npos; });
}

bool keeps_to_alphabet(TextKind kind, std::string_view text) {
  switch (kind) {
    case TextKind::kPipeline:
      return is_alphanumeric(text.front()) && is_made_of(text, "_.-");
    case TextKind::kCapability:
      return is_made_of(text, "_.-");
    case TextKind::kDevice:
    case TextKind::kFingerprint:
      return is_made_of(text, ":_.-");
    case TextKind::kToken:
      return is_made_of(text, "");
    case TextKind::kReport:  // of a user's own code, and shown escaped
      return true;
    case TextKind::kKeyDigests:
      return is_made_of(text, " =/_.-[]");
    case TextKind::kFolder:
      return text.front() == '/' && utf8::is_utf8(text) && !utf8::has_control(text);
    case TextKind::kGroup:
    case TextKind::kClient:
    case TextKind::kArgument:
      break;
  }
  return utf8::is_utf8(text) && !utf8::has_control(text);
}

// Control characters as \xNN, but for the characters in `kept`; and bytes that are no UTF-8, unless `any_bytes`.
std::string escaped(std::string_view text, std::string_view kept, bool any_bytes) {
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    const size_t whole = utf8::character_bytes(text);
    const size_t bytes = std::max<size_t>(1, whole);
    const bool stays =
        whole == 0 ? any_bytes : !utf8::is_control(text, whole) || kept.find(text.front()) != std::string_view::npos;
    if (stays) plain.append(text.substr(0, bytes));
    for (size_t i = 0; i < bytes && !stays; ++i) append_hex(plain += "\\x", static_cast<uint8_t>(text[i]));
    text.remove_prefix(bytes);
  }
  return plain;
}

}  // namespace

const TextRule& rule_of(TextKind kind) { return kRules.at(static_cast<size_t>(kind)); }

std::string text_fault(TextKind kind, std::string_view text) {
  const TextRule& rule = rule_of(kind);
  if (text.size() > rule.bytes_max) return "has more than " + std::to_string(rule.bytes_max) + " bytes";
  if (text.empty() || keeps_to_alphabet(kind, text)) return {};
  return "must be " + std::string(rule.alphabet);
}

std::string shown(std::string_view text, bool lines) { return escaped(text, lines ? "\n" : "", false); }

std::string shown_name(std::string_view text) { return escaped(text, "", true); }

}  // namespace spdld::proto
