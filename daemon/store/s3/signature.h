// AWS Signature Version 4 in the Authorization header, for requests whose body is empty or not signed. Pure functions;
// any thread. Source: https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/store/credentials/credentials.h"

namespace spdld::store::s3 {

// Names and values as they are, not encoded.
struct NamedValue {
  std::string_view name, value;
};

// The values of x-amz-content-sha256.
constexpr std::string_view kEmptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr std::string_view kUnsignedPayload = "UNSIGNED-PAYLOAD";

struct UnsignedRequest {
  std::string_view method = "GET";
  std::string_view host;                // as the Host header has it, with a port that is not the scheme's own
  std::string_view path;                // not encoded, from its '/' on; sent encoded by append_encoded_path
  std::span<const NamedValue> query;    // not encoded, in any order; sent encoded by append_encoded
  std::span<const NamedValue> headers;  // to be signed beside Host and the lines that sign() makes; in any order
  std::string_view payload_hash = kEmptyHash;
};

// A key that signs the requests of one day, region and service. It costs four hashes to make, so that the caller keeps
// it for as long as fits() holds and the credentials stay the same. A secret: never shown.
class SigningKey {
 public:
  // Precondition: the credentials are not anonymous. `time_s`: Unix seconds. Throws SetupError where libcrypto fails.
  SigningKey(const Credentials& credentials, std::string_view region, std::string_view service, int64_t time_s);
  // Whether a request of this time is signed with this key: it is of the same day in UTC.
  bool fits(int64_t time_s) const;

 private:
  friend void sign(const SigningKey& key, const UnsignedRequest& request, int64_t time_s,
                   std::vector<std::string>& lines);
  std::array<uint8_t, 32> bytes_{};
  int64_t day_;  // since 1970
  std::string access_key_, session_token_;
  std::string scope_;  // "20130524/us-east-1/s3/aws4_request"
};

// Appends the header lines that the request needs beside its own: x-amz-date, x-amz-content-sha256,
// x-amz-security-token (where the credentials have one) and Authorization. Precondition: key.fits(time_s). Throws
// SetupError where libcrypto fails.
void sign(const SigningKey& key, const UnsignedRequest& request, int64_t time_s, std::vector<std::string>& lines);

}  // namespace spdld::store::s3
