#include "daemon/store/credentials/variables.h"

namespace spdld::store {

Result<Credentials> VariableCredentials::get(std::stop_token) {
  const auto access = environment_("AWS_ACCESS_KEY_ID"), secret = environment_("AWS_SECRET_ACCESS_KEY");
  if (!access && !secret) return Error{Trouble::kNotFound, "AWS_ACCESS_KEY_ID isn't set."};
  return checked({access.value_or(""), secret.value_or(""), environment_("AWS_SESSION_TOKEN").value_or("")},
                 "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
}

}  // namespace spdld::store
