#include "daemon/store/s3/error_text.h"

#include <catch2/catch.hpp>

namespace spdld::store::error_text_test {

using s3::read_error_text;

TEST_CASE("an error of S3 is read") {
  const auto text = read_error_text(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>AuthorizationHeaderMalformed</Code><Message>expecting "
      "&apos;eu-west-1&apos;</Message><Region>eu-west-1</Region><RequestId>1</RequestId><HostId>x</HostId></Error>");
  REQUIRE(text);
  CHECK(text->code == "AuthorizationHeaderMalformed");
  CHECK(text->region == "eu-west-1");
  CHECK(text->words() == "AuthorizationHeaderMalformed (expecting 'eu-west-1')");
  CHECK(read_error_text("<Error><Code>NoSuchKey</Code></Error>")->words() == "NoSuchKey");
}

TEST_CASE("parts of an error are printable and bounded") {
  const auto text =
      read_error_text("<Error><Code>A&#xA;B</Code><Message>" + std::string(5000, 'm') + "</Message></Error>");
  REQUIRE(text);
  CHECK(text->code.find('\n') == std::string::npos);
  CHECK(text->message.size() <= 310);
}

TEST_CASE("what is no error of S3 is none") {
  for (const std::string& xml :
       {std::string(), std::string("<html>502 Bad Gateway</html>"), std::string("<Error>"), std::string("<Error/>"),
        std::string("<Error><Code/></Error>"), std::string("<Error><A><Code>x</Code></A></Error>"), std::string("{}"),
        std::string("<!DOCTYPE Error [<!ENTITY a \"b\">]><Error><Code>&a;</Code></Error>"),
        "<Error><Code>x</Code>" + std::string(s3::kErrorBytesMax, ' ') + "</Error>", std::string("\0<Error>", 8)}) {
    CAPTURE(xml.substr(0, 100));
    CHECK_FALSE(read_error_text(xml));
  }
}

}  // namespace spdld::store::error_text_test
