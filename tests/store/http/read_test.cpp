// Reads, stats and lists of a web site that is slow, broken, or changes while it is read.
#include "daemon/store/http/network.h"

#include <catch2/catch.hpp>
#include <deque>

#include "daemon/base/formats/crc32c.h"
#include "daemon/base/result.h"
#include "daemon/store/object_view.h"
#include "tests/store/http/web_site.h"
#include "tests/support/soon.h"

namespace spdld::store::read_test {
namespace {

using namespace std::chrono_literals;
using namespace spdld::test;
using Catch::Contains;

const std::string kBody = pattern(100'000);
const std::string kEtag = "\"v1\"";

StubReply plain(const StubRequest& request, unsigned) { return serve(kBody, kEtag, request); }

// The first requests are answered by these replies, and all others as they should be.
Site::Answer after(std::deque<StubReply> first) {
  return [first = std::move(first)](const StubRequest& request, unsigned number) {
    return number < first.size() ? first[number] : plain(request, number);
  };
}

StubReply changed(StubReply reply, const std::function<void(StubReply&)>& change) {
  change(reply);
  return reply;
}

Error error_of(Site& site, OwnRead& read) {
  const Status status = read_now(site, read);
  REQUIRE_FALSE(status);
  CHECK_THAT(status.error().message, Catch::EndsWith(".") || Catch::EndsWith("?"));
  CHECK_THAT(status.error().message, Contains("a.bin"));
  return status.error();
}

}  // namespace

TEST_CASE("a range is read into its pieces, and what lies between them is passed over") {
  Site site(plain);
  OwnRead read(1'000, 50'000);
  std::string memory(30'000, '-');
  auto* const to = reinterpret_cast<uint8_t*>(memory.data());
  read.pieces = {{1'000, 1, to}, {2'000, 10'000, to + 1}, {12'000, 5, to + 10'001}, {50'999, 1, to + 10'006}};
  REQUIRE(read_now(site, read));
  CHECK(memory.substr(0, 10'007) == kBody.substr(1'000, 1) + kBody.substr(2'000, 10'005) + kBody.substr(50'999, 1));
  CHECK(memory.substr(10'007) == std::string(19'993, '-'));
  CHECK(site.requests().at(0).header("range") == "bytes=1000-50999");
  CHECK(read.identity == Identity{kBody.size(), http::etag_hash("v1")});
  CHECK(read.attempts == 1);
  CHECK(read.duration_ns > 0);
}

TEST_CASE("an object of unknown size is given room when its size is told") {
  Site site(plain);
  OwnRead whole, rest(99'000);
  REQUIRE(read_now(site, whole));
  CHECK(whole.memory == kBody);
  CHECK(whole.rooms == 1);
  CHECK(site.requests().at(0).header("range").empty());
  REQUIRE(read_now(site, rest));
  CHECK(rest.memory == kBody.substr(99'000));
  CHECK(site.requests().at(1).header("range") == "bytes=99000-");
  CHECK(site.statistics().bytes.value() == 101'000);
  CHECK(site.statistics().connections.value() == 1);
}

TEST_CASE("without room a read ends with kMemory, and above its limit it is bad content") {
  Site site(plain);
  OwnRead no_room, small;
  no_room.has_no_room = true;
  CHECK(error_of(site, no_room).trouble == Trouble::kMemory);
  small.bytes_max = kBody.size() - 1;
  CHECK(error_of(site, small).trouble == Trouble::kContent);
  CHECK(small.rooms == 0);
  CHECK(site.requests().size() == 2);
}

TEST_CASE("an empty object is read and has no bytes") {
  Site site([](const StubRequest& request, unsigned) { return serve("", kEtag, request); });
  OwnRead read;
  REQUIRE(read_now(site, read));
  CHECK(read.rooms == 1);
  CHECK(read.memory.empty());
}

TEST_CASE("a stat tells the identity of an object, and asks for no bytes") {
  Site site(plain);
  Stat stat;
  stat.object = "a%20b.bin";
  REQUIRE(Waiting(site.store()).stat(stat));
  CHECK(stat.identity == Identity{kBody.size(), http::etag_hash("v1")});
  CHECK(site.requests().at(0).method == "HEAD");
  CHECK(site.requests().at(0).target == "/a%20b.bin");
}

TEST_CASE("a web server has no list") {
  Site site(plain);
  List list;
  const Status status = Waiting(site.store()).list(list);
  REQUIRE_FALSE(status);
  CHECK(status.error().trouble == Trouble::kUnsupported);
  CHECK(site.requests().empty());
}

TEST_CASE("a refusal that will not pass is told at once") {
  struct Case {
    int status;
    Trouble trouble;
    std::string fragment;
  };
  for (const Case& one :
       {Case{404, Trouble::kContent, "does not exist"}, Case{410, Trouble::kContent, "not exist"},
        Case{403, Trouble::kContent, "may not be read (403)"}, Case{401, Trouble::kDenied, "credentials"},
        Case{416, Trouble::kContent, "is shorter"}, Case{412, Trouble::kContent, "was it replaced?"},
        Case{400, Trouble::kContent, "refuses"}, Case{302, Trouble::kDenied, "redirects are not allowed"}}) {
    INFO(one.status);
    Site site([&](const StubRequest&, unsigned) { return StubReply{one.status, "words", {"Location: /b"}}; });
    OwnRead read(10, 20);
    const Error error = error_of(site, read);
    CHECK(error.trouble == one.trouble);
    CHECK_THAT(error.message, Contains(one.fragment));
    CHECK(site.requests().size() == 1);
  }
}

TEST_CASE("a refusal that may pass is asked again") {
  for (const int status : {500, 502, 503, 504, 429, 408, 425}) {
    INFO(status);
    Site site(after({{status, "busy", {"Retry-After: 0"}}, {status, "", {"Retry-After: nonsense"}}}));
    OwnRead read;
    REQUIRE(read_now(site, read));
    CHECK(read.memory == kBody);
    CHECK(read.attempts == 3);
    CHECK(site.statistics().retries.value() == 2);
    CHECK(site.statistics().failing_since_ns.load() == 0);
  }
}

TEST_CASE("a server that says when to come again is not asked before, nor for longer than the total time") {
  auto limits = quick_limits();
  limits.total_ms_max = 500;
  Site late([](const StubRequest&, unsigned) { return StubReply{503, "", {"Retry-After: 3600"}}; }, limits);
  OwnRead read;
  CHECK(error_of(late, read).trouble == Trouble::kTransient);
  CHECK(late.requests().size() == 1);
  Site soon_again(after({{503, "", {"Retry-After: 1"}}}));
  OwnRead other(0, 10);
  REQUIRE(read_now(soon_again, other));
  CHECK(other.duration_ns >= 1'000'000'000);
}

TEST_CASE("after so many attempts the last error is the read's") {
  auto limits = quick_limits();
  limits.attempts_max = 3;
  Site site([](const StubRequest&, unsigned) { return StubReply{500}; }, limits);
  OwnRead read;
  const Error error = error_of(site, read);
  CHECK(error.trouble == Trouble::kTransient);
  CHECK_THAT(error.message, Contains("500") && Contains("the last of 3 attempts."));
  CHECK(read.attempts == 3);
  CHECK(site.requests().size() == 3);
  CHECK(site.statistics().failing_since_ns.load() > 0);
}

TEST_CASE("no attempt begins after the total time") {
  auto limits = quick_limits();
  limits.attempts_max = 1'000'000;
  limits.total_ms_max = 50;
  Site site([](const StubRequest&, unsigned) { return StubReply{.is_dropped = true}; }, limits);
  OwnRead read;
  CHECK(error_of(site, read).trouble == Trouble::kTransient);
  CHECK(read.duration_ns < 10'000'000'000);
}

TEST_CASE("a connection that ends before the reply is made again") {
  Site site(after({{.is_dropped = true}, {.raw = "HTTP/1.1 20"}, {.raw = "nonsense\r\n\r\n"}}));
  OwnRead read(5, 100);
  REQUIRE(read_now(site, read));
  CHECK(read.memory == kBody.substr(5, 100));
}

TEST_CASE("a body that is cut goes on where it ended, with If-Match") {
  Site site([](const StubRequest& request, unsigned number) {
    return changed(plain(request, number), [&](StubReply& reply) {
      if (number < 3) reply.cut_after = 20'000;
    });
  });
  OwnRead read(10, 90'000);
  REQUIRE(read_now(site, read));
  CHECK(read.memory == kBody.substr(10, 90'000));
  const auto requests = site.requests();
  REQUIRE(requests.size() == 4);
  CHECK(requests[0].header("if-match").empty());
  CHECK(requests[1].header("range") == "bytes=20010-90009");
  CHECK(requests[1].header("if-match") == kEtag);
  CHECK(requests[3].header("range") == "bytes=60010-90009");
}

TEST_CASE("bytes of an object that is replaced while it is read are never mixed") {
  struct Case {
    std::string name;
    size_t other_bytes;
    bool has_if_match, is_weak;
    uint64_t offset, bytes;
  };
  for (const Case& one : {
           Case{"same size", 100'000, true, false, 0, Read::kToEnd},
           Case{"longer", 150'000, true, false, 0, Read::kToEnd},
           Case{"shorter", 60'000, true, false, 0, Read::kToEnd},
           Case{"longer, from the middle", 150'000, true, false, 1'000, Read::kToEnd},
           Case{"shorter, from the middle", 60'000, true, false, 1'000, Read::kToEnd},
           Case{"a range", 100'000, true, false, 1'000, 50'000},
           Case{"no If-Match", 150'000, false, false, 1'000, Read::kToEnd},
           Case{"no If-Match, a range", 100'000, false, false, 1'000, 50'000},
           Case{"weak tags", 120'000, true, true, 0, Read::kToEnd},
       }) {
    INFO(one.name);
    const std::string other = pattern(one.other_bytes, 2);
    const std::string weak = one.is_weak ? "W/" : "";
    Site site([&](StubRequest request, unsigned number) {
      if (!one.has_if_match) request.headers.erase("if-match");
      StubReply reply = number == 0 ? serve(kBody, weak + kEtag, request) : serve(other, weak + "\"v2\"", request);
      if (number == 0) reply.cut_after = 30'000;
      return reply;
    });
    OwnRead read(one.offset, one.bytes);
    const Status status = read_now(site, read);
    INFO((status ? "" : status.error().message));
    REQUIRE(status);
    CHECK(read.memory == other.substr(one.offset, one.bytes));
    CHECK(read.identity == Identity{other.size(), http::etag_hash("v2")});
  }
}

TEST_CASE("an object of another identity than the listed one is bad content") {
  for (const Identity identity : {Identity{99'999, 0}, Identity{kBody.size(), 5}, Identity{99'999, 5}}) {
    Site site(plain);
    OwnRead read(10, 20);
    read.identity = identity;
    const Error error = error_of(site, read);
    CHECK(error.trouble == Trouble::kContent);
    CHECK_THAT(error.message, Contains("was it replaced?"));
    CHECK(site.requests().size() == 1);
  }
  // In the middle, too.
  Site site([](const StubRequest& request, unsigned number) {
    return number == 0 ? changed(plain(request, 0), [](StubReply& reply) { reply.cut_after = 100; })
                       : serve(pattern(100'000, 2), "\"v2\"", request);
  });
  OwnRead read;
  read.identity = {kBody.size(), http::etag_hash("v1")};
  CHECK(error_of(site, read).trouble == Trouble::kContent);
}

TEST_CASE("a reply that is longer than it says is an error, and does not end as a range without bytes") {
  // The server sends more than the range.
  Site site([](const StubRequest& request, unsigned number) {
    if (number < 2) {
      StubRequest longer = request;
      longer.headers["range"] = "bytes=0-60000";
      return serve(kBody, kEtag, longer);
    }
    return plain(request, number);
  });
  OwnRead read(0, 16'384);
  REQUIRE(read_now(site, read));
  CHECK(read.memory == kBody.substr(0, 16'384));
  for (const StubRequest& request : site.requests()) CHECK(request.header("range") == "bytes=0-16383");
}

TEST_CASE("a reply of another range than was asked for is asked again") {
  Site site([](const StubRequest& request, unsigned number) {
    StubRequest other = request;
    if (number == 0) other.headers["range"] = "bytes=1-10";
    return serve(kBody, kEtag, other);
  });
  OwnRead read(5, 10);
  REQUIRE(read_now(site, read));
  CHECK(read.memory == kBody.substr(5, 10));
}

TEST_CASE("of the whole object that a server without ranges sends, the range is taken") {
  const auto without_ranges = [](const StubRequest& request, unsigned) {
    StubRequest whole = request;
    whole.headers.erase("range");
    return changed(serve(kBody, kEtag, whole), [](StubReply& reply) {
      // Of the whole, and not of the range.
      reply.headers.push_back("x-amz-checksum-crc32c: AAAAAQ==");
    });
  };
  for (const auto& [offset, bytes] :
       std::vector<std::pair<uint64_t, uint64_t>>{{0, 10}, {1'000, 50'000}, {99'999, 1}}) {
    Site site(without_ranges);
    OwnRead read(offset, bytes);
    REQUIRE(read_now(site, read));
    CHECK(read.memory == kBody.substr(offset, bytes));
    CHECK(read.attempts == 1);
  }
  Site site([](const StubRequest&, unsigned) { return StubReply{200, std::string(3 << 20, 'x'), {"ETag: \"a\""}}; });
  OwnRead far(2 << 20, 10);
  CHECK(error_of(site, far).trouble == Trouble::kUnsupported);
}

TEST_CASE("a server without ranges begins a body that was cut again") {
  Site site([](const StubRequest& request, unsigned number) {
    StubRequest whole = request;
    whole.headers.erase("range");
    return changed(serve(kBody, kEtag, whole), [&](StubReply& reply) {
      if (number == 0) reply.cut_after = 50'000;
    });
  });
  OwnRead read;
  REQUIRE(read_now(site, read));
  CHECK(read.memory == kBody);
}

TEST_CASE("bytes without the checksum that the store tells are read again") {
  Site site([](const StubRequest& request, unsigned number) {
    StubReply reply = plain(request, number);
    if (number == 0) reply.body[77] ^= 1;
    const uint32_t sum = crc32c({reinterpret_cast<const uint8_t*>(kBody.data()), kBody.size()});
    std::string base64;
    const uint64_t bits = uint64_t{sum} << 4;
    for (int shift = 30; shift >= 0; shift -= 6)
      base64 += "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[bits >> shift & 63];
    reply.headers.push_back("x-amz-checksum-crc32c: " + base64 + "==");
    return reply;
  });
  OwnRead read;
  REQUIRE(read_now(site, read));
  CHECK(read.memory == kBody);
  CHECK(read.attempts == 2);
}

TEST_CASE("a reply without its size can't be read as a whole") {
  Site site([](const StubRequest&, unsigned) { return StubReply{.raw = "HTTP/1.1 200 OK\r\n\r\nabc"}; });
  OwnRead read;
  CHECK(error_of(site, read).trouble == Trouble::kUnsupported);
}

TEST_CASE("an object that is stored compressed is refused by a true sentence, or given as it is stored") {
  const std::string packed = "\x1f\x8b" + kBody;
  const auto with = [](const std::string& body, const std::string& header) {
    return [=](const StubRequest& request, unsigned) {
      return changed(serve(body, kEtag, request), [&](StubReply& reply) { reply.headers.push_back(header); });
    };
  };
  for (const char* coding : {"gzip", "x-gzip", "br", "zstd"}) {
    Site site(with(packed, std::string("Content-Encoding: ") + coding));
    for (const uint64_t from : {0, 7}) {
      OwnRead read(from, 1'000);
      const Error error = error_of(site, read);
      CHECK(error.trouble == Trouble::kContent);
      CHECK_THAT(error.message, Contains(std::string("is stored compressed (Content-Encoding: ") + coding + ")"));
      OwnRead raw(from, 1'000);
      raw.takes_compressed = true;
      REQUIRE(read_now(site, raw));
      CHECK(raw.memory == packed.substr(from, 1'000));
    }
    OwnRead whole;
    CHECK(error_of(site, whole).trouble == Trouble::kContent);
    CHECK(site.requests().size() == 5);  // none was asked again
    ObjectView view(site.store(), "a.bin", {packed.size(), http::etag_hash("v1")}, {}, true);
    std::string bytes(100, '-');
    REQUIRE(view.read(0, {reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()}));
    CHECK(bytes == packed.substr(0, 100));
  }
  // Bytes that are not what the header says, and codings that compress nothing.
  for (const char* header : {"Content-Encoding: gzip", "Content-Encoding: aws-chunked", "Content-Encoding: identity"}) {
    Site site(with(kBody, header));
    OwnRead whole, part(0, 10);
    REQUIRE(read_now(site, whole));
    CHECK(whole.memory == kBody);
    REQUIRE(read_now(site, part));
    CHECK(part.memory == kBody.substr(0, 10));
  }
  // A store that unpacks on the way gives other bytes than it lists.
  Site site(with(kBody, "x-goog-stored-content-encoding: gzip"));
  OwnRead read;
  read.takes_compressed = true;
  CHECK_THAT(error_of(site, read).message, Contains("is stored compressed"));
  CHECK(site.requests()[0].header("accept-encoding") == "identity");
}

TEST_CASE("a redirect is followed where the operator allows it") {
  HttpStub elsewhere([](const StubRequest& request) { return serve(kBody, kEtag, request); });
  Site site(
      [&](const StubRequest&, unsigned) {
        return StubReply{307, "x", {"Location: " + elsewhere.url() + "/b"}};
      },
      quick_limits(), {.follows_redirects = true, .link_local = false});
  OwnRead read(7, 30);
  REQUIRE(read_now(site, read));
  CHECK(read.memory == kBody.substr(7, 30));
  Site round(
      [](const StubRequest&, unsigned) {
        return StubReply{302, "", {"Location: /again"}};
      },
      quick_limits(), {.follows_redirects = true, .link_local = false});
  CHECK(error_of(round, read).trouble == Trouble::kDenied);
}

TEST_CASE("a redirect to a link-local address is refused before anything is sent") {
  Site site(
      [](const StubRequest&, unsigned) {
        return StubReply{302, "", {"Location: http://169.254.169.254/x"}};
      },
      quick_limits(), {.follows_redirects = true, .link_local = false});
  OwnRead read(7, 30);
  const Status status = read_now(site, read);
  REQUIRE_FALSE(status);
  CHECK(status.error().trouble == Trouble::kDenied);
  CHECK_THAT(status.error().message, Contains("link-local"));
  CHECK(site.requests().size() == 1);
}

TEST_CASE("a store is asked through the proxy that the operator names, and through no other") {
  HttpStub proxy([](const StubRequest&) { return StubReply{200, "the proxy", {"ETag: \"p\""}}; });
  ::setenv("http_proxy", proxy.url().c_str(), 1);  // no other thread reads the environment
  {
    Site site(plain);
    OwnRead read;
    CHECK(read_now(site, read));
    CHECK(read.memory == kBody);
    CHECK(proxy.requests().empty());
  }
  ::unsetenv("http_proxy");
  http::Network network;
  const http::Transfer::Settings settings{quick_limits(), {}, {}, proxy.url()};
  http::NetworkStore store(network, std::make_shared<http::Endpoint>(
                                        "far", settings, http::make_web_dialect("http://data.example.invalid")));
  OwnRead read;
  CHECK(Waiting(store).read(read));
  CHECK(read.memory == "the proxy");
  CHECK(proxy.requests().at(0).target == "http://data.example.invalid/a.bin");
}

TEST_CASE("a server that hangs is asked again after the time of an attempt") {
  auto limits = quick_limits();
  limits.attempt_ms_max = 60;
  Site site(
      [](const StubRequest& request, unsigned number) {
        return changed(plain(request, number), [&](StubReply& reply) {
          if (number == 0) reply.delay = 20s;
          if (number == 1) reply.pauses_after = 40'000, reply.pause = 20s;
        });
      },
      limits);
  OwnRead read;
  REQUIRE(read_now(site, read));
  CHECK(read.memory == kBody);
  REQUIRE(site.requests().size() == 3);
  CHECK(site.requests()[2].header("range") == "bytes=40000-99999");
}

TEST_CASE("a body that comes too slowly is asked for again") {
  auto limits = quick_limits();
  limits.floor_bytes_per_s = 1'000'000;
  limits.floor_ms = 1'000;
  Site site(
      [](const StubRequest& request, unsigned number) {
        return changed(plain(request, number), [&](StubReply& reply) {
          if (number == 0) reply.pauses_after = 10, reply.pause = 20s;
        });
      },
      limits);
  OwnRead read;
  REQUIRE(read_now(site, read));
  CHECK(read.memory == kBody);
  CHECK(read.duration_ns < 10'000'000'000);
}

TEST_CASE("a server that can't be reached yet is asked again until it listens") {
  // A port that nobody listens on: of a stub that has ended.
  std::string url;
  {
    url = HttpStub([](const StubRequest&) { return StubReply{}; }).url();
  }
  http::Network network;
  auto limits = quick_limits();
  limits.attempts_max = 3;
  http::NetworkStore store(network, std::make_shared<http::Endpoint>("gone", http::Transfer::Settings{limits, {}, {}},
                                                                     http::make_web_dialect(url)));
  OwnRead read;
  const Status status = Waiting(store).read(read);
  REQUIRE_FALSE(status);
  CHECK(status.error().trouble == Trouble::kTransient);
  CHECK(read.attempts == 3);
}

}  // namespace spdld::store::read_test
