// Texts in other encodings become UTF-8.
#include <catch2/catch.hpp>

#include "daemon/base/formats/text_encoding.h"

namespace spdld::text_encoding_test {

using Catch::Contains;

TEST_CASE("a text becomes UTF-8, however much longer it gets") {
  std::string latin, utf8;
  for (int i = 0; i < 10000; ++i) latin += '\xe9', utf8 += "\xc3\xa9";
  CHECK(*as_utf8(latin, "iso-8859-1") == utf8);
  CHECK(as_utf8("", "GBK")->empty());
  CHECK(*as_utf8("\xa4", "ISO-8859-15") == "\xe2\x82\xac");
}

TEST_CASE("bytes without a meaning, and encodings that are not known, are refused in words") {
  CHECK_THAT(as_utf8("a\xff\xff", "EUC-JP").error().message, Contains("no meaning in its encoding, EUC-JP"));
  CHECK_THAT(as_utf8("a\xe9", "UTF-8").error().message, Contains("no meaning"));
  CHECK_THAT(as_utf8("\xc3", "GBK").error().message, Contains("no meaning"));  // cut in a character
  CHECK_THAT(as_utf8("abc", "UTF-16LE").error().message, Contains("no meaning"));
  for (const char* name : {"", "utf-7", "ISO-2022-CN-EXT", "../../x", "latin1//TRANSLIT", "LATIN1//"})
    CHECK_FALSE(is_known_encoding(name));
}

TEST_CASE("a document of XML that is not finished in its first line stands as it is") {
  for (const std::string_view xml :
       {"", "<", "<?xml", "<?xml encoding", "<?xml encoding=", "<?xml encoding=x", "<?xml encoding='",
        "<?xml encoding='utf-8", "<a encoding='latin1'/>", "\xef\xbb", "<?xml version='1'?><a encoding='x'/>"}) {
    std::string kept;
    CHECK(*utf8_of_xml(xml, kept) == xml);
  }
}

}  // namespace spdld::text_encoding_test
