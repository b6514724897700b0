#include "daemon/store/credentials/credentials.h"

#include <algorithm>
#include <cstdlib>

namespace spdld::store {
namespace {

// Empty where the part is fine.
std::string fault_of(const std::string& part, const char* name, size_t bytes_max) {
  if (part.size() > bytes_max) return std::string(name) + " of more than " + std::to_string(bytes_max) + " bytes";
  const bool is_plain = std::all_of(part.begin(), part.end(), [](char c) { return c > ' ' && c < 0x7F; });
  return is_plain ? "" : std::string(name) + " with a blank or a character beyond ASCII";
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
  };
}

Result<Credentials> checked(Credentials credentials, const std::string& where) {
  if (credentials.access_key.empty() || credentials.secret_key.empty())
    return Error{Trouble::kUsage, where + " give only one of the access key and the secret key: give both."};
  for (const std::string& fault : {fault_of(credentials.access_key, "an access key", kAccessKeyBytesMax),
                                   fault_of(credentials.secret_key, "a secret key", kSecretKeyBytesMax),
                                   fault_of(credentials.session_token, "a session token", kSessionTokenBytesMax)}) {
    if (!fault.empty()) return Error{Trouble::kUsage, where + " give " + fault + "."};
  }
  return credentials;
}

}  // namespace spdld::store
