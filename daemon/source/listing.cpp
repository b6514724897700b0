#include "daemon/source/listing.h"

#include <cctype>

#include "daemon/base/result.h"
#include "daemon/source/listings.h"

namespace spdld::source {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw SetupError(Trouble::kUsage, message); }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

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

const Field* Listing::find_field(std::string_view name, FieldId* id) const {
  const auto all = fields();
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].name != name) continue;
    if (id != nullptr) *id = static_cast<FieldId>(i);
    return &all[i];
  }
  return nullptr;
}

std::unique_ptr<Listing> open_listing(const config::SourceSpec& spec, const Progress& progress, std::stop_token stop,
                                      const std::filesystem::path& kept, KeptUse* use) {
  const std::string path = local_path(spec.uri);
  KeptUse unwanted;
  KeptUse& used = use == nullptr ? unwanted : *use;
  used = {};
  if (spec.type == "image-folder") {
    const auto found = spec.parameters.find("extensions");
    const auto* text = found == spec.parameters.end() ? nullptr : std::get_if<std::string>(&found->second);
    return open_image_folder(path, text == nullptr ? "jpg,jpeg" : *text, progress, stop, kept, used);
  }
  if (spec.type == "webdataset") return open_webdataset(path, progress, stop, kept, used);
  refuse("source.type \"" + spec.type + "\" is not known: it is image-folder or webdataset.");
}

}  // namespace spdld::source
