#include "daemon/store/credentials/chain.h"

#include "config/text/words.h"
#include "daemon/store/credentials/container.h"
#include "daemon/store/credentials/instance.h"
#include "daemon/store/credentials/profile.h"
#include "daemon/store/credentials/variables.h"
#include "daemon/store/credentials/web_identity.h"

namespace spdld::store {

Result<Credentials> CredentialsChain::get(std::stop_token stop) {
  std::string tried;
  for (const auto& source : sources_) {
    auto result = source->get(stop);
    if (result) return result;
    std::string message = std::string(source->name()) + ": " + result.error().message;
    if (result.error().trouble != Trouble::kNotFound)
      return Error{result.error().trouble, "there are no credentials from " + message};
    if (message.ends_with('.')) message.pop_back();
    tried += (tried.empty() ? "" : "; ") + message;
  }
  return Error{Trouble::kUsage, "no credentials were found (" + tried + "): set one of these up, or choose anonymous."};
}

Result<std::unique_ptr<CredentialsSource>> name_source(const std::string& name, const Environment& environment,
                                                       const http::Ask& ask) {
  std::vector<std::unique_ptr<CredentialsSource>> sources;
  const bool is_auto = name == "auto";
  constexpr std::string_view kProfile = "profile:";
  if (is_auto || name == "environment") sources.push_back(std::make_unique<VariableCredentials>(environment));
  if (is_auto || name == "web-identity") sources.push_back(std::make_unique<WebIdentityCredentials>(environment, ask));
  if (is_auto || name == "profile") sources.push_back(std::make_unique<ProfileCredentials>(environment));
  if (is_auto || name == "container") sources.push_back(std::make_unique<ContainerCredentials>(environment, ask));
  if (is_auto || name == "instance") sources.push_back(std::make_unique<InstanceCredentials>(environment, ask));
  if (name == "anonymous") sources.push_back(std::make_unique<AnonymousCredentials>());
  if (name.starts_with(kProfile) && name.size() > kProfile.size())
    sources.push_back(std::make_unique<ProfileCredentials>(environment, name.substr(kProfile.size())));
  if (sources.empty()) {
    return Error{Trouble::kUsage, "\"" + config::printable(name) + "\" names no source of credentials: choose " +
                                      kCredentialsNames + "."};
  }
  return std::unique_ptr<CredentialsSource>(std::make_unique<CredentialsChain>(std::move(sources)));
}

}  // namespace spdld::store
