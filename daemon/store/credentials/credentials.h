// The keys that a request to S3 is signed with, and the sources of such keys. The names of variables, files and
// documents are AWS's: "AWS SDKs and Tools Reference Guide",
// https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "daemon/base/result.h"

namespace spdld::store {

// Secrets: no function turns them into text for people, and no error message holds one. Plain values; any thread.
struct Credentials {
  std::string access_key;  // empty: anonymous, requests are not signed
  std::string secret_key;
  std::string session_token;  // empty: none, for keys that do not expire
  int64_t expires_at_s = 0;   // Unix seconds; 0: never
  bool is_anonymous() const { return access_key.empty(); }
  friend bool operator==(const Credentials&, const Credentials&) = default;
};

// The value of a variable of the environment; nothing where it is not set. An empty value counts as not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
// This process's environment. The daemon must not change it while threads run.
Environment process_environment();

// A place that credentials come from. One thread at a time.
class CredentialsSource {
 public:
  virtual ~CredentialsSource() = default;
  // Reads or asks anew at each call: files may have changed. Blocks for as long as a service may take, some seconds, or
  // until `stop`. kNotFound: nothing is set up here, and another source may be tried. Any other error: something is set
  // up here and does not work, so that no other source should be taken for it.
  virtual Result<Credentials> get(std::stop_token stop) = 0;
  virtual std::string_view name() const = 0;  // "environment"
};

constexpr size_t kAccessKeyBytesMax = 256, kSecretKeyBytesMax = 1024, kSessionTokenBytesMax = 32 << 10;

// Passes credentials on that a request can carry: both keys, bounded, in printable ASCII without blanks. The error says
// which part is wrong after `where`, which begins the sentence.
Result<Credentials> checked(Credentials credentials, const std::string& where);

}  // namespace spdld::store
