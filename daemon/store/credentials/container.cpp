#include "daemon/store/credentials/container.h"

#include <algorithm>
#include <array>

#include "daemon/store/credentials/document.h"
#include "daemon/store/credentials/small_file.h"
#include "daemon/store/http/url.h"

namespace spdld::store {
namespace {

constexpr std::array<std::string_view, 3> kServices = {"169.254.170.2", "169.254.170.23", "fd00:ec2::23"};

}  // namespace

Result<std::string> ContainerCredentials::url() const {
  if (const auto relative = environment_("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")) {
    if (!relative->starts_with('/'))
      return Error{Trouble::kUsage, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI must begin with '/'."};
    return "http://169.254.170.2" + *relative;
  }
  const auto full = environment_("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (!full) {
    return Error{Trouble::kNotFound,
                 "neither AWS_CONTAINER_CREDENTIALS_RELATIVE_URI nor AWS_CONTAINER_CREDENTIALS_FULL_URI is set."};
  }
  const auto read = http::read_url(*full, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (!read) return read.error();
  const bool is_service = std::find(kServices.begin(), kServices.end(), read->host) != kServices.end();
  if (!read->is_https() && !is_service && !http::is_loopback(read->host)) {
    return Error{Trouble::kUsage,
                 "AWS_CONTAINER_CREDENTIALS_FULL_URI is plain http to another machine, which would show the token to "
                 "the network: use https."};
  }
  return *full;
}

Result<std::string> ContainerCredentials::authorization() const {
  if (const auto file = environment_("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")) {
    auto token = read_token_file(*file);
    if (!token) {
      token.error().message = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: " + token.error().message;
      if (token.error().trouble == Trouble::kNotFound) token.error().trouble = Trouble::kUsage;
    }
    return token;
  }
  const std::string token = environment_("AWS_CONTAINER_AUTHORIZATION_TOKEN").value_or("");
  // "Basic abc" has a blank.
  if (!std::all_of(token.begin(), token.end(), [](char c) { return c >= ' ' && c < 0x7F; }))
    return Error{Trouble::kUsage, "AWS_CONTAINER_AUTHORIZATION_TOKEN has a control character or a byte beyond ASCII."};
  return token;
}

Result<Credentials> ContainerCredentials::get(std::stop_token stop) {
  const auto address = url();
  if (!address) return address.error();
  const auto token = authorization();
  if (!token) return token.error();
  http::Question question;
  question.url = *address;
  question.headers = {"Accept: application/json"};
  if (!token->empty()) question.headers.push_back("Authorization: " + *token);
  question.stop = std::move(stop);
  const auto reply = ask_(question);
  if (!reply) return reply.error();
  const std::string where = "the container's credentials service";
  if (reply->status == 200) return read_credentials_json(reply->body, where);
  const bool is_final = reply->status >= 400 && reply->status < 500 && reply->status != 429;
  return Error{is_final ? Trouble::kDenied : Trouble::kTransient,
               where + " gives no credentials: status " + std::to_string(reply->status) + "."};
}

}  // namespace spdld::store
