#include "daemon/store/credentials/chain.h"

#include <stdlib.h>

#include "tests/store/credentials/fixtures.h"
#include "tests/support/temp_dir.h"

namespace spdld::store::credentials_test {
namespace {

using Variables = std::map<std::string, std::string>;

Result<Credentials> get(const std::string& name, const Variables& variables, const http::Ask& ask = nobody()) {
  auto source = name_source(name, environment_of(variables), ask);
  if (!source) return source.error();
  return (*source)->get({});
}

}  // namespace

TEST_CASE("variables give credentials, with or without a token") {
  const Variables both = {{"AWS_ACCESS_KEY_ID", kAccess}, {"AWS_SECRET_ACCESS_KEY", kSecret}};
  CHECK(credentials_of(get("environment", both)) == Credentials{kAccess, kSecret, "", 0});
  Variables with_token = both;
  with_token["AWS_SESSION_TOKEN"] = kToken;
  CHECK(credentials_of(get("environment", with_token)) == Credentials{kAccess, kSecret, kToken, 0});
  with_token["AWS_SESSION_TOKEN"] = "SeCrEt\n";
  CHECK(error_of(get("environment", with_token)).trouble == Trouble::kUsage);
  CHECK(error_of(get("environment", {{"AWS_SECRET_ACCESS_KEY", kSecret}})).trouble == Trouble::kUsage);
  CHECK(error_of(get("environment", {{"AWS_ACCESS_KEY_ID", "SeCrEt"}, {"AWS_SECRET_ACCESS_KEY", kSecret + " "}}))
            .trouble == Trouble::kUsage);
}

TEST_CASE("the sources are tried in AWS's order, and the first that is set up counts") {
  const test::TempDir folder;
  Variables variables = {{"HOME", folder.path().string()}, {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/x"}};
  std::vector<std::string> asked;
  const http::Ask ask = [&](const http::Question& question) -> Result<http::Reply> {
    asked.push_back(question.url);
    return http::Reply{200, json_of()};
  };
  CHECK(credentials_of(get("auto", variables, ask)).access_key == kAccess);
  CHECK(asked == std::vector<std::string>{"http://169.254.170.2/x"});
  variables["AWS_SHARED_CREDENTIALS_FILE"] =
      folder.write("keys", "[default]\naws_access_key_id = file\naws_secret_access_key = " + kSecret + "\n");
  CHECK(credentials_of(get("auto", variables, ask)).access_key == "file");
  // A token that can't be read ends the search: the file's keys are another identity.
  variables["AWS_WEB_IDENTITY_TOKEN_FILE"] = "/none";
  variables["AWS_ROLE_ARN"] = "r";
  CHECK(error_of(get("auto", variables, ask)).message.starts_with("there are no credentials from web-identity: "));
  variables["AWS_ACCESS_KEY_ID"] = "variable", variables["AWS_SECRET_ACCESS_KEY"] = kSecret;
  CHECK(credentials_of(get("auto", variables, ask)).access_key == "variable");
  CHECK(asked.size() == 1);
}

TEST_CASE("one sentence says what was tried") {
  const Error error = error_of(get("auto", {{"HOME", "/none"}}));
  CHECK(error.trouble == Trouble::kUsage);
  for (const char* part :
       {"environment: AWS_ACCESS_KEY_ID isn't set", "web-identity: ", "profile: ", "container: ", "instance: "}) {
    CAPTURE(error.message, part);
    CHECK(error.message.find(part) != std::string::npos);
  }
}

TEST_CASE("a source is chosen by its name alone") {
  const Variables keys = {{"AWS_ACCESS_KEY_ID", kAccess}, {"AWS_SECRET_ACCESS_KEY", kSecret}};
  CHECK(credentials_of(get("anonymous", keys)).is_anonymous());
  for (const char* name : {"profile", "profile:x", "web-identity", "container", "instance"}) {
    CAPTURE(name);
    CHECK(error_of(get(name, keys)).trouble == Trouble::kUsage);
  }
  for (const char* name : {"", "Auto", "profile:", "profiles", "x\ny"}) {
    CAPTURE(name);
    const auto source = name_source(name, environment_of(keys), nobody());
    REQUIRE_FALSE(source);
    checked_error(source.error());
    CHECK(source.error().message.find("web-identity") != std::string::npos);
  }
}

TEST_CASE("the process's environment is read, and an empty value is none") {
  ::setenv("SPDLD_CREDENTIALS_TEST", "", 1);  // no other thread reads the environment
  CHECK_FALSE(process_environment()("SPDLD_CREDENTIALS_TEST"));
  ::setenv("SPDLD_CREDENTIALS_TEST", "x", 1);
  CHECK(process_environment()("SPDLD_CREDENTIALS_TEST") == "x");
  ::unsetenv("SPDLD_CREDENTIALS_TEST");
  CHECK_FALSE(process_environment()("SPDLD_CREDENTIALS_TEST"));
}

}  // namespace spdld::store::credentials_test
