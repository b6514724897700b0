// Where a bucket's objects are asked for. Source:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/VirtualHosting.html and .../bucketnamingrules.html. Plain
// values; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "daemon/base/result.h"
#include "daemon/store/s3/signature.h"

namespace spdld::store::s3 {

struct Place {
  std::string bucket;
  std::string endpoint;  // "https://host:port"; empty: AWS's own in the region
  std::string region = "us-east-1";
  bool path_style = false;  // the bucket stands in the path, not in the host's name
};

// One bucket at one endpoint.
class BucketAddress {
 public:
  // An error (kUsage) says which part is wrong and what is allowed. The path style is taken by itself where a host's
  // name can't hold the bucket: with a dot in the bucket's name and https (a certificate covers one label), with a
  // capital letter in it, and where the endpoint is an IP address or localhost. Throws SetupError where libcurl can't
  // be set up.
  static Result<BucketAddress> make(const Place& place);

  const std::string& host() const {
    return host_;
  }  // for the Host header and the signature: with a port other than the scheme's
  bool is_path_style() const { return is_path_style_; }
  // For the signature: not encoded, from '/' on. An empty key stands for the bucket.
  std::string path(std::string_view key) const;
  // The URL to ask for: encoded as the signature is, with the query in the given order. Send the URL as it is, with its
  // dot segments (CURLOPT_PATH_AS_IS).
  std::string url(std::string_view key, std::span<const NamedValue> query = {}) const;

 private:
  BucketAddress() = default;
  std::string scheme_, host_, base_path_;  // the path ends with '/'
  bool is_path_style_ = false;
};

}  // namespace spdld::store::s3
