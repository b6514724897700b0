// A bucket that is asked over the network: its lists, its errors, and its credentials.
#include "daemon/store/s3/s3_dialect.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>

#include "daemon/store/s3/signature.h"
#include "tests/store/http/web_site.h"

namespace spdld::store::s3_dialect_test {
namespace {

using namespace spdld::test;
using Catch::Contains;

constexpr const char* kSecrets[] = {"SECRETONE", "TOKENONE", "SECRETTWO", "TOKENTWO"};

// Gives these credentials in turn, and the last again and again.
class Turning final : public CredentialsSource {
 public:
  Result<Credentials> get(std::stop_token) override {
    ++count_;
    return count_ == 1 ? Credentials{"KEYONE", "SECRETONE", "TOKENONE", 0}
                       : Credentials{"KEYTWO", "SECRETTWO", "TOKENTWO", 0};
  }
  std::string_view name() const override { return "turning"; }

 private:
  int count_ = 0;
};

struct BucketSite {
  explicit BucketSite(HttpStub::Answer answer, bool is_signed = true, uint32_t attempts = 30)
      : stub(std::move(answer)),
        keeper(is_signed ? std::make_shared<CredentialsKeeper>(std::make_unique<Turning>(),
                                                               [this] {
                                                                 return Moment{now_s, now_s * 1000};
                                                               })
                         : nullptr) {
    auto limits = quick_limits();
    limits.attempts_max = attempts;
    limits.backoff_ms = limits.backoff_ms_max = 20;
    auto address = s3::BucketAddress::make({"bucket", stub.url(), "eu-west-1", true});
    REQUIRE(address);
    if (keeper) REQUIRE(keeper->wait_for_first({}));
    now_s += 60;  // a keeper fetches every ten seconds at most
    endpoint = std::make_shared<http::Endpoint>("s3://bucket", http::Transfer::Settings{limits, {}, {}},
                                                s3::make_s3_dialect({"bucket", "eu-west-1", *address}, keeper));
    store = std::make_unique<http::NetworkStore>(network, endpoint);
  }
  // The error of a read, which holds no secret.
  Error error() {
    OwnRead read;
    const Status status = Waiting(*store).read(read);
    REQUIRE_FALSE(status);
    for (const char* const secret : kSecrets) {
      CHECK(status.error().message.find(secret) == std::string::npos);
      CHECK(endpoint->last_trouble().find(secret) == std::string::npos);
    }
    return status.error();
  }

