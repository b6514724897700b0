#include "daemon/store/s3/list_page.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>

namespace spdld::store::list_page_test {
namespace {

using s3::read_list_page;

constexpr const char* kWhat = "the listing of s3://bucket/";

std::string page_of(const std::string& inner) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult "
         "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
         "<Name>bucket</Name><Prefix></Prefix><MaxKeys>1000</MaxKeys>" +
         inner + "</ListBucketResult>";
}

std::string object_of(const std::string& key, const std::string& size = "1") {
  return "<Contents><Key>" + key +
         "</Key><LastModified>2013-05-24T00:00:00.000Z</LastModified><ETag>&quot;abc&quot;</ETag>"
         "<Size>" +
         size + "</Size><StorageClass>STANDARD</StorageClass></Contents>";
}

// A whole page, as a store sends it.
std::string large_page(int count) {
  std::string inner = "<IsTruncated>false</IsTruncated>";
  for (int i = 0; i < count; ++i) {
    std::string key = std::to_string(100000000 + i);
    inner += "<Contents><Key>datasets/images/train/class-" + key + "/sample-" + key +
             ".tar</Key><LastModified>2024-02-29T23:59:58."
             "000Z</LastModified><ETag>&quot;d41d8cd98f00b204e9800998ecf8427e&quot;</ETag><Size>" +
             key + "</Size><StorageClass>STANDARD</StorageClass></Contents>";
  }
  return page_of(inner);
}

Error error_of(const std::string& xml) {
  const auto page = read_list_page(xml, kWhat);
  CAPTURE(xml.substr(0, 300));
  REQUIRE_FALSE(page);
  CHECK(page.error().message.starts_with(kWhat));
  CHECK(page.error().message.ends_with("."));
  return page.error();
}

}  // namespace

TEST_CASE("a page of a listing is read") {
  const auto page = read_list_page(
      page_of(
          "<KeyCount>3</KeyCount><IsTruncated>true</IsTruncated><NextContinuationToken>1/w&amp;==</"
          "NextContinuationToken>" +
          object_of("a &amp; b/é.tar", "18446744073709551615") + "<Contents><Key>empty</Key><Size>0</Size></Contents>" +
          "<CommonPrefixes><Prefix>x/</Prefix></CommonPrefixes><CommonPrefixes><Prefix>y+%/</Prefix></CommonPrefixes>"),
      kWhat);
  REQUIRE(page);
  REQUIRE(page->objects.size() == 2);
  CHECK(page->objects[0].key == "a & b/é.tar");
  CHECK(page->objects[0].etag == "\"abc\"");
  CHECK(page->objects[0].size == UINT64_MAX);
  CHECK(page->objects[0].modified_s == 1369353600);
  CHECK(page->objects[1].key == "empty");
  CHECK(page->objects[1].etag.empty());
  CHECK(page->objects[1].modified_s == 0);
  CHECK(page->prefixes == std::vector<std::string_view>{"x/", "y+%/"});
  CHECK(page->next_token == "1/w&==");
}

TEST_CASE("the last page has no token for a next one, whatever stands there") {
  const auto page = read_list_page(
      page_of("<IsTruncated>false</IsTruncated><NextContinuationToken>more</NextContinuationToken>"), kWhat);
  REQUIRE(page);
  CHECK(page->next_token.empty());
}

TEST_CASE("names are decoded where the page says that they are encoded, before it or after it") {
  const std::string encoding = "<EncodingType>url</EncodingType>";
  const std::string names =
      object_of("a+b%2Bc%2F%E6%97%A5%0A%00") + "<CommonPrefixes><Prefix>p%20/</Prefix></CommonPrefixes>";
  for (const std::string& inner : {encoding + names, names + encoding}) {
    auto read = read_list_page(page_of(inner), kWhat);
    REQUIRE(read);
    const s3::ListPage page = std::move(*read);  // the views outlive a move
    CHECK(page.objects.at(0).key == std::string_view("a b+c/日\n\0", 11));
    CHECK(page.prefixes.at(0) == "p /");
    CHECK(page.next_token.empty());
  }
  CHECK(read_list_page(page_of(names), kWhat)->objects[0].key == "a+b%2Bc%2F%E6%97%A5%0A%00");
  CHECK(error_of(page_of(encoding + object_of("%zz"))).trouble == Trouble::kTransient);
  CHECK(error_of(page_of("<EncodingType>base64</EncodingType>")).trouble == Trouble::kTransient);
}

