#include "daemon/store/credentials/container.h"

#include "tests/store/credentials/fixtures.h"
#include "tests/support/http_stub.h"
#include "tests/support/temp_dir.h"

namespace spdld::store::credentials_test {
namespace {

using test::HttpStub;
using test::StubReply;
using test::StubRequest;
using Variables = std::map<std::string, std::string>;

// The question that a source with these variables asks; nothing where it asks none.
std::optional<http::Question> question_of(const Variables& variables) {
  std::optional<http::Question> asked;
  ContainerCredentials source(environment_of(variables), [&](const http::Question& question) -> Result<http::Reply> {
    asked = question;
    return http::Reply{200, json_of()};
  });
  const auto result = source.get({});
  if (!asked) CHECK(error_of(result).trouble == Trouble::kUsage);
  return asked;
}

}  // namespace

TEST_CASE("a container's service is asked with its token, which is read anew each time") {
  const test::TempDir folder;
  HttpStub stub([](const StubRequest&) { return StubReply{200, json_of()}; });
  const std::string file = folder.write("token", "first\n");
  ContainerCredentials source(
      environment_of({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", stub.url() + "/v1/credentials?a=b"},
                      {"AWS_CONTAINER_AUTHORIZATION_TOKEN", "not this"},
                      {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", file}}),
      http::ask);
  CHECK(credentials_of(source.get({})) == Credentials{kAccess, kSecret, kToken, kExpiresAtS});
  folder.write("token", "second");
  CHECK(credentials_of(source.get({})).access_key == kAccess);
  const auto requests = stub.requests();
  REQUIRE(requests.size() == 2);
  CHECK(requests[0].target == "/v1/credentials?a=b");
  CHECK(requests[0].header("authorization") == "first");
  CHECK(requests[1].header("authorization") == "second");
}

TEST_CASE("a relative URI is asked of the task's service, and comes first") {
  const auto question = question_of({{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials/1"},
                                     {"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1/no"},
                                     {"AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic abc"}});
  REQUIRE(question);
  CHECK(question->url == "http://169.254.170.2/v2/credentials/1");
  CHECK(question->headers.back() == "Authorization: Basic abc");
  CHECK_FALSE(question_of({{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "@evil.com/"}}));
}

TEST_CASE("a token goes to another machine by https alone") {
  for (const char* url :
       {"https://example.com/x", "http://127.0.0.1:1/x", "http://127.9.9.9/x", "http://[::1]/x", "http://localhost/x",
        "http://169.254.170.2/x", "http://169.254.170.23/v1/credentials", "http://[fd00:ec2::23]/x"}) {
    CAPTURE(url);
    CHECK(question_of({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", url}}));
  }
  for (const char* url : {"http://example.com/x", "http://169.254.169.254/x", "http://169.254.170.24/x",
                          "http://127.0.0.1.example.com/", "http://127.0.0.1@example.com/",
                          "http://example.com#@127.0.0.1/", "http://10.0.0.1/", "file:///x", "127.0.0.1/x"}) {
    CAPTURE(url);
    CHECK_FALSE(question_of({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", url}}));
  }
}

TEST_CASE("a token that can't stand in a header is refused") {
  const test::TempDir folder;
  Variables variables = {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1/x"}};
  for (const std::string token : {"SeCrEt\r\nX: y", "SeCrEt\x01", "SeCrEt\xff"}) {
    variables["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = token;
    CHECK_FALSE(question_of(variables));
  }
  variables["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = folder.write("token", "SeCrEt\r\nX: y");
  CHECK_FALSE(question_of(variables));
  variables["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = (folder.path() / "none").string();
  CHECK_FALSE(question_of(variables));
}

TEST_CASE("a container's service may refuse, fail or send nonsense") {
  StubReply reply;
  HttpStub stub([&](const StubRequest&) { return reply; });
  ContainerCredentials source(environment_of({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", stub.url() + "/x"}}), http::ask);
  reply = {403, "SeCrEt"};
  CHECK(error_of(source.get({})).trouble == Trouble::kDenied);
  reply = {429, "SeCrEt"};
  CHECK(error_of(source.get({})).trouble == Trouble::kTransient);
  reply = {302, "", {"Location: http://evil.com/SeCrEt"}};
  CHECK(error_of(source.get({})).trouble == Trouble::kTransient);
  reply = {200, "{\"AccessKeyId\": \"SeCrEt\""};
  CHECK(error_of(source.get({})).trouble == Trouble::kTransient);
  CHECK(error_of(ContainerCredentials(environment_of({}), nobody()).get({})).trouble == Trouble::kNotFound);
}

}  // namespace spdld::store::credentials_test
