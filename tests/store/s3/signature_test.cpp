#include "daemon/store/s3/signature.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <thread>

namespace spdld::store::signature_test {
namespace {

using s3::NamedValue;
using s3::SigningKey;
using s3::UnsignedRequest;
using Values = std::vector<NamedValue>;

// AWS's documents use this secret in their examples.
constexpr const char* kSecret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
constexpr int64_t kExampleTime = 1369353600;  // 20130524T000000Z
constexpr int64_t kLeapTime = 1709251198;     // 20240229T235958Z

std::string value_of(const std::vector<std::string>& lines, const std::string& name) {
  for (const std::string& line : lines)
    if (line.starts_with(name + ": ")) return line.substr(name.size() + 2);
  return "";
}

std::string signature_of(const std::vector<std::string>& lines) {
  const std::string authorization = value_of(lines, "Authorization");
  return authorization.substr(authorization.find("Signature=") + 10);
}

struct Signed {
  std::vector<std::string> lines;
  std::string signature() const { return signature_of(lines); }
};

Signed sign(const UnsignedRequest& request, int64_t time_s = kExampleTime, const std::string& region = "us-east-1",
            const std::string& access_key = "AKIAIOSFODNN7EXAMPLE", const std::string& token = "") {
  const SigningKey key({access_key, kSecret, token}, region, "s3", time_s);
  Signed out;
  s3::sign(key, request, time_s, out.lines);
  return out;
}

UnsignedRequest request_of(std::string_view host, std::string_view path, const Values& query, const Values& headers) {
  UnsignedRequest request;
  request.host = host, request.path = path, request.query = query, request.headers = headers;
  return request;
}

}  // namespace

// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html, "Examples: Signature calculations"
TEST_CASE("the examples of AWS's documents have their signatures") {
  constexpr std::string_view kHost = "examplebucket.s3.amazonaws.com";
  const Values range = {{"Range", "bytes=0-9"}}, lifecycle = {{"lifecycle", ""}};
  const Values list = {{"prefix", "J"}, {"max-keys", "2"}};
  const Signed get = sign(request_of(kHost, "/test.txt", {}, range));
  CHECK(value_of(get.lines, "x-amz-date") == "20130524T000000Z");
  CHECK(value_of(get.lines, "x-amz-content-sha256") == s3::kEmptyHash);
  CHECK(value_of(get.lines, "x-amz-security-token").empty());
  CHECK(value_of(get.lines, "Authorization") ==
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
        "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"
        "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  CHECK(sign(request_of(kHost, "/", lifecycle, {})).signature() ==
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  CHECK(sign(request_of(kHost, "/", list, {})).signature() ==
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
  // "PUT Object": the body's hash is the caller's.
  const Values put_headers = {{"Date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}};
  UnsignedRequest put = request_of(kHost, "/test$file.text", {}, put_headers);
  put.method = "PUT";
  put.payload_hash = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072";
  CHECK(sign(put).signature() == "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

// The signatures were made by botocore 1.44.8 (S3SigV4Auth) for the same requests.
TEST_CASE("keys, queries and headers of all kinds are signed as botocore signs them") {
  const auto as_botocore = [](const UnsignedRequest& request, const std::string& access_key, const std::string& token) {
    return sign(request, kLeapTime, "eu-west-1", access_key, token).signature();
  };
  const Values range = {{"Range", "bytes=0-9"}}, match = {{"If-Match", "\"abc\""}};
  CHECK(as_botocore(request_of("bucket.s3.eu-west-1.amazonaws.com", "/a b+c%d/é/日本.tar", {}, range), "AKIDEXAMPLE",
                    "") == "04b22c59adedb6f129d8343ead37947516bd986b9563dc16360fc345aa5ee17a");
  CHECK(as_botocore(request_of("localhost:9000", "/bucket//double//slash/../dots/./x", {}, {}), "A", "tok/en+==") ==
        "e9d549f6206d53924ec271e7c22180c7a981c0df23fb6a8ecda04741e2c2e933");
  UnsignedRequest head = request_of("bucket.s3.amazonaws.com", "/~tilde_(paren)!*'", {}, match);
  head.method = "HEAD", head.payload_hash = s3::kUnsignedPayload;
  CHECK(as_botocore(head, "AKIDEXAMPLE", "") == "ac01d83e073cdf86c5c859dbe75a8930209268d31e2e317c2e58be23b94c3e64");
  const Values list = {{"list-type", "2"}, {"prefix", "a/b c+d&é="}, {"continuation-token", "1/w==+x"},
                       {"delimiter", "/"}, {"encoding-type", "url"}, {"max-keys", "1000"}};
  CHECK(as_botocore(request_of("bucket.s3.amazonaws.com", "/", list, {}), "AKIDEXAMPLE", "") ==
        "a4555e5be4a236be50a85319612d964ad98f4f734b8c375adfb3a4378d478428");
  const Values odd = {{"b", ""}, {"a-b", "2"}, {"a", "2"}, {"a", "1"}, {"A", "3"}, {"a_", "4"}};
  const Values meta = {{"X-Amz-Meta-Z", "  two   blanks "}, {"x-amz-meta-a", "v"}};
  UnsignedRequest with_meta = request_of("bucket.s3.amazonaws.com", "/", odd, meta);
  with_meta.payload_hash = s3::kUnsignedPayload;
  CHECK(as_botocore(with_meta, "AKIDEXAMPLE", std::string(600, 'T')) ==
        "0f815404eb02c3deb49f6544bf45d9c0cdf5e36b3e43bd0d3514fe5966b61cb4");
}

TEST_CASE("a session token is a header, and is signed") {
  const Signed out = sign(request_of("h", "/k", {}, {}), kExampleTime, "us-east-1", "A", "token");
  CHECK(value_of(out.lines, "x-amz-security-token") == "token");
  CHECK(value_of(out.lines, "Authorization").find(";x-amz-security-token,") != std::string::npos);
}

TEST_CASE("no line holds the secret key") {
  for (const std::string& line : sign(request_of("h", "/k", {}, {})).lines)
    CHECK(line.find(kSecret) == std::string::npos);
}

TEST_CASE("a signing key fits the times of its day in UTC") {
  const SigningKey key({"A", kSecret, ""}, "us-east-1", "s3", kExampleTime + 5000);
  CHECK(key.fits(kExampleTime));
  CHECK(key.fits(kExampleTime + 86399));
  CHECK_FALSE(key.fits(kExampleTime + 86400));
  CHECK_FALSE(key.fits(kExampleTime - 1));
  const SigningKey early({"A", kSecret, ""}, "us-east-1", "s3", -1);  // a clock that was never set
  CHECK(early.fits(-86400));
  CHECK_FALSE(early.fits(0));
}

TEST_CASE("a secret key that is longer than a block of the hash is hashed first") {
  // Made by botocore for the same request.
  const SigningKey key({"A", std::string(100, 'k'), ""}, "us-east-1", "s3", kExampleTime);
  std::vector<std::string> lines;
  s3::sign(key, request_of("h", "/k", {}, {}), kExampleTime, lines);
  CHECK(signature_of(lines) == "aade6868bb17467f2abd8fdbf83d0b9bb09cc128542dad7e94a07dfff3c22aee");
}

TEST_CASE("threads sign with one key at once") {
  const SigningKey key({"AKIAIOSFODNN7EXAMPLE", kSecret, ""}, "us-east-1", "s3", kExampleTime);
  const Values range = {{"Range", "bytes=0-9"}};
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 100; ++k) {
        std::vector<std::string> lines;
        s3::sign(key, request_of("examplebucket.s3.amazonaws.com", "/test.txt", {}, range), kExampleTime, lines);
        right += signature_of(lines) == "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41" ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 400);
}

TEST_CASE("how long a signature takes", "[.figures]") {
  constexpr int kTimes = 20000;
  const Values range = {{"Range", "bytes=1000000-2000000"}, {"If-Match", "\"d41d8cd98f00b204e9800998ecf8427e\""}};
  for (const size_t token_bytes : {size_t{0}, size_t{1000}}) {
    const Credentials credentials{"AKIAIOSFODNN7EXAMPLE", kSecret, std::string(token_bytes, 't')};
    const SigningKey key(credentials, "us-east-1", "s3", kExampleTime);
    const auto request =
        request_of("bucket.s3.us-east-1.amazonaws.com", "/datasets/images/train/000123.tar", {}, range);
    std::vector<std::string> lines;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kTimes; ++i) {
      lines.clear();
      s3::sign(key, request, kExampleTime, lines);
    }
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    std::printf("a token of %zu bytes: %.2f us a signature\n", token_bytes, took.count() / kTimes);
  }
}

}  // namespace spdld::store::signature_test
