// Credentials of an EC2 instance's role, from the instance metadata service, version 2 (version 1 is never used). Asked
// at AWS_EC2_METADATA_SERVICE_ENDPOINT, else http://169.254.169.254; AWS_EC2_METADATA_DISABLED=true turns it off.
// Source: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-metadata-security-credentials.html
#pragma once

#include "daemon/store/credentials/credentials.h"
#include "daemon/store/http/ask.h"

namespace spdld::store {

class InstanceCredentials : public CredentialsSource {
 public:
  InstanceCredentials(Environment environment, http::Ask ask)
      : environment_(std::move(environment)), ask_(std::move(ask)) {}
  // kNotFound: the service is turned off, doesn't answer at all, or the instance has no role. kDenied: the service
  // refuses a token. kTransient: the service fails.
  Result<Credentials> get(std::stop_token stop) override;
  std::string_view name() const override { return "instance"; }

 private:
  Result<std::string> endpoint() const;

  Environment environment_;
  http::Ask ask_;
};

}  // namespace spdld::store
