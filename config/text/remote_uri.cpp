#include "config/text/remote_uri.h"

#include <algorithm>

#include "config/text/words.h"

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

// The path with %2e, %2f and %5c as the characters that they stand for, all of the latter as '/': servers take them so
// before they look for steps.
std::string with_plain_steps(std::string_view path) {
  std::string plain;
  for (size_t i = 0; i < path.size(); ++i) {
    const std::string_view here = path.substr(i, 3);
    const bool is_dot = here == "%2e" || here == "%2E";
    const bool is_slash = here == "%2f" || here == "%2F" || here == "%5c" || here == "%5C";
    plain += is_dot ? '.' : is_slash ? '/' : path[i];
    i += is_dot || is_slash ? 2 : 0;
  }
  return plain;
}

// Whether the path has a part "." or "..".
bool has_step(std::string_view path) {
  const std::string plain = with_plain_steps(path);
  for (size_t begin = 0; begin <= plain.size();) {
    const size_t end = std::min(plain.find('/', begin), plain.size());
    const std::string_view part = std::string_view(plain).substr(begin, end - begin);
    if (part == "." || part == "..") return true;
    begin = end + 1;
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
  if (!is_plain(uri)) return "has a control character";
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

// RFC 3986, section 3.3: what a path may hold as it is.
std::string written_in_uri(std::string_view uri, std::string_view path) {
  if (uri.starts_with("s3://")) return std::string(path);
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string written;
  for (const char c : path) {
    const auto byte = static_cast<uint8_t>(c);
    if (is_letter_or_digit(c) || std::string_view("-._~!$&'()*+,;=:@/").find(c) != std::string_view::npos)
      written += c;
    else
      written.append(1, '%').append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
  }
  return written;
}

bool lies_below(std::string_view uri, std::string_view beginning) {
  while (beginning.ends_with('/') && !beginning.ends_with("://")) beginning.remove_suffix(1);
  if (!uri.starts_with(beginning)) return false;
  return beginning.ends_with("://") || uri.size() == beginning.size() || uri[beginning.size()] == '/';
}

bool lies_below_any(std::string_view uri, std::span<const std::string> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](const std::string& beginning) { return lies_below(uri, beginning); });
}

}  // namespace spdld::config
