// Credentials out of AWS's profile files: AWS_SHARED_CREDENTIALS_FILE (else ~/.aws/credentials, sections [NAME]) and
// AWS_CONFIG_FILE (else ~/.aws/config, sections [profile NAME] and [default]). The credentials file wins.
#pragma once

#include "daemon/store/credentials/credentials.h"
#include "daemon/store/credentials/ini.h"

namespace spdld::store {

class ProfileCredentials : public CredentialsSource {
 public:
  // An empty `profile` stands for AWS_PROFILE, else "default".
  explicit ProfileCredentials(Environment environment, std::string profile = {})
      : environment_(std::move(environment)), profile_(std::move(profile)) {}
  // kNotFound: no such file, or only a profile that nobody named is missing. kUsage: the profile that the caller or
  // AWS_PROFILE names is missing, or a file is damaged. kUnsupported: the profile gets its credentials by a role, by
  // single sign-on or from a program.
  Result<Credentials> get(std::stop_token stop) override;
  std::string_view name() const override { return "profile"; }

 private:
  // Empty where the file is not there.
  Result<IniFile> read(const char* variable, const char* file_name, std::string& path) const;

  Environment environment_;
  const std::string profile_;
};

}  // namespace spdld::store
