// What the tests of credentials share: secrets that no error may show, and an environment of their own.
#pragma once

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <utility>

#include "daemon/store/credentials/credentials.h"
#include "daemon/store/http/ask.h"

namespace spdld::store::credentials_test {

inline const std::string kAccess = "AKIAIOSFODNN7EXAMPLE";
inline const std::string kSecret = "SeCrEtKeyThatNobodySees/1234567890+abcdef";
inline const std::string kToken = "SeCrEtToken+/of=a==session";
inline const std::string kIdentity = "eyJhbGciOi.SeCrEtWebIdentity.signature";

inline Environment environment_of(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() || found->second.empty() ? std::nullopt : std::optional(found->second);
  };
}

inline http::Ask nobody() {
  return [](const http::Question&) -> Result<http::Reply> { return Error{Trouble::kTransient, "nobody is there."}; };
}

// Every error of these tests goes through here: it is one sentence, and holds no secret.
inline Error checked_error(const Error& error) {
  CAPTURE(error.message);
  CHECK(error.message.ends_with("."));
  CHECK(error.message.find("SeCrEt") == std::string::npos);
  CHECK(error.message.find('\n') == std::string::npos);
  return error;
}

inline Error error_of(const Result<Credentials>& result) {
  REQUIRE_FALSE(result);
  return checked_error(result.error());
}

inline Credentials credentials_of(const Result<Credentials>& result) {
  INFO((result ? "" : result.error().message));
  REQUIRE(result);
  return *result;
}

inline std::string json_of(const std::string& expiration = "2030-01-01T00:00:00Z") {
  return "{\"Code\": \"Success\", \"LastUpdated\": \"x\", \"Type\": \"AWS-HMAC\", \"AccessKeyId\": \"" + kAccess +
         "\", \"SecretAccessKey\": \"" + kSecret + "\", \"Token\": \"" + kToken + "\", \"Expiration\": \"" +
         expiration + "\"}";
}
constexpr int64_t kExpiresAtS = 1893456000;  // 2030-01-01T00:00:00Z

}  // namespace spdld::store::credentials_test