TEST_CASE("a plus is itself where blanks are written in another way, and a page that does not tell says so") {
  const std::string encoding = "<EncodingType>url</EncodingType>";
  const auto read = [&](const std::vector<std::string>& keys, bool is_encoded = true) {
    std::string inner = is_encoded ? encoding : "";
    for (const std::string& key : keys) inner += object_of(key);
    auto page = read_list_page(page_of(inner), kWhat);
    REQUIRE(page);
    return std::move(*page);
  };
  CHECK(read({"a+b", "c%20d"}).objects[0].key == "a+b");
  CHECK_FALSE(read({"a+b", "c%20d"}).has_unsure_plus);
  for (const char* plus : {"c%2Bd", "c%2bd"}) {
    CHECK(read({"a+b", plus}).objects[0].key == "a b");
    CHECK(read({"a+b", plus}).objects[1].key == "c+d");
    CHECK_FALSE(read({"a+b", plus}).has_unsure_plus);
  }
  CHECK(read({"a+b", "c"}).objects[0].key == "a b");
  CHECK(read({"a+b", "c"}).has_unsure_plus);
  CHECK(read({"a+b", "c%20%2B"}).has_unsure_plus);
  CHECK_FALSE(read({"ab", "c"}).has_unsure_plus);
  CHECK_FALSE(read({"a+b", "c"}, false).has_unsure_plus);
  CHECK(read_list_page(page_of(encoding + "<CommonPrefixes><Prefix>a+b/</Prefix></CommonPrefixes>"), kWhat)
            ->has_unsure_plus);
  for (const char* sign : {"a\xef\xbf\xbd", "a&#13;", "a\nb"}) {
    CHECK(read({sign}, false).has_unsure_sign);
    CHECK_FALSE(read({"b", "c+ %d&amp;"}, false).has_unsure_sign);
  }
  CHECK_FALSE(read({"a%0A%EF%BF%BD"}).has_unsure_sign);
}

TEST_CASE("prefixed names, empty pages and unknown elements are fine") {
  CHECK(read_list_page(
            "<s3:ListBucketResult xmlns:s3=\"x\"><s3:Contents><s3:Key>k</s3:Key><s3:Size>2</s3:Size><s3:Owner><s3:ID>"
            "1</s3:ID><s3:Key>no</s3:Key></s3:Owner></s3:Contents></s3:ListBucketResult>",
            kWhat)
            ->objects.at(0)
            .key == "k");
  CHECK(read_list_page("<ListBucketResult/>", kWhat)->objects.empty());
  CHECK(read_list_page(page_of("<CommonPrefixes/>"), kWhat)->prefixes.empty());
}

TEST_CASE("a damaged page is refused, and nothing of it is given") {
  for (const std::string& xml : {std::string(),
                                 std::string("not XML"),
                                 std::string("<html/>"),
                                 std::string("<Error/>"),
                                 std::string("\0\0", 2),
                                 page_of("<IsTruncated>true</IsTruncated>"),
                                 page_of("<IsTruncated>maybe</IsTruncated>"),
                                 page_of("<Contents><Size>1</Size></Contents>"),
                                 page_of("<Contents><Key>k</Key></Contents>"),
                                 page_of(object_of("")),
                                 page_of(object_of("k", "")),
                                 page_of(object_of("k", "-1")),
                                 page_of(object_of("k", "1x")),
                                 page_of(object_of("k", "18446744073709551616")),
                                 page_of("<Contents><Key>a<b/>c</Key><Size>1</Size></Contents>"),
                                 page_of(object_of("k\xff")),
                                 page_of(object_of("&unknown;")),
                                 page_of(object_of("&#0;")),
                                 page_of(object_of("k")) + "<more/>",
                                 page_of(object_of("k")) + page_of("")}) {
    CHECK(error_of(xml).trouble == Trouble::kTransient);
  }
  const std::string whole = page_of(object_of("a") + object_of("b"));
  for (size_t size = 0; size < whole.size(); ++size) CHECK_FALSE(read_list_page(whole.substr(0, size), kWhat));
}

TEST_CASE("document types and their entities are refused, and what is too deep, long or large") {
  const std::string body =
      page_of(object_of("&a;")).substr(std::string("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").size());
  CHECK(error_of("<!DOCTYPE x [<!ENTITY a \"bbbbbbbbbb\"><!ENTITY c \"&a;&a;\">]>" + body)
            .message.find("document type") != std::string::npos);
  CHECK(error_of("<!DOCTYPE x SYSTEM \"file:///etc/passwd\">" + body).trouble == Trouble::kTransient);
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  CHECK(error_of(page_of(deep)).trouble == Trouble::kLimit);
  CHECK(error_of(page_of(object_of(std::string(s3::kKeyBytesMax + 1, 'k')))).trouble == Trouble::kLimit);
  CHECK(error_of(page_of(object_of(std::string(3 * s3::kKeyBytesMax + 1, 'k')))).trouble == Trouble::kLimit);
  CHECK(read_list_page(page_of(object_of(std::string(s3::kKeyBytesMax, 'k'))), kWhat));
  std::string encoded;
  for (size_t i = 0; i < s3::kKeyBytesMax; ++i) encoded += "%6B";
  CHECK(read_list_page(page_of(object_of(encoded) + "<EncodingType>url</EncodingType>"), kWhat));
  CHECK(error_of(page_of(std::string(s3::kListPageBytesMax, ' '))).trouble == Trouble::kLimit);
}

TEST_CASE("an encoding that the document claims does not make its texts longer") {
  CHECK_FALSE(read_list_page("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><ListBucketResult>" +
                                 object_of(std::string(99, '\xe9')) + "</ListBucketResult>",
                             kWhat));
}

TEST_CASE("an error that came with the status of success is told") {
  const Error error = error_of("<Error><Code>InternalError</Code><Message>Please try again.</Message></Error>");
  CHECK(error.message == std::string(kWhat) + " failed: InternalError (Please try again.).");
}

TEST_CASE("a page of a thousand objects is read at once", "[.figures]") {
  const std::string xml = large_page(1000);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 200; ++i) REQUIRE(read_list_page(xml, kWhat)->objects.size() == 1000);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  std::printf("%zu bytes, %.3f ms a page\n", xml.size(), took.count() / 200);
}

}  // namespace spdld::store::list_page_test
