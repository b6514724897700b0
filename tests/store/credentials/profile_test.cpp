#include "daemon/store/credentials/profile.h"

#include <sys/stat.h>

#include <filesystem>

#include "tests/store/credentials/fixtures.h"
#include "tests/support/temp_dir.h"

namespace spdld::store::credentials_test {
namespace {

// A home with the two files; an empty text stands for no file.
struct Home {
  Home(const std::string& credentials, const std::string& config) {
    std::filesystem::create_directory(folder.path() / ".aws");
    if (!credentials.empty()) folder.write(".aws/credentials", credentials);
    if (!config.empty()) folder.write(".aws/config", config);
    variables["HOME"] = folder.path().string();
  }
  Result<Credentials> get(const std::string& profile = {}) const {
    return ProfileCredentials(environment_of(variables), profile).get({});
  }
  test::TempDir folder;
  std::map<std::string, std::string> variables;
};

std::string keys_of(const std::string& access) {
  return "aws_access_key_id = " + access + "\naws_secret_access_key=" + kSecret + "\n";
}

}  // namespace

TEST_CASE("a profile is read from both files, and the credentials file wins") {
  Home home("[default]\n" + keys_of("one") + "[two]\nAWS_ACCESS_KEY_ID = two\naws_secret_access_key = " + kSecret +
                "\naws_session_token = " + kToken + "\n",
            "[default]\nregion = x\n" + keys_of("no") + "aws_session_token = no\n[profile three]\n" + keys_of("three") +
                "[four]\n" + keys_of("four"));
  CHECK(credentials_of(home.get()) == Credentials{"one", kSecret, "", 0});
  CHECK(credentials_of(home.get("two")) == Credentials{"two", kSecret, kToken, 0});
  CHECK(credentials_of(home.get("three")).access_key == "three");
  CHECK(error_of(home.get("four")).trouble == Trouble::kUsage);  // [profile four] would be it
  home.variables["AWS_PROFILE"] = "three";
  CHECK(credentials_of(home.get()).access_key == "three");
  CHECK(credentials_of(home.get("two")).access_key == "two");
}

TEST_CASE("variables name other files, and a changed file is read again") {
  Home home("", "");
  home.variables["AWS_SHARED_CREDENTIALS_FILE"] = "~/keys";
  home.variables["AWS_CONFIG_FILE"] = home.folder.write("conf", "[profile p]\n" + keys_of("p"));
  CHECK(error_of(home.get()).trouble == Trouble::kNotFound);
  home.folder.write("keys", "[default]\n" + keys_of("first"));
  ProfileCredentials source(environment_of(home.variables));
  CHECK(credentials_of(source.get({})).access_key == "first");
  home.folder.write("keys", "[default]\n" + keys_of("second"));
  CHECK(credentials_of(source.get({})).access_key == "second");
  CHECK(credentials_of(home.get("p")).access_key == "p");
}

TEST_CASE("what is not there is told: for another source to be tried where nobody named it") {
  CHECK(error_of(ProfileCredentials(environment_of({})).get({})).trouble == Trouble::kNotFound);
  CHECK(error_of(Home("", "").get()).trouble == Trouble::kNotFound);
  CHECK(error_of(Home("", "[default]\nregion = x\n").get()).trouble == Trouble::kNotFound);
  CHECK(error_of(Home("[a]\nx = y\n", "").get("b\n")).trouble == Trouble::kUsage);
  Home named("[a]\nx = y\n", "");
  named.variables["AWS_PROFILE"] = "b";
  CHECK(error_of(named.get()).trouble == Trouble::kUsage);
}

TEST_CASE("ways to credentials that are not supported are named") {
  for (const std::string setting : {"role_arn", "source_profile", "credential_source", "sso_session", "sso_start_url",
                                    "credential_process", "web_identity_token_file"}) {
    const Error error = error_of(Home("", "[profile p]\n" + setting + " = SeCrEt\n").get("p"));
    CHECK(error.trouble == Trouble::kUnsupported);
    CHECK(error.message.find(setting) != std::string::npos);
  }
  CHECK(error_of(Home("", "[default]\nrole_arn = x\n" + keys_of("a")).get()).trouble == Trouble::kUnsupported);
  CHECK(credentials_of(Home("", "[default]\nsso_session = x\n" + keys_of("a")).get()).access_key == "a");
}

TEST_CASE("half a pair of keys, a damaged file and no file at all are errors") {
  CHECK(error_of(Home("[default]\naws_secret_access_key = " + kSecret + "\n", "").get()).trouble == Trouble::kUsage);
  CHECK(error_of(Home("[default]\naws_access_key_id = SeCrEt\n", "").get()).trouble == Trouble::kUsage);
  CHECK(error_of(Home("[default]\n" + kSecret + "\n", "").get()).trouble == Trouble::kUsage);
  CHECK(error_of(Home("[default]\n" + keys_of("a b"), "").get()).trouble == Trouble::kUsage);
  CHECK(error_of(Home(std::string(2 << 20, '\n'), "").get()).trouble == Trouble::kLimit);
  Home folder("", "");
  std::filesystem::create_directory(folder.folder.path() / ".aws/credentials");
  CHECK(error_of(folder.get()).trouble == Trouble::kUsage);
  Home pipe("", "");
  REQUIRE(::mkfifo((pipe.folder.path() / ".aws/credentials").c_str(), 0600) == 0);
  CHECK(error_of(pipe.get()).trouble == Trouble::kUsage);  // and is not waited for
}

}  // namespace spdld::store::credentials_test
