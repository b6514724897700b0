// Several sources, asked one after another, and the source that a setting names.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/store/credentials/credentials.h"
#include "daemon/store/http/ask.h"

namespace spdld::store {

// The first source that has something set up gives the credentials, or its error ends the search: no other identity is
// taken silently. Sources are asked anew each time. One thread at a time.
class CredentialsChain : public CredentialsSource {
 public:
  // Precondition: there is at least one source.
  explicit CredentialsChain(std::vector<std::unique_ptr<CredentialsSource>> sources) : sources_(std::move(sources)) {}
  // One sentence says what was tried. kUsage where no source has anything set up.
  Result<Credentials> get(std::stop_token stop) override;
  std::string_view name() const override { return "auto"; }

 private:
  std::vector<std::unique_ptr<CredentialsSource>> sources_;
};

// The names that name_source takes, in words, for documents and errors.
inline constexpr const char* kCredentialsNames =
    "auto, environment, profile, profile:NAME, web-identity, container, instance or anonymous";

// "environment", "profile", "profile:NAME", "web-identity", "container", "instance", "anonymous", or "auto": the first
// five in AWS's order, which is environment, web identity, profile, container, instance. Never kNotFound: what a named
// source lacks is kUsage. An unknown name is kUsage.
Result<std::unique_ptr<CredentialsSource>> name_source(const std::string& name, const Environment& environment,
                                                       const http::Ask& ask);

}  // namespace spdld::store
