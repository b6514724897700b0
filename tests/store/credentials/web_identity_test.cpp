#include "daemon/store/credentials/web_identity.h"

#include "tests/store/credentials/fixtures.h"
#include "tests/support/http_stub.h"
#include "tests/support/temp_dir.h"

namespace spdld::store::credentials_test {
namespace {

using test::HttpStub;
using test::StubReply;
using test::StubRequest;

const std::string kAnswer =
    "<AssumeRoleWithWebIdentityResponse "
    "xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">\n<AssumeRoleWithWebIdentityResult>"
    "<Credentials><SessionToken>" +
    kToken + "</SessionToken><SecretAccessKey>" + kSecret +
    "</SecretAccessKey>"
    "<Expiration>2030-01-01T00:00:00Z</Expiration><AccessKeyId>" +
    kAccess +
    "</AccessKeyId></Credentials>"
    "</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>";

using Variables = std::map<std::string, std::string>;

// Where a question went, of a source with these variables.
std::string url_asked(Variables variables) {
  const test::TempDir folder;
  variables["AWS_WEB_IDENTITY_TOKEN_FILE"] = folder.write("token", kIdentity);
  variables["AWS_ROLE_ARN"] = "arn:aws:iam::1:role/r";
  std::string url;
  WebIdentityCredentials source(environment_of(variables), [&](const http::Question& question) -> Result<http::Reply> {
    url = question.url;
    return Error{Trouble::kTransient, "nobody is there."};
  });
  const auto result = source.get({});
  return url.empty() ? error_of(result).message : url;
}

}  // namespace

TEST_CASE("a token of another identity provider is exchanged for credentials") {
  const test::TempDir folder;
  HttpStub stub([](const StubRequest&) { return StubReply{200, kAnswer}; });
  const std::string file = folder.write("token", kIdentity + "\n");
  WebIdentityCredentials source(environment_of({{"AWS_WEB_IDENTITY_TOKEN_FILE", file},
                                                {"AWS_ROLE_ARN", "arn:aws:iam::1:role/a b"},
                                                {"AWS_ENDPOINT_URL_STS", stub.url()}}),
                                http::ask);
  CHECK(credentials_of(source.get({})) == Credentials{kAccess, kSecret, kToken, kExpiresAtS});
  folder.write("token", "renewed");
  CHECK(credentials_of(source.get({})).access_key == kAccess);
  const auto requests = stub.requests();
  REQUIRE(requests.size() == 2);
  CHECK(requests[0].method == "POST");
  CHECK(requests[0].target == "/");
  CHECK(requests[0].header("content-type") == "application/x-www-form-urlencoded");
  CHECK(requests[0].body ==
        "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fa%20b&"
        "RoleSessionName=spdld&WebIdentityToken=" +
            kIdentity);
  CHECK(requests[1].body.ends_with("&WebIdentityToken=renewed"));
}

TEST_CASE("STS is asked at the endpoint or the region that a variable names") {
  CHECK(url_asked({}) == "https://sts.us-east-1.amazonaws.com/");
  CHECK(url_asked({{"AWS_DEFAULT_REGION", "eu-west-1"}}) == "https://sts.eu-west-1.amazonaws.com/");
  CHECK(url_asked({{"AWS_DEFAULT_REGION", "x"}, {"AWS_REGION", "cn-north-1"}}) ==
        "https://sts.cn-north-1.amazonaws.com.cn/");
  CHECK(url_asked({{"AWS_ENDPOINT_URL", "http://minio:9000"}}) == "http://minio:9000/");
  CHECK(url_asked({{"AWS_ENDPOINT_URL", "http://minio:9000"}, {"AWS_ENDPOINT_URL_STS", "https://sts.here"}}) ==
        "https://sts.here/");
  CHECK(url_asked({{"AWS_REGION", "evil.com/"}}).starts_with("AWS_REGION"));
  CHECK(url_asked({{"AWS_ENDPOINT_URL_STS", "https://sts.here/path"}}).starts_with("AWS_ENDPOINT_URL_STS"));
  CHECK(url_asked({{"AWS_ENDPOINT_URL_STS", "https://u:SeCrEt@sts.here/"}}).starts_with("AWS_ENDPOINT_URL_STS"));
}

TEST_CASE("what is not set up is passed over, and what is set up wrongly is told") {
  const test::TempDir folder;
  const auto get = [](const Variables& variables) {
    return error_of(WebIdentityCredentials(environment_of(variables), nobody()).get({}));
  };
  CHECK(get({{"AWS_ROLE_ARN", "r"}}).trouble == Trouble::kNotFound);
  CHECK(get({{"AWS_WEB_IDENTITY_TOKEN_FILE", "/x"}}).trouble == Trouble::kUsage);
  CHECK(get({{"AWS_WEB_IDENTITY_TOKEN_FILE", (folder.path() / "none").string()}, {"AWS_ROLE_ARN", "r"}}).trouble ==
        Trouble::kUsage);
  for (const std::string& text : {std::string(), std::string("\n"), std::string("SeCrEt a"),
                                  std::string("SeCrEt\r\nX: y"), std::string(70000, 'x')}) {
    const std::string file = folder.write("token", text);
    CHECK(get({{"AWS_WEB_IDENTITY_TOKEN_FILE", file}, {"AWS_ROLE_ARN", "r"}}).trouble ==
          (text.size() > 65536 ? Trouble::kLimit : Trouble::kUsage));
  }
}

TEST_CASE("STS may refuse, fail, send nonsense or too much") {
  const test::TempDir folder;
  StubReply reply;
  HttpStub stub([&](const StubRequest&) { return reply; });
  WebIdentityCredentials source(environment_of({{"AWS_WEB_IDENTITY_TOKEN_FILE", folder.write("token", kIdentity)},
                                                {"AWS_ROLE_ARN", "r"},
                                                {"AWS_ENDPOINT_URL_STS", stub.url()}}),
                                http::ask);
  reply = {403,
           "<ErrorResponse><Error><Code>AccessDenied</Code><Message>Not authorized</Message></Error></ErrorResponse>"};
  const Error denied = error_of(source.get({}));
  CHECK(denied.trouble == Trouble::kDenied);
  CHECK(denied.message.find("AccessDenied (Not authorized)") != std::string::npos);
  reply = {400, "<Error><Code>InvalidIdentityToken</Code><Message>" + kIdentity + "</Message></Error>"};
  CHECK(error_of(source.get({})).trouble == Trouble::kDenied);
  reply = {503, "SeCrEt"};
  CHECK(error_of(source.get({})).trouble == Trouble::kTransient);
  reply = {200, "<html>" + kSecret};
  CHECK(error_of(source.get({})).trouble == Trouble::kTransient);
  reply = {200, std::string(1 << 20, 'x')};
  CHECK(error_of(source.get({})).trouble == Trouble::kLimit);
  reply = {200, kAnswer};
  reply.cut_after = 100;
  CHECK(error_of(source.get({})).trouble == Trouble::kTransient);
}

}  // namespace spdld::store::credentials_test
