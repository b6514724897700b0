#include "daemon/store/credentials/document.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "config/checks/document.h"
#include "daemon/base/formats/utc_time.h"

namespace spdld::store {
namespace {

constexpr size_t kCodeBytesMax = 64, kMessageBytesMax = 300;

Result<Credentials> with_expiry(Credentials credentials, const std::string& expiration, const std::string& where) {
  if (!expiration.empty()) {
    const auto expires_at_s = parse_utc(expiration);
    if (!expires_at_s || *expires_at_s == 0)
      return Error{Trouble::kTransient, where + " gives credentials whose Expiration is no time."};
    credentials.expires_at_s = *expires_at_s;
  }
  auto result = checked(std::move(credentials), "the credentials of " + where);
  if (!result) result.error().trouble = Trouble::kTransient;
  return result;
}

void append_utf8(std::string& out, uint32_t code) {
  const auto byte = [&out](uint32_t value) { out += static_cast<char>(value); };
  if (code < 0x80) return byte(code);
  if (code < 0x800) {
    byte(0xC0 | code >> 6);
    return byte(0x80 | (code & 0x3F));
  }
  if (code < 0x10000) {
    byte(0xE0 | code >> 12);
    byte(0x80 | (code >> 6 & 0x3F));
    return byte(0x80 | (code & 0x3F));
  }
  byte(0xF0 | code >> 18);
  byte(0x80 | (code >> 12 & 0x3F));
  byte(0x80 | (code >> 6 & 0x3F));
  byte(0x80 | (code & 0x3F));
}

// `reference` is what stands between '&' and ';'.
bool append_reference(std::string& out, std::string_view reference) {
  constexpr std::pair<std::string_view, char> kNamed[] = {
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
  for (const auto& [name, character] : kNamed)
    if (reference == name) {
      out += character;
      return true;
    }
  const int base = reference.starts_with("#x") ? 16 : 10;
  if (!reference.starts_with('#')) return false;
  reference.remove_prefix(base == 16 ? 2 : 1);
  uint32_t code = 0;
  const auto [end, error] = std::from_chars(reference.data(), reference.data() + reference.size(), code, base);
  const bool is_character = code > 0 && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
  if (error != std::errc() || end != reference.data() + reference.size() || !is_character) return false;
  append_utf8(out, code);
  return true;
}

}  // namespace

std::optional<std::string> element_text(std::string_view xml, std::string_view name) {
  const std::string begin = "<" + std::string(name) + ">", end = "</" + std::string(name) + ">";
  const size_t found = xml.find(begin);
  if (found == std::string_view::npos) return std::nullopt;
  xml.remove_prefix(found + begin.size());
  const size_t length = xml.find('<');
  if (length == std::string_view::npos || !xml.substr(length).starts_with(end)) return std::nullopt;
  xml = xml.substr(0, length);
  std::string out;
  while (!xml.empty()) {
    const size_t plain = std::min(xml.find('&'), xml.size());
    out.append(xml.substr(0, plain));
    xml.remove_prefix(plain);
    if (xml.empty()) break;
    const size_t semicolon = xml.find(';');
    if (semicolon == std::string_view::npos || !append_reference(out, xml.substr(1, semicolon - 1)))
      return std::nullopt;
    xml.remove_prefix(semicolon + 1);
  }
  return out;
}

Result<Credentials> read_credentials_json(std::string_view text, const std::string& where) {
  // The complaint of the reader is not shown: it may repeat the place where a secret stands.
  const auto document = config::read_json(text, where);
  if (!document.root) return Error{Trouble::kTransient, where + " gives no JSON document of credentials."};
  const auto field = [&](std::string_view name) -> std::string {
    const config::Node* const node = document.root->find(name);
    return node == nullptr || node->text() == nullptr ? "" : *node->text();
  };
  if (const std::string code = field("Code"); !code.empty() && code != "Success")
    return Error{Trouble::kTransient,
                 where + " gives no credentials, but the code " + config::printable(code, kCodeBytesMax) + "."};
  return with_expiry({field("AccessKeyId"), field("SecretAccessKey"), field("Token")}, field("Expiration"), where);
}

Result<Credentials> read_credentials_xml(std::string_view text, const std::string& where) {
  const size_t begin = text.find("<Credentials>");
  const size_t end = begin == std::string_view::npos ? begin : text.find("</Credentials>", begin);
  if (end == std::string_view::npos)
    return Error{Trouble::kTransient, where + " gives no XML document of credentials."};
  const std::string_view inner = text.substr(begin, end - begin);
  const auto field = [&](std::string_view name) { return element_text(inner, name).value_or(""); };
  return with_expiry({field("AccessKeyId"), field("SecretAccessKey"), field("SessionToken")}, field("Expiration"),
                     where);
}

std::string sts_error_words(std::string_view xml, std::string_view secret) {
  const std::string code = element_text(xml, "Code").value_or(""), message = element_text(xml, "Message").value_or("");
  const auto shown = [&](const std::string& part, size_t bytes_max) {
    const bool is_secret = !secret.empty() && part.find(secret) != std::string::npos;
    return is_secret ? "" : config::printable(part, bytes_max);
  };
  const std::string code_words = shown(code, kCodeBytesMax), message_words = shown(message, kMessageBytesMax);
  return message_words.empty() ? code_words : code_words + " (" + message_words + ")";
}

}  // namespace spdld::store
