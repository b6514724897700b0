// The sources that ask nobody: the variables of the environment, and no credentials at all.
#pragma once

#include "daemon/store/credentials/credentials.h"

namespace spdld::store {

// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN.
class VariableCredentials : public CredentialsSource {
 public:
  explicit VariableCredentials(Environment environment) : environment_(std::move(environment)) {}
  Result<Credentials> get(std::stop_token stop) override;
  std::string_view name() const override { return "environment"; }

 private:
  Environment environment_;
};

// For buckets that everybody may read: requests are not signed.
class AnonymousCredentials : public CredentialsSource {
 public:
  Result<Credentials> get(std::stop_token) override { return Credentials(); }
  std::string_view name() const override { return "anonymous"; }
};

}  // namespace spdld::store
