#include "daemon/store/http/head.h"

#include <catch2/catch.hpp>
#include <vector>

#include "daemon/base/formats/crc32c.h"
#include "daemon/store/http/body_check.h"

namespace spdld::store::head_test {
namespace {

using http::BodyCheck;
using http::etag_hash;
using http::Head;

Head head_of(const std::vector<std::string>& lines) {
  Head head;
  for (const std::string& line : lines) head.take_line(line);
  return head;
}

std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace

TEST_CASE("a head has its status and what its headers say") {
  const Head head = head_of({"HTTP/1.1 206 Partial Content\r\n", "CONTENT-LENGTH:  10 \r\n", "etag: \"a\"\r\n",
                             "Last-Modified: yesterday\r\n", "Retry-After: 7\r\n", "Content-Type: text/plain\r\n",
                             "Content-Range: bytes 5-14/100\r\n", "Content-MD5: x\r\n",
                             "x-amz-checksum-crc32c: AAAAAA==\r\n", "X-Other: y\r\n", "no colon\r\n", "\r\n"});
  CHECK(head.status == 206);
  CHECK(head.length == 10u);
  CHECK(head.etag == "\"a\"");
  CHECK(head.last_modified == "yesterday");
  CHECK(head.retry_after == "7");
  CHECK(head.content_type == "text/plain");
  CHECK(head.range_start == 5u);
  CHECK(head.object_bytes == 100u);
  CHECK(head.content_md5 == "x");
  CHECK(head.crc32c == "AAAAAA==");
  CHECK(head.identity() == Identity{100, etag_hash("a")});
}

TEST_CASE("a status line begins a new head, and a damaged one has no status") {
  CHECK(head_of({"HTTP/1.1 302 Found", "ETag: \"a\"", "HTTP/2 200"}).etag.empty());
  CHECK(head_of({"HTTP/2 200"}).status == 200);
  CHECK(head_of({"HTTP/1.1 404 Not Found"}).status == 404);
  for (const char* line : {"HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1 abc", "HTTP/1.1 -20", "HTTP/", "200 OK", ""})
    CHECK(head_of({line}).status == 0);
}

TEST_CASE("damaged numbers of a head count as absent") {
  for (const char* value : {"", "-1", "+1", "1 0", "0x10", "1e3", "18446744073709551616", "12a"}) {
    INFO(value);
    CHECK_FALSE(head_of({std::string("Content-Length: ") + value}).length);
  }
  CHECK(head_of({"Content-Length: 18446744073709551615"}).length == UINT64_MAX);
  for (const char* value : {"", "bytes", "bytes 0-1", "bytes 0/5", "items 0-1/5", "bytes */5", "bytes 5/0-1"}) {
    INFO(value);
    const Head head = head_of({std::string("Content-Range: ") + value});
    CHECK_FALSE(head.range_start);
    CHECK_FALSE(head.object_bytes);
  }
  CHECK_FALSE(head_of({"Content-Range: bytes 0-1/*"}).object_bytes);
  CHECK(head_of({"Content-Range: bytes 0-1/*"}).range_start == 0u);
  CHECK_FALSE(head_of({"Content-Range: bytes x-1/9"}).range_start);
}

TEST_CASE("a head tells how the bytes are compressed, and by no other coding") {
  CHECK(head_of({"Content-Encoding: gzip"}).compression() == "gzip");
  CHECK(head_of({"content-encoding: aws-chunked , X-GZIP"}).compression() == "x-gzip");
  for (const char* coding : {"deflate", "compress", "x-compress", "br", "zstd"})
    CHECK(head_of({std::string("Content-Encoding: ") + coding}).compression() == coding);
  for (const char* none : {"", "identity", "aws-chunked", "utf-8", "gzipped", ",,"})
    CHECK(head_of({std::string("Content-Encoding: ") + none}).compression().empty());
  const Head stored = head_of({"x-goog-stored-content-encoding: gzip"});
  CHECK(stored.compression() == "gzip");
  CHECK(stored.is_unpacked_on_the_way());
  CHECK_FALSE(head_of({"x-goog-stored-content-encoding: gzip", "Content-Encoding: gzip"}).is_unpacked_on_the_way());
  CHECK(head_of({"x-goog-stored-content-encoding: identity"}).compression().empty());
}

TEST_CASE("a long header is kept up to a kibibyte") {
  const Head head = head_of({"ETag: " + std::string(100'000, 'a'), std::string(100'000, 'b') + ": c"});
  CHECK(head.etag == std::string(1024, 'a'));
}

TEST_CASE("an ETag's hash knows neither quotes nor weakness") {
  CHECK(etag_hash("\"abc\"") == etag_hash("abc"));
  CHECK(etag_hash("W/\"abc\"") == etag_hash("abc"));
  CHECK(etag_hash("abc") != etag_hash("abd"));
  CHECK(etag_hash("abc") != 0);
  for (const char* none : {"", "\"\"", "\"", "W/", "W/\"\""}) CHECK(etag_hash(none) == 0);
}

TEST_CASE("without an ETag the date of a change tells a version") {
  CHECK(head_of({"HTTP/1.1 200 OK", "Content-Length: 3", "Last-Modified: a"}).identity() ==
        Identity{3, etag_hash("a")});
  CHECK(head_of({"HTTP/1.1 206 x", "Content-Length: 3"}).identity() == Identity{});
  CHECK(head_of({"HTTP/1.1 200 x"}).identity() == Identity{});
}

TEST_CASE("a body's checksum is the head's, or there is none to check") {
  CHECK(crc32c(bytes_of("123456789")) == 0xe3069283);
  CHECK(crc32c(bytes_of("6789"), crc32c(bytes_of("12345"))) == 0xe3069283);
  const auto holds = [](const std::string& sum, std::string_view body) {
    BodyCheck check(head_of({"x-amz-checksum-crc32c: " + sum}));
    for (const char& c : body) check.take(bytes_of({&c, 1}));
    return check.holds();
  };
  CHECK(holds("4waSgw==", "123456789"));
  CHECK_FALSE(holds("4waSgw==", "123456780"));
  CHECK(holds("AAAAAA==", ""));
  // Of parts, or damaged: it is no checksum of the whole.
  for (const char* none : {"4waSgw==-3", "4waSgw", "????Aw==", "", "4waSg==="}) CHECK(holds(none, "other"));
}

}  // namespace spdld::store::head_test
