// Credentials of a role that a token of another identity provider stands for: a pod's service account on Kubernetes.
// AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN and AWS_ROLE_SESSION_NAME (else "spdld"). The token is sent to STS at
// AWS_ENDPOINT_URL_STS, AWS_ENDPOINT_URL, or AWS's own endpoint of AWS_REGION, AWS_DEFAULT_REGION or us-east-1. Source:
// https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html
#pragma once

#include "daemon/store/credentials/credentials.h"
#include "daemon/store/http/ask.h"

namespace spdld::store {

class WebIdentityCredentials : public CredentialsSource {
 public:
  WebIdentityCredentials(Environment environment, http::Ask ask)
      : environment_(std::move(environment)), ask_(std::move(ask)) {}
  // kNotFound: no token file is named. kUsage: a variable or the token's file is wrong. kDenied: STS refuses.
  // kTransient: STS can't be asked, or fails.
  Result<Credentials> get(std::stop_token stop) override;
  std::string_view name() const override { return "web-identity"; }

 private:
  Result<std::string> endpoint() const;

  Environment environment_;
  http::Ask ask_;
};

}  // namespace spdld::store
