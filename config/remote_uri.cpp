#include "config/remote_uri.h"

#include <algorithm>

namespace spdld::config {
namespace {

constexpr size_t kUriBytesMax = 4096;
constexpr size_t kBucketMin = 3, kBucketMax = 63;

bool is_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

// "bucket names", Amazon S3 User Guide, and what other stores allow beyond.
bool is_bucket(std::string_view name) {
  const auto fits = [](char c) { return is_letter_or_digit(c) || c == '-' || c == '.' || c == '_'; };
  return name.size() >= kBucketMin && name.size() <= kBucketMax && is_letter_or_digit(name.front()) &&
         std::all_of(name.begin(), name.end(), fits) && name.find("..") == std::string_view::npos;
}

// A name or an address with a port: RFC 3986, section 3.2, without user and password.
bool is_server(std::string_view authority) {
  const auto fits = [](char c) {
    return is_letter_or_digit(c) || c == '-' || c == '.' || c == '_' || c == ':' || c == '[' || c == ']';
  };
  return !authority.empty() && authority.size() <= 255 && std::all_of(authority.begin(), authority.end(), fits);
}

// "." and "..", also as %2e.
bool is_step(std::string_view part) {
  std::string plain;
  for (size_t i = 0; i < part.size(); ++i) {
    const std::string_view here = part.substr(i, 3);
    const bool is_dot = here == "%2e" || here == "%2E";
    plain += is_dot ? '.' : part[i];
    i += is_dot ? 2 : 0;
  }
  return plain == "." || plain == "..";
}

bool has_step(std::string_view path) {
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    if (is_step(part)) return true;
    path.remove_prefix(std::min(path.size(), part.size() + 1));
  }
  return false;
}

}  // namespace

bool is_remote(std::string_view uri) {
  return uri.starts_with("s3://") || uri.starts_with("http://") || uri.starts_with("https://");
}

RemoteUri split_remote_uri(std::string_view uri) {
  RemoteUri parts;
  const size_t colon = uri.find("://");
  parts.scheme = uri.substr(0, colon);
  const std::string_view rest = uri.substr(colon + 3);
  const size_t slash = std::min(rest.find('/'), rest.size());
  parts.authority = rest.substr(0, slash);
  parts.object = rest.substr(std::min(slash + 1, rest.size()));
  return parts;
}

std::string remote_uri_fault(std::string_view uri) {
  if (uri.size() > kUriBytesMax) return "has more than " + std::to_string(kUriBytesMax) + " bytes";
  for (const char c : uri)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return "has a control character";
  const RemoteUri parts = split_remote_uri(uri);
  if (parts.authority.find('@') != std::string_view::npos)
    return "has a user or a password before the @, which never stand in a uri: the operator's file or environment has "
           "them";
  const bool is_s3 = parts.scheme == "s3";
  if (is_s3 && !is_bucket(parts.authority)) {
    return "has no bucket's name behind s3:// (" + std::to_string(kBucketMin) + " to " + std::to_string(kBucketMax) +
           " letters, digits, \"-\", \".\" or \"_\")";
  }
  if (!is_s3 && !is_server(parts.authority)) return "has no server's name behind " + std::string(parts.scheme) + "://";
  if (is_s3) return "";
  if (parts.object.find('?') != std::string_view::npos)
    return "has a query behind the \"?\", which is not sent: name the object alone";
  if (parts.object.find_first_of("#\" <>\\^`|") != std::string_view::npos)
    return "has a character that an address writes as %XX (# is %23, a blank %20)";
  if (has_step(parts.object)) return "has a \".\" or \"..\" in its path: write the path whole";
  return "";
}

bool lies_below(std::string_view uri, std::string_view beginning) {
  while (beginning.ends_with('/') && !beginning.ends_with("://")) beginning.remove_suffix(1);
  if (!uri.starts_with(beginning)) return false;
  return beginning.ends_with("://") || uri.size() == beginning.size() || uri[beginning.size()] == '/';
}

}  // namespace spdld::config
