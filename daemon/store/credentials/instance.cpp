#include "daemon/store/credentials/instance.h"

#include <algorithm>
#include <cctype>

#include "daemon/store/credentials/document.h"
#include "daemon/store/http/url.h"

namespace spdld::store {
namespace {

// The service is at hand. Where there is none, packets to it are often dropped, so that only the time tells.
constexpr int kConnectMs = 1000, kTotalMs = 2000;
constexpr size_t kRoleBytesMax = 64;

const std::string kService = "the instance metadata service";

bool is_role(std::string_view name) {
  return !name.empty() && name.size() <= kRoleBytesMax && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) || std::string_view("+=,.@_-").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

Error status_error(int status, const std::string& what) {
  const bool is_final = status >= 400 && status < 500 && status != 429;
  return {is_final ? Trouble::kDenied : Trouble::kTransient,
          kService + " gives no " + what + ": status " + std::to_string(status) + "."};
}

// The first line, without blanks around it.
std::string first_line(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back()))) line.pop_back();
  return line;
}

}  // namespace

Result<std::string> InstanceCredentials::endpoint() const {
  std::string off = environment_("AWS_EC2_METADATA_DISABLED").value_or("");
  std::transform(off.begin(), off.end(), off.begin(), [](unsigned char c) { return std::tolower(c); });
  if (off == "true") return Error{Trouble::kNotFound, "AWS_EC2_METADATA_DISABLED turns it off."};
  const auto own = environment_("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  if (!own) return std::string("http://169.254.169.254");
  const auto url = http::read_url(*own, "AWS_EC2_METADATA_SERVICE_ENDPOINT");
  if (!url) return url.error();
  if (url->has_query || url->path != "/")
    return Error{Trouble::kUsage, "AWS_EC2_METADATA_SERVICE_ENDPOINT must end with the host or the port."};
  return url->scheme + "://" + http::host_header(*url);
}

Result<Credentials> InstanceCredentials::get(std::stop_token stop) {
  const auto at = endpoint();
  if (!at) return at.error();
  http::Question question;
  question.connect_ms = kConnectMs;
  question.total_ms = kTotalMs;
  question.stop = std::move(stop);
  question.method = "PUT";
  question.url = *at + "/latest/api/token";
  question.headers = {"X-aws-ec2-metadata-token-ttl-seconds: 21600"};
  const auto token = ask_(question);
  if (!token) {
    const bool is_none = token.error().trouble == Trouble::kTransient;
    return is_none ? Error{Trouble::kNotFound, kService + " does not answer: " + token.error().message} : token.error();
  }
  if (token->status != 200) return status_error(token->status, "token");
  const std::string word = first_line(token->body);
  if (word.empty() || std::any_of(word.begin(), word.end(), [](char c) { return c <= ' ' || c >= 0x7F; }))
    return Error{Trouble::kTransient, kService + " gives a token that can't be sent back."};

  question.method = "GET";
  question.url = *at + "/latest/meta-data/iam/security-credentials/";
  question.headers = {"X-aws-ec2-metadata-token: " + word};
  const auto roles = ask_(question);
  if (!roles) return roles.error();
  if (roles->status == 404) return Error{Trouble::kNotFound, "the instance has no role."};
  if (roles->status != 200) return status_error(roles->status, "role");
  const std::string role = first_line(roles->body);
  if (!is_role(role)) return Error{Trouble::kTransient, kService + " gives a role's name that is none."};

  question.url += role;
  const auto document = ask_(question);
  if (!document) return document.error();
  if (document->status != 200) return status_error(document->status, "credentials");
  return read_credentials_json(document->body, kService);
}

}  // namespace spdld::store
