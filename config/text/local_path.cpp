#include "config/text/local_path.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "config/text/words.h"
#include "utf8/utf8.h"

namespace spdld::config {
namespace {

// %20 and the like, as RFC 8089 has it for file: URIs. None: a % without two hexadecimal digits.
std::optional<std::string> percent_decoded(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    unsigned byte = 0;
    const auto digits = text.substr(i + 1, 2);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (error != std::errc() || digits.size() != 2 || end != digits.data() + 2 || byte < 0x20 || byte == 0x7F) {
      return std::nullopt;
    }
    result += static_cast<char>(byte);
    i += 2;
  }
  return result;
}

// "s3" of "s3://bucket", "file" of "file:/a"; empty for a path.
std::string_view scheme_of(std::string_view uri) {
  const size_t colon = uri.find(":/");
  if (colon == std::string_view::npos || colon == 0) return "";
  const auto scheme = uri.substr(0, colon);
  return is_word(scheme, "+.-") ? scheme : std::string_view();
}

// Without "." and doubled slashes; ".." stays, for what it means depends on symbolic links.
std::string tidy(std::string_view path) {
  std::string result;
  while (!path.empty()) {
    const auto part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), part.size() + 1));
    if (!part.empty() && part != ".") result.append("/").append(part);
  }
  return result.empty() ? "/" : result;
}

}  // namespace

LocalPath local_path_of(const std::string& uri, const std::filesystem::path& folder) {
  if (uri.empty()) return {"", "must name a folder or a file"};
  std::string path = uri;
  if (const auto scheme = scheme_of(uri); !scheme.empty()) {
    if (scheme != "file") {
      return {"", in_quotes(scheme) +
                      " is not supported by this version: give a local path, file:///..., s3://... or https://..."};
    }
    auto rest = std::string_view(uri).substr(scheme.size() + 1);
    if (rest.starts_with("//localhost/")) rest.remove_prefix(11);
    if (rest.starts_with("///")) rest.remove_prefix(2);
    if (rest.starts_with("//")) return {"", "names another machine: a local file is file:///folder/..."};
    const auto decoded = percent_decoded(rest);
    if (!decoded) return {"", "has a % without the two hexadecimal digits of a character behind it; % itself is %25"};
    path = *decoded;
  }
  if (path == "~" || path.starts_with("~/")) return {"", "has a \"~\", which is not expanded: write the whole path"};
  if (!path.starts_with('/')) {
    if (!folder.is_absolute()) return {"", "must be an absolute path: there is no file it could be relative to"};
    if (!is_plain(folder.native())) return {"", "is relative to a folder whose path has control characters"};
    path = folder.string() + "/" + path;
  }
  if (!utf8::is_utf8(path)) return {"", "leads to a path that is not UTF-8"};
  if (!is_plain(path)) return {"", "leads to a path with control characters"};  // which %00 and its like stand for
  return {tidy(path), ""};
}

}  // namespace spdld::config
