#include "daemon/store/credentials/document.h"

#include "tests/store/credentials/fixtures.h"

namespace spdld::store::credentials_test {
namespace {

std::string xml_of(const std::string& access, const std::string& rest) {
  return "<AssumeRoleWithWebIdentityResponse><R><Credentials><AccessKeyId>" + access + "</AccessKeyId>" + rest +
         "</Credentials></R></AssumeRoleWithWebIdentityResponse>";
}

}  // namespace

TEST_CASE("credentials are read from JSON, with and without an end") {
  CHECK(credentials_of(read_credentials_json(json_of(), "it")) == Credentials{kAccess, kSecret, kToken, kExpiresAtS});
  CHECK(credentials_of(read_credentials_json(R"({"AccessKeyId": "a", "SecretAccessKey": "b"})", "it")) ==
        Credentials{"a", "b", "", 0});
}

TEST_CASE("a damaged JSON document is an error that shows nothing of it") {
  const std::string whole = json_of();
  for (size_t size = 0; size < whole.size(); ++size)
    CHECK(error_of(read_credentials_json(whole.substr(0, size), "it")).trouble == Trouble::kTransient);
  std::string deep;
  for (int i = 0; i < 30'000; ++i) deep += "[";
  for (const std::string& text :
       {deep, "{\"a\":" + deep, std::string("[]"), std::string("null"), std::string("{}"), std::string("\0", 1),
        std::string("{\"AccessKeyId\": 1, \"SecretAccessKey\": \"SeCrEt\"}"), json_of("tomorrow"),
        json_of("2030-01-01"), std::string("{\"Code\": \"Failed\\u000a\", \"AccessKeyId\": \"SeCrEt\"}"),
        whole + "SeCrEt", std::string("{\"AccessKeyId\": \"a\", \"SecretAccessKey\": \"SeCrEt \"}"),
        std::string("{\"AccessKeyId\": \"a\\r\\nb\", \"SecretAccessKey\": \"SeCrEt\"}"),
        "{\"AccessKeyId\": \"a\", \"SecretAccessKey\": \"b\", \"Token\": \"SeCrEt" + std::string(40000, 'x') + "\"}",
        std::string("{\"AccessKeyId\": \"\xff\", \"SecretAccessKey\": \"SeCrEt\"}"), std::string("SeCrEt: not JSON")}) {
    CAPTURE(text.substr(0, 200));
    CHECK(error_of(read_credentials_json(text, "it")).trouble == Trouble::kTransient);
  }
  CHECK(error_of(read_credentials_json(R"({"Code": "AssumeRoleUnauthorizedAccess"})", "it"))
            .message.find("Unauthorized") != std::string::npos);
}

TEST_CASE("credentials are read from the XML of STS") {
  const std::string rest = "<SecretAccessKey>" + kSecret + "</SecretAccessKey>\n<SessionToken>" + kToken +
                           "</SessionToken><Expiration>2030-01-01T00:00:00Z</Expiration>";
  CHECK(credentials_of(read_credentials_xml(xml_of(kAccess, rest), "it")) ==
        Credentials{kAccess, kSecret, kToken, kExpiresAtS});
  for (const std::string& xml : {std::string(), std::string("<Credentials>"), xml_of("", rest), xml_of("a", ""),
                                 xml_of("<b>a</b>", rest), xml_of("a&unknown;", rest), xml_of("a&#xD800;", rest),
                                 xml_of("a&", rest), xml_of("a b", rest), std::string("<html>SeCrEt</html>")}) {
    CAPTURE(xml);
    CHECK(error_of(read_credentials_xml(xml, "it")).trouble == Trouble::kTransient);
  }
}

TEST_CASE("the text of an element has its references replaced") {
  CHECK(element_text("<a>x</a><b>&lt;&gt;&amp;&quot;&apos;&#43;&#x1F600;&#xe9;&#x20ac;</b>", "b") == "<>&\"'+😀é€");
  CHECK(element_text("<b></b>", "b") == "");
  for (const char* xml :
       {"", "<b>", "<b>x", "<b>x</c>", "<b>&x;</b>", "<b>&#;</b>", "<b>&#x110000;</b>", "<b>&#0;</b>", "<bb>x</bb>"}) {
    CAPTURE(xml);
    CHECK_FALSE(element_text(xml, "b"));
  }
}

TEST_CASE("an error of STS is told in printable words, without the secret that was sent") {
  const std::string xml =
      "<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>Not\nauthorized</Message></Error></"
      "ErrorResponse>";
  CHECK(sts_error_words(xml, kIdentity).starts_with("AccessDenied (Not"));
  CHECK(sts_error_words(xml, kIdentity).find('\n') == std::string::npos);
  CHECK(sts_error_words("<Code>X</Code><Message>token " + kIdentity + "</Message>", kIdentity) == "X");
  CHECK(sts_error_words("<html>", kIdentity).empty());
}

}  // namespace spdld::store::credentials_test
