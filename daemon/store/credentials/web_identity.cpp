#include "daemon/store/credentials/web_identity.h"

#include <algorithm>
#include <cctype>

#include "daemon/store/credentials/document.h"
#include "daemon/store/credentials/small_file.h"
#include "daemon/store/http/url.h"

namespace spdld::store {
namespace {

constexpr int kStsConnectMs = 3000, kStsTotalMs = 10000;  // STS may be on another continent
constexpr size_t kStsRegionBytesMax = 63;                 // of one label of a host's name

// As a form has it: application/x-www-form-urlencoded.
void append_field(std::string& form, std::string_view name, std::string_view value) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  if (!form.empty()) form += '&';
  form.append(name) += '=';
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || c == '-' || c == '_' || c == '.' || c == '~')
      form += c;
    else
      (form += '%').append(1, kDigits[byte >> 4]) += kDigits[byte & 15];
  }
}

}  // namespace

Result<std::string> WebIdentityCredentials::endpoint() const {
  for (const char* variable : {"AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"}) {
    const auto value = environment_(variable);
    if (!value) continue;
    const auto url = http::read_url(*value, variable);
    if (!url) return url.error();
    if (url->has_query || url->path != "/")
      return Error{Trouble::kUsage, std::string(variable) + " must end with the host or the port."};
    return url->scheme + "://" + http::host_header(*url) + "/";
  }
  const auto own = environment_("AWS_REGION");
  const std::string region = own ? *own : environment_("AWS_DEFAULT_REGION").value_or("us-east-1");
  const bool is_region = region.size() <= kStsRegionBytesMax && std::all_of(region.begin(), region.end(), [](char c) {
                           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
                         });
  if (!is_region) return Error{Trouble::kUsage, "AWS_REGION or AWS_DEFAULT_REGION is no region such as us-east-1."};
  return "https://sts." + region + (region.starts_with("cn-") ? ".amazonaws.com.cn/" : ".amazonaws.com/");
}

Result<Credentials> WebIdentityCredentials::get(std::stop_token stop) {
  const auto file = environment_("AWS_WEB_IDENTITY_TOKEN_FILE"), role = environment_("AWS_ROLE_ARN");
  if (!file) return Error{Trouble::kNotFound, "AWS_WEB_IDENTITY_TOKEN_FILE isn't set."};
  if (!role)
    return Error{Trouble::kUsage, "AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not: name the role."};
  const auto token = read_token_file(*file);
  if (!token) {
    const bool is_lost = token.error().trouble == Trouble::kNotFound;  // something is set up, and does not work
    return Error{is_lost ? Trouble::kUsage : token.error().trouble, "the web identity token: " + token.error().message};
  }
  const auto url = endpoint();
  if (!url) return url.error();
  http::Question question;
  question.method = "POST";
  question.url = *url;
  question.headers = {"Content-Type: application/x-www-form-urlencoded"};
  append_field(question.body, "Action", "AssumeRoleWithWebIdentity");
  append_field(question.body, "Version", "2011-06-15");
  append_field(question.body, "RoleArn", *role);
  append_field(question.body, "RoleSessionName", environment_("AWS_ROLE_SESSION_NAME").value_or("spdld"));
  append_field(question.body, "WebIdentityToken", *token);
  question.connect_ms = kStsConnectMs;
  question.total_ms = kStsTotalMs;
  question.stop = std::move(stop);
  const auto reply = ask_(question);
  if (!reply) return reply.error();
  const std::string where = "STS at " + *url;
  if (reply->status == 200) return read_credentials_xml(reply->body, where);
  const std::string words = sts_error_words(reply->body, *token);
  // A token that has just expired is renewed in its file, and then works.
  const bool is_final = reply->status >= 400 && reply->status < 500 && reply->status != 429;
  return Error{is_final ? Trouble::kDenied : Trouble::kTransient,
               where + " gives no credentials for AWS_ROLE_ARN: status " + std::to_string(reply->status) +
                   (words.empty() ? "" : ", " + words) + "."};
}

}  // namespace spdld::store
