// Credentials of a container: ECS tasks (AWS_CONTAINER_CREDENTIALS_RELATIVE_URI, asked of 169.254.170.2) and EKS Pod
// Identity (AWS_CONTAINER_CREDENTIALS_FULL_URI with AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE, or
// AWS_CONTAINER_AUTHORIZATION_TOKEN). Source:
// https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html
#pragma once

#include "daemon/store/credentials/credentials.h"
#include "daemon/store/http/ask.h"

namespace spdld::store {

class ContainerCredentials : public CredentialsSource {
 public:
  ContainerCredentials(Environment environment, http::Ask ask)
      : environment_(std::move(environment)), ask_(std::move(ask)) {}
  // kNotFound: no URI is set. kUsage: a variable is wrong, or the full URI is plain http to a host that is neither this
  // machine nor one of AWS's addresses. kDenied, kTransient: the service refuses, or fails.
  Result<Credentials> get(std::stop_token stop) override;
  std::string_view name() const override { return "container"; }

 private:
  Result<std::string> url() const;
  Result<std::string> authorization() const;  // empty: none is set

  Environment environment_;
  http::Ask ask_;
};

}  // namespace spdld::store
