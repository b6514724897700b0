#include "daemon/store/http/ask.h"

#include <stdlib.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "tests/support/http_stub.h"
#include "tests/support/soon.h"

namespace spdld::store::ask_test {
namespace {

using http::Question;
using test::HttpStub;
using test::StubReply;
using test::StubRequest;

constexpr const char* kSecret = "hunter2";

Question question_to(const std::string& url) {
  Question question;
  question.url = url;
  question.headers = {std::string("Authorization: ") + kSecret};
  return question;
}

Error error_of(const Question& question) {
  const auto reply = http::ask(question);
  REQUIRE_FALSE(reply);
  CAPTURE(reply.error().message);
  CHECK(reply.error().message.ends_with("."));
  CHECK(reply.error().message.find(kSecret) == std::string::npos);
  return reply.error();
}

}  // namespace

TEST_CASE("a question brings its method, headers and body, and gets status and body") {
  HttpStub stub([](const StubRequest& request) {
    return StubReply{request.method == "POST" ? 403 : 200, request.method + " " + request.target};
  });
  Question question = question_to(stub.url() + "/a/../b?c=d%20e");
  auto reply = http::ask(question);
  REQUIRE(reply);
  CHECK(reply->status == 200);
  CHECK(reply->body == "GET /a/../b?c=d%20e");
  question.method = "POST";
  question.body = std::string("x\0y", 3);
  reply = http::ask(question);
  REQUIRE(reply);
  CHECK(reply->status == 403);
  question.method = "PUT";
  question.body = "";
  REQUIRE(http::ask(question));
  const auto requests = stub.requests();
  REQUIRE(requests.size() == 3);
  CHECK(requests[0].header("authorization") == kSecret);
  CHECK(requests[1].body == std::string("x\0y", 3));
  CHECK(requests[1].header("expect").empty());
  CHECK(requests[2].method == "PUT");
  CHECK(requests[2].header("content-length") == "0");
}

TEST_CASE("a redirect is a reply, and is not followed") {
  HttpStub stub([](const StubRequest&) { return StubReply{302, "", {"Location: /elsewhere"}}; });
  const auto reply = http::ask(question_to(stub.url() + "/"));
  REQUIRE(reply);
  CHECK(reply->status == 302);
  CHECK(stub.requests().size() == 1);
}

TEST_CASE("a reply that is too long is refused, and one that just fits is taken") {
  std::atomic<size_t> bytes{1000};
  HttpStub stub([&](const StubRequest&) { return StubReply{200, std::string(bytes, 'x')}; });
  Question question = question_to(stub.url() + "/");
  question.body_bytes_max = 1000;
  CHECK(http::ask(question)->body.size() == 1000);
  bytes = 1001;
  CHECK(error_of(question).trouble == Trouble::kLimit);
  bytes = 50 << 20;
  CHECK(error_of(question).trouble == Trouble::kLimit);
}

TEST_CASE("a head that does not end is refused") {
  std::string head = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 4000; ++i) head += "X-Padding-Of-The-Head: 0123456789\r\n";
  HttpStub stub([&](const StubRequest&) {
    StubReply reply;
    reply.raw = head;
    return reply;
  });
  CHECK(error_of(question_to(stub.url() + "/")).trouble == Trouble::kLimit);
}

TEST_CASE("a server that is slow, cuts off, lies or is not there is no reply") {
  HttpStub stub([](const StubRequest& request) {
    StubReply reply{200, "a body"};
    if (request.target == "/slow") reply.delay = std::chrono::seconds(30);
    if (request.target == "/cut") reply.cut_after = 2;
    if (request.target == "/drop") reply.is_dropped = true;
    if (request.target == "/lie") reply.raw = std::string("hunter2 is not HTTP\r\n\r\n");
    return reply;
  });
  for (const char* path : {"/slow?hunter2", "/cut", "/drop", "/lie"}) {
    CAPTURE(path);
    Question question = question_to(stub.url() + path);
    question.total_ms = 300;
    if (std::string_view(path).starts_with("/slow")) question.url = stub.url() + "/slow";
    CHECK(error_of(question).trouble == Trouble::kTransient);
  }
  uint16_t port = 0;
  {
    HttpStub gone([](const StubRequest&) { return StubReply(); });
    port = gone.port();
  }
  CHECK(error_of(question_to("http://127.0.0.1:" + std::to_string(port) + "/x?hunter2")).trouble ==
        Trouble::kTransient);
}

TEST_CASE("a stop ends a question that waits") {
  HttpStub stub([](const StubRequest&) {
    StubReply reply;
    reply.delay = std::chrono::seconds(30);
    return reply;
  });
  std::stop_source stop;
  Question question = question_to(stub.url() + "/");
  question.total_ms = 30000;
  question.stop = stop.get_token();
  std::thread stopper([&] {
    CHECK(test::soon([&] { return !stub.requests().empty(); }));
    stop.request_stop();
  });
  const auto begin = std::chrono::steady_clock::now();
  CHECK(error_of(question).trouble == Trouble::kStopping);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
  stopper.join();
}

TEST_CASE("what can't be sent is refused before it is sent") {
  HttpStub stub([](const StubRequest&) { return StubReply(); });
  for (const char* header : {"A: b\r\nC: d", "A: b\n", "no colon"}) {
    Question question = question_to(stub.url() + "/");
    question.headers.push_back(header);
    CHECK(error_of(question).trouble == Trouble::kUsage);
  }
  CHECK(error_of(question_to("file:///etc/passwd")).trouble == Trouble::kUsage);
  CHECK(error_of(question_to("http://user:hunter2@127.0.0.1/")).trouble == Trouble::kUsage);
  CHECK(stub.requests().empty());
}

TEST_CASE("a proxy of the environment is never asked for an address at hand") {
  HttpStub proxy([](const StubRequest&) { return StubReply{200, "the proxy"}; });
  HttpStub stub([](const StubRequest&) { return StubReply{200, "itself"}; });
  ::setenv("http_proxy", proxy.url().c_str(), 1);  // no other thread reads the environment
  const auto near = http::ask(question_to(stub.url() + "/"));
  const auto far = http::ask(question_to("http://sts.example.invalid/"));
  ::unsetenv("http_proxy");
  CHECK(near->body == "itself");
  CHECK(far->body == "the proxy");
}

TEST_CASE("many threads may ask at once") {
  HttpStub stub([](const StubRequest& request) { return StubReply{200, request.target}; });
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const std::string path = "/" + std::to_string(i);
      const auto reply = http::ask(question_to(stub.url() + path));
      if (reply && reply->body == path) right++;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 8);
}

}  // namespace spdld::store::ask_test
