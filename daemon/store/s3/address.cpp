#include "daemon/store/s3/address.h"

#include <algorithm>
#include <cctype>

#include "config/text/words.h"
#include "daemon/store/http/url.h"
#include "daemon/store/s3/encoding.h"

namespace spdld::store::s3 {
namespace {

constexpr size_t kBucketBytesMin = 3, kBucketBytesMax = 63, kRegionBytesMax = 63, kKeyShownBytesMax = 80;

bool is_letter_or_digit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

bool is_bucket(const std::string& name) {
  const bool is_of_length = name.size() >= kBucketBytesMin && name.size() <= kBucketBytesMax;
  return is_of_length && is_letter_or_digit(name.front()) && is_letter_or_digit(name.back()) &&
         name.find("..") == std::string::npos && std::all_of(name.begin(), name.end(), [](char c) {
           return is_letter_or_digit(c) || c == '-' || c == '.' || c == '_';
         });
}

bool is_region(const std::string& name) {
  return !name.empty() && name.size() <= kRegionBytesMax &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_letter_or_digit(c) || c == '-' || c == '_'; });
}

// Whether a host's name can't begin with the bucket.
bool needs_path(const std::string& bucket, const http::Url& endpoint) {
  const bool has_dot = bucket.find('.') != std::string::npos;
  const bool has_capital = std::any_of(bucket.begin(), bucket.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  const bool has_line = bucket.find('_') != std::string::npos;
  return (has_dot && endpoint.is_https()) || has_capital || has_line || http::is_ip_address(endpoint.host) ||
         endpoint.host == "localhost";
}

}  // namespace

Result<BucketAddress> BucketAddress::make(const Place& place) {
  if (!is_bucket(place.bucket)) {
    return Error{Trouble::kUsage, "\"" + config::printable(place.bucket, kKeyShownBytesMax) +
                                      "\" is no bucket's name: it has 3 to 63 letters, digits, '-', '.' and '_', and "
                                      "begins and ends with a letter or a digit."};
  }
  if (!is_region(place.region)) {
    return Error{Trouble::kUsage, "\"" + config::printable(place.region, kKeyShownBytesMax) +
                                      "\" is no region: it has letters, digits, '-' and '_', as us-east-1 has."};
  }
  const std::string domain = place.region.starts_with("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com";
  const auto endpoint = http::read_url(place.endpoint.empty() ? "https://s3." + place.region + domain : place.endpoint,
                                       "the endpoint of S3");
  if (!endpoint) return endpoint.error();
  if (endpoint->path != "/" || endpoint->has_query)
    return Error{Trouble::kUsage, "the endpoint of S3 must end with the host or the port: the bucket is added to it."};
  BucketAddress address;
  address.scheme_ = endpoint->scheme;
  address.is_path_style_ = place.path_style || needs_path(place.bucket, *endpoint);
  address.host_ = (address.is_path_style_ ? "" : place.bucket + ".") + http::host_header(*endpoint);
  address.base_path_ = address.is_path_style_ ? "/" + place.bucket + "/" : "/";
  return address;
}

std::string BucketAddress::path(std::string_view key) const {
  std::string path = base_path_;
  // The bucket itself is "/bucket" to a signature, and "/" where the host names it.
  if (key.empty() && path.size() > 1) path.pop_back();
  return path.append(key);
}

std::string BucketAddress::url(std::string_view key, std::span<const NamedValue> query) const {
  std::string url = scheme_ + "://" + host_;
  append_encoded_path(url, path(key));
  char mark = '?';
  for (const auto& [name, value] : query) {
    url += std::exchange(mark, '&');
    append_encoded(url, name);
    url += '=';
    append_encoded(url, value);
  }
  return url;
}

}  // namespace spdld::store::s3
