#include "daemon/source/listing.h"

#include <algorithm>
#include <cctype>

#include "daemon/base/result.h"
#include "daemon/source/listings.h"
#include "proto/hex.h"

namespace spdld::source {
namespace {

constexpr size_t kMissingShown = 5;  // sentences of a refusal

[[noreturn]] void refuse(const std::string& message) { throw SetupError(Trouble::kUsage, message); }

// RFC 3986, section 2.1.
std::string without_percents(std::string_view text, const std::string& uri) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0 || (high == 0 && low == 0)) {
      refuse("source.uri \"" + uri +
             "\": a % must be followed by two hexadecimal digits, not 00; write %25 for the sign.");
    }
    plain += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return plain;
}

// "s3" of "s3://bucket": empty where the text is a plain path.
std::string_view scheme_of(std::string_view uri) {
  const size_t colon = uri.find("://");
  if (colon == std::string_view::npos || colon == 0) return {};
  for (const char c : uri.substr(0, colon)) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '+' && c != '-' && c != '.') return {};
  }
  return uri.substr(0, colon);
}

}  // namespace

std::string local_path(const std::string& uri) {
  std::string path = uri;
  const std::string_view scheme = scheme_of(uri);
  if (!scheme.empty()) {
    if (scheme != "file") {
      refuse("source.uri \"" + uri + "\": " + std::string(scheme) +
             ":// is not read by this daemon; give file:/// or a path.");
    }
    std::string_view rest = std::string_view(uri).substr(scheme.size() + 3);
    if (rest.starts_with("localhost/")) rest.remove_prefix(9);
    if (!rest.starts_with('/'))
      refuse("source.uri \"" + uri + "\": a local file's uri has three slashes: file:///folder.");
    path = without_percents(rest, uri);
  }
  if (!path.starts_with('/')) refuse("source.uri \"" + uri + "\" is not an absolute path: give file:///... or /...");
  if (path.find('\0') != std::string::npos) refuse("source.uri holds a NUL character: take it out.");
  return path;
}

const Remarks& Listing::said() const {
  static const Remarks kNothing;
  return kNothing;
}

const Field* Listing::find_field(std::string_view name, FieldId* id) const {
  const auto all = fields();
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].name != name) continue;
    if (id != nullptr) *id = static_cast<FieldId>(i);
    return &all[i];
  }
  return nullptr;
}

void check_missing(const config::SourceSpec& spec, const Remarks::Sentences& missing) {
  if (missing.count == 0 || spec.on_missing == config::OnMissing::kWarn) return;
  const size_t shown = std::min(missing.first.size(), kMissingShown);
  std::string text = config::uris_text(spec) + " is not whole:";
  for (size_t i = 0; i < shown; ++i) text += "\n  " + missing.first[i];
  if (missing.count > shown) text += "\n  ... and " + std::to_string(missing.count - shown) + " more";
  throw SetupError(Trouble::kContent,
                   text +
                       "\nMend what is missing, or write on_missing = \"warn\" in its [source] to go "
                       "on with the rest.");
}

namespace {

// A parameter of this type; `fallback`: it is absent, or of another type.
template <typename T>
T parameter(const config::SourceSpec& spec, std::string_view name, T fallback) {
  const auto found = spec.parameters.find(name);
  const auto* value = found == spec.parameters.end() ? nullptr : std::get_if<T>(&found->second);
  return value == nullptr ? fallback : *value;
}

}  // namespace

std::string SourceOpening::text(std::string_view name) const { return parameter(spec, name, std::string()); }
int64_t SourceOpening::integer(std::string_view name, int64_t fallback) const {
  return parameter(spec, name, fallback);
}
double SourceOpening::number(std::string_view name, double fallback) const { return parameter(spec, name, fallback); }

}  // namespace spdld::source