  std::atomic<int64_t> now_s{1'000'000};
  HttpStub stub;
  std::shared_ptr<CredentialsKeeper> keeper;
  http::Network network;
  std::shared_ptr<http::Endpoint> endpoint;
  std::unique_ptr<http::NetworkStore> store;
};

std::string error_text(const std::string& code, const std::string& rest = "") {
  return "<Error><Code>" + code + "</Code><Message>words of the store</Message>" + rest + "</Error>";
}

std::string page(const std::vector<std::string>& keys, const std::vector<std::string>& prefixes,
                 const std::string& next) {
  std::string text = "<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>" +
                     std::string(next.empty() ? "false" : "true") + "</IsTruncated>";
  if (!next.empty()) text += "<NextContinuationToken>" + next + "</NextContinuationToken>";
  for (const std::string& key : keys)
    text += "<Contents><Key>" + key +
            "</Key><LastModified>2013-05-24T00:00:00.000Z</LastModified><ETag>&quot;e&quot;</ETag><Size>7</Size></"
            "Contents>";
  for (const std::string& prefix : prefixes) text += "<CommonPrefixes><Prefix>" + prefix + "</Prefix></CommonPrefixes>";
  return text + "</ListBucketResult>";
}

}  // namespace

TEST_CASE("a bucket's list comes page by page, with its folders") {
  BucketSite site([](const StubRequest& request) {
    return StubReply{200, request.target.find("continuation-token") == std::string::npos
                              ? page({"t/a%20b", "t/c"}, {"t/d/"}, "next+/=")
                              : page({"t/z"}, {}, "")};
  });
  List list;
  list.prefix = "t/";
  list.folds = true;
  list.after = "t/%";
  REQUIRE(Waiting(*site.store).list(list));
  REQUIRE(list.entries.size() == 2);
  CHECK(list.entries[0].name == "t/a b");
  CHECK(list.entries[0].identity == Identity{7, http::etag_hash("e")});
  CHECK(list.folders == std::vector<std::string>{"t/d/"});
  CHECK(list.cursor == "next+/=");
  REQUIRE(Waiting(*site.store).list(list));
  REQUIRE(list.entries.size() == 1);
  CHECK(list.folders.empty());
  CHECK(list.cursor.empty());
  const auto requests = site.stub.requests();
  CHECK(requests.at(0).target == "/bucket?list-type=2&encoding-type=url&start-after=t%2F%25&delimiter=%2F&prefix=t%2F");
  CHECK_THAT(requests.at(1).target, Contains("continuation-token=next%2B%2F%3D"));
  CHECK_THAT(requests.at(1).target, !Contains("start-after"));
  CHECK_THAT(requests.at(0).header("authorization"), Contains("Credential=KEYONE/"));
  CHECK(requests.at(0).header("x-amz-security-token") == "TOKENONE");
}

TEST_CASE("a plus in a list is the sign that the store has, whether it writes blanks as S3 does or not") {
  enum class Way { kS3, kPath, kNever };  // how the store encodes
  for (const Way way : {Way::kS3, Way::kPath, Way::kNever}) {
    for (const std::vector<std::string>& keys : std::vector<std::vector<std::string>>{
             {"a+b"}, {"a b"}, {"a+b", "a b"}, {"a+b", "c\x01"}, {"a b", "c\x01"}, {"a%2Bb"}}) {
      if (way == Way::kNever && keys.back() == "c\x01") continue;  // XML does not carry that key
      BucketSite site([&](const StubRequest& request) {
        const bool is_encoded = way != Way::kNever && request.target.find("encoding-type=url") != std::string::npos;
        std::string inner = is_encoded ? "<EncodingType>url</EncodingType>" : "";
        for (const std::string& key : keys) {
          std::string text;
          for (const char c : key) {
            if (is_encoded && c == ' ')
              text += way == Way::kS3 ? "+" : "%20";
            else if (is_encoded && c == '+')
              text += way == Way::kS3 ? "%2B" : "+";
            else if (is_encoded && c == '%')
              text += "%25";
            else if (c == '\x01')
              text += is_encoded ? "%01" : "&#1;";
            else
              text += c;
          }
          inner += "<Contents><Key>" + text + "</Key><Size>1</Size></Contents>";
        }
        return StubReply{200, "<ListBucketResult>" + inner + "</ListBucketResult>"};
      });
      for (int i = 0; i < 2; ++i) {
        List list;
        REQUIRE(Waiting(*site.store).list(list, {}));
        std::vector<std::string> found;
        for (const Entry& entry : list.entries) found.push_back(entry.name);
        INFO(static_cast<int>(way) << " " << keys.front() << " " << keys.back());
        // A store that is not S3, and has such a sign beside a plus and no blank, leaves nothing to tell it by.
        if (way == Way::kPath && keys == std::vector<std::string>{"a+b", "c\x01"}) continue;
        CHECK(found == keys);
      }
      CHECK(site.stub.requests().size() <= 4);
    }
  }
}

TEST_CASE("a list that does not go on, and a damaged one, are asked again and then given up") {
  BucketSite site([](const StubRequest&) { return StubReply{200, page({"a"}, {}, "same")}; }, true, 3);
  List list;
  list.cursor = "same";
  Status status = Waiting(*site.store).list(list);
  REQUIRE_FALSE(status);
  CHECK_THAT(status.error().message, Contains("does not go on"));
  CHECK(list.cursor == "same");
  CHECK(site.stub.requests().size() == 3);
  BucketSite damaged([](const StubRequest&) { return StubReply{200, "<ListBucketResult><Contents>"}; }, true, 2);
  List other;
  CHECK_FALSE(Waiting(*damaged.store).list(other));
  CHECK(damaged.stub.requests().size() == 2);
}

TEST_CASE("a whole object is asked for with its checksum, and a range is not") {
  BucketSite site([](const StubRequest& request) { return serve("0123456789", "\"e\"", request); });
  OwnRead whole, range(2, 5);
  REQUIRE(Waiting(*site.store).read(whole));
  REQUIRE(Waiting(*site.store).read(range));
  CHECK(whole.memory == "0123456789");
  CHECK(range.memory == "23456");
  const auto requests = site.stub.requests();
  CHECK(requests.at(0).target == "/bucket/a.bin");
  CHECK(requests.at(0).header("x-amz-checksum-mode") == "ENABLED");
  CHECK(requests.at(1).header("x-amz-checksum-mode").empty());
  CHECK(requests.at(1).header("range") == "bytes=2-6");
}

TEST_CASE("without credentials requests are not signed") {
  BucketSite site([](const StubRequest& request) { return serve("x", "\"e\"", request); }, false);
  OwnRead read;
  REQUIRE(Waiting(*site.store).read(read));
  CHECK(site.stub.requests().at(0).header("authorization").empty());
}

TEST_CASE("credentials that have expired are fetched anew, and the read goes on with the new ones") {
  for (const char* code : {"ExpiredToken", "InvalidAccessKeyId", "SignatureDoesNotMatch"}) {
    BucketSite site([code](const StubRequest& request) {
      if (request.header("authorization").find("KEYONE") != std::string::npos) return StubReply{403, error_text(code)};
      return serve("0123456789", "\"e\"", request);
    });
    OwnRead read;
    const Status status = Waiting(*site.store).read(read);
    INFO((status ? "" : status.error().message));
    REQUIRE(status);
    CHECK(read.memory == "0123456789");
    CHECK(site.stub.requests().back().header("x-amz-security-token") == "TOKENTWO");
    CHECK(site.keeper->fetches() == 2);
  }
}

TEST_CASE("requests before and after midnight are each signed with their day's key") {
  constexpr int64_t kDayS = 86'400, kMidnight = 20'000 * kDayS;  // 2024-10-04
  int64_t now_s = kMidnight - 1, keeper_s = 1'000;
  const auto keeper = std::make_shared<CredentialsKeeper>(std::make_unique<Turning>(), [&keeper_s] {
    return Moment{keeper_s, keeper_s * 1000};
  });
  REQUIRE(keeper->wait_for_first({}));
  const auto address = s3::BucketAddress::make({"bucket", "http://127.0.0.1:1", "eu-west-1", true});
  REQUIRE(address);
  const auto dialect = s3::make_s3_dialect({"bucket", "eu-west-1", *address}, keeper, [&now_s] { return now_s; });
  const auto check = [&](const std::string& day) {
    http::Wanted wanted_of_key;
    wanted_of_key.object = "key", wanted_of_key.range = "bytes=0-9";
    http::Outgoing outgoing;
    REQUIRE(dialect->write(wanted_of_key, outgoing));
    const auto credentials = keeper->current();
    std::vector<std::string> wanted;
    const std::vector<s3::NamedValue> headers = {{"Range", "bytes=0-9"}};
    const std::string host(address->host()), path = address->path("key");
    s3::sign(s3::SigningKey(*credentials, "eu-west-1", "s3", now_s),
             {.host = host, .path = path, .query = {}, .headers = headers}, now_s, wanted);
    INFO(wanted.back());
    CHECK(wanted.back().find("/" + day + "/eu-west-1/s3/") != std::string::npos);
    for (const std::string& line : wanted)
      CHECK(std::count(outgoing.headers.begin(), outgoing.headers.end(), line) == 1);
  };
  check("20241003");
  now_s = kMidnight;
  check("20241004");
  now_s = kMidnight - 1;  // the clock was set back
  check("20241003");
}

TEST_CASE("a HEAD that is refused is asked again as a GET, which says why") {
  // Credentials that have expired: the reply to HEAD has no body.
  for (const int status : {400, 403}) {
    BucketSite site([status](const StubRequest& request) {
      const bool is_old = request.header("authorization").find("KEYONE") != std::string::npos;
      return is_old ? StubReply{status, error_text("ExpiredToken")} : serve("0123456789", "\"e\"", request);
    });
    Stat stat;
    stat.object = "a.bin";
    const Status done = Waiting(*site.store).stat(stat);
    INFO((done ? "" : done.error().message));
    REQUIRE(done);
    CHECK(stat.identity == Identity{10, http::etag_hash("e")});
    CHECK(site.keeper->fetches() == 2);
    CHECK(site.stub.requests().at(1).method == "GET");
    CHECK(site.stub.requests().at(1).header("range") == "bytes=0-0");
  }
  const auto refused = [](int status, const std::string& body, uint32_t attempts = 30) {
    BucketSite site([&](const StubRequest&) { return StubReply{status, body}; }, true, attempts);
    Stat stat;
    stat.object = "a.bin";
    const Status done = Waiting(*site.store).stat(stat);
    REQUIRE_FALSE(done);
    return done.error();
  };
  const Error denied = refused(403, error_text("AccessDenied")), missing = refused(404, error_text("NoSuchKey"));
  CHECK(denied.trouble == Trouble::kDenied);
  CHECK_THAT(denied.message, Contains("may not be read (403, AccessDenied"));
  CHECK(missing.trouble == Trouble::kNotFound);
  CHECK_THAT(missing.message, Contains("does not exist (404"));
  CHECK_THAT(refused(403, "", 1).message, Contains("may not be read (403)"));
  CHECK_THAT(refused(403, error_text("ExpiredToken"), 2).message, Contains("refuses the credentials (ExpiredToken"));
}

TEST_CASE("what S3 says becomes an error of its kind, with the store's words and no secret") {
  struct Case {
    int status;
    std::string body;
    Trouble trouble;
    std::string fragment;
    bool may_pass;
  };
  for (const Case& one : {
           Case{404, error_text("NoSuchKey"), Trouble::kContent, "s3://bucket/a.bin does not exist (404, NoSuchKey",
                false},
           Case{404, error_text("NoSuchBucket"), Trouble::kContent, "NoSuchBucket", false},
           Case{403, error_text("AccessDenied"), Trouble::kContent, "may not be read (403, AccessDenied", false},
           Case{503, error_text("SlowDown"), Trouble::kTransient, "SlowDown", true},
           Case{400, error_text("RequestTimeout"), Trouble::kTransient, "RequestTimeout", true},
           Case{500, error_text("InternalError"), Trouble::kTransient, "InternalError", true},
           Case{403, error_text("ExpiredToken"), Trouble::kTransient, "refuses the credentials (ExpiredToken", true},
           Case{301, error_text("PermanentRedirect", "<Region>us-west-2</Region>"), Trouble::kUsage,
                "region = \"us-west-2\"", false},
           Case{400, error_text("AuthorizationHeaderMalformed", "<Region>us-west-2</Region>"), Trouble::kUsage,
                "lies in the region us-west-2", false},
           Case{502, "<html>a proxy's page", Trouble::kTransient, "has failed (502)", true},
           Case{403, "", Trouble::kContent, "may not be read (403)", false},
       }) {
    INFO(one.body);
    BucketSite site([&](const StubRequest&) { return StubReply{one.status, one.body}; }, true, 2);
    const Error error = site.error();
    CHECK(error.trouble == one.trouble);
    CHECK_THAT(error.message, Contains(one.fragment));
    CHECK(site.stub.requests().size() == (one.may_pass ? 2 : 1));
  }
}

}  // namespace spdld::store::s3_dialect_test
