// An endpoint under a clock of the test's: how often it is asked while it gives nothing but failures.
#include "daemon/store/http/endpoint.h"

#include <catch2/catch.hpp>
#include <deque>
#include <functional>
#include <map>
#include <set>

#include "daemon/store/http/web_dialect.h"

namespace spdld::store::endpoint_test {
namespace {

using Catch::Contains;
using namespace http;

constexpr uint64_t kMs = 1'000'000, kSecond = 1'000 * kMs;

// A call whose attempts end as the test says.
class OneCall final : public Call {
 public:
  OneCall(Read& read, Dialect& dialect, const bool& answers, const std::string& retry_after)
      : Call(read, dialect), answers_(answers), retry_after_(retry_after) {}
  Status begin(Attempt&, Outgoing& outgoing) override {
    outgoing.url = "http://127.0.0.1/x";
    return Done{};
  }
  Take on_head(Attempt&) override { return Take::kStop; }
  bool on_body(Attempt&, std::span<const uint8_t>) override { return false; }
  Verdict on_end(Attempt&, CURLcode) override {
    if (answers_) return {};
    Verdict verdict = Verdict::again({Trouble::kTransient, what() + ": it has failed."});
    verdict.retry_after = retry_after_;
    return verdict;
  }
  std::string what() const override { return "http://host/" + request_of().object; }

 private:
  const Read& request_of() const { return static_cast<const Read&>(request()); }
  const bool& answers_;
  const std::string& retry_after_;
};

// Callers that each ask again a while after a failure, and a server whose replies take 5 ms.
struct Node final : private Endpoint::Wire, private Request::Observer {
  explicit Node(size_t callers, Limits limits = {}, std::shared_ptr<Server> server = nullptr)
      : endpoint("host", Transfer::Settings{limits, {}, {}}, make_web_dialect("http://host"), nullptr,
                 std::move(server)),
        reads(callers) {
    for (size_t i = 0; i < callers; ++i) {
      reads[i].object = std::to_string(i);
      reads[i].observer = this;
      asks.emplace(0, &reads[i]);
    }
  }
  ~Node() { endpoint.stop(*this); }

  void run_until(uint64_t end_ns) {
    while (now_ns < end_ns) {
      for (; !asks.empty() && asks.begin()->first <= now_ns; asks.erase(asks.begin())) {
        asks.begin()->second->status = Done{};
        endpoint.submit(std::make_unique<OneCall>(*asks.begin()->second, endpoint.dialect(), answers, retry_after));
      }
      uint64_t next_ns = endpoint.advance(now_ns, *this);
      if (!running.empty()) next_ns = std::min(next_ns, running.begin()->first);
      if (!asks.empty()) next_ns = std::min(next_ns, asks.begin()->first);
      now_ns = std::max(now_ns + 1, std::min(next_ns, end_ns));
      while (!running.empty() && running.begin()->first <= now_ns)
        endpoint.on_ended(static_cast<Attempt&>(running.begin()->second->user()), CURLE_OK, now_ns, *this);
    }
  }
  void cancel(size_t caller) { endpoint.cancel(reads[caller], *this); }
  // Attempts that began in this time.
  size_t begun(uint64_t from_ns, uint64_t end_ns) const {
    return static_cast<size_t>(std::distance(begins.lower_bound(from_ns), begins.lower_bound(end_ns)));
  }

  void add(Transfer& transfer) override {
    begins.insert(now_ns);
    running.emplace(now_ns + 5 * kMs, &transfer);
  }
  void remove(Transfer& transfer) override {
    std::erase_if(running, [&](const auto& one) { return one.second == &transfer; });
  }
  void on_done(Request& request) override {
    auto& read = static_cast<Read&>(request);
    if (read.status) {
      ++answered;
      if (asks_for_more) asks.emplace(now_ns + 200 * kMs, &read);
      return;
    }
    if (read.status.error().trouble == Trouble::kStopping) return;
    failed[&read].push_back(now_ns);
    last_words = read.status.error().message;
    asks.emplace(now_ns + 200 * kMs, &read);
  }

  bool answers = false, asks_for_more = false;
  std::string retry_after;  // that failures tell
  uint64_t now_ns = 0;
  size_t answered = 0;
  Endpoint endpoint;
  std::deque<Read> reads;
  std::multimap<uint64_t, Read*> asks;
  std::multimap<uint64_t, Transfer*> running;
  std::multiset<uint64_t> begins;
  std::map<Read*, std::vector<uint64_t>> failed;  // times
  std::string last_words;
};

}  // namespace

TEST_CASE("a failing endpoint is asked at a falling rate, however many samples wait, and at once after an answer") {
  for (const size_t callers : {size_t{20}, size_t{1'000}}) {
    INFO(callers << " callers");
    Node node(callers);
    node.run_until(300 * kSecond);
    CHECK(node.begun(2 * kSecond, 12 * kSecond) <= 10);
    CHECK(node.begun(12 * kSecond, 300 * kSecond) <= 288 / 2.5 + 1);
    CHECK(node.begun(12 * kSecond, 300 * kSecond) >= 288 / 5 - 1);
    // Each caller hears of it again and again, and what was wrong.
    REQUIRE(node.failed.size() == callers);
    for (const auto& [read, times] : node.failed) {
      CHECK(times.front() < 10 * kSecond);
      CHECK(times.size() >= 7);
      for (size_t i = 1; i < times.size(); ++i) REQUIRE(times[i] - times[i - 1] < 35 * kSecond);
    }
    CHECK_THAT(node.last_words, Contains("http://host/") && Contains("it has failed."));
    CHECK(node.endpoint.statistics().failing_since_ns.load() == 5 * kMs);

    node.answers = true;
    node.run_until(306 * kSecond);
    CHECK(node.answered == callers);
    CHECK(node.endpoint.statistics().failing_since_ns.load() == 0);
  }
}

TEST_CASE("reads that were stopped leave their places to others, whether they ran, waited or rested") {
  Limits limits;
  limits.connections_max = 3;
  Node node(10, limits);
  node.answers = true;
  node.run_until(1 * kMs);  // three run
  REQUIRE(node.running.size() == 3);
  CHECK(node.endpoint.statistics().under_way.value() == 3);
  for (const size_t caller : {0, 1, 2, 3, 4}) node.cancel(caller);
  CHECK(node.running.empty());
  CHECK(node.endpoint.statistics().under_way.value() == 0);
  node.run_until(2 * kMs);
  CHECK(node.running.size() == 3);  // as many as there may be, and no more
  CHECK(node.endpoint.statistics().under_way.value() == 3);
  node.run_until(30 * kMs);
  CHECK(node.answered == 5);
  CHECK(node.endpoint.is_idle());
  CHECK(node.endpoint.statistics().under_way.value() == 0);
  CHECK(node.endpoint.statistics().attempts.value() == 3 + 5);
  CHECK(node.endpoint.statistics().requests.value() == 10);
}

TEST_CASE("buckets of one server count its attempts together, also after some were stopped") {
  const auto server = std::make_shared<Server>();
  Limits limits;
  limits.connections_max = 2;
  Node first(2, limits, server), second(2, limits, server);
  first.answers = second.answers = true;
  first.run_until(1 * kMs);
  second.run_until(1 * kMs);
  CHECK(server->attempts == 2);
  CHECK(second.running.empty());
  first.cancel(0);
  CHECK(server->attempts == 1);
  second.run_until(2 * kMs);
  CHECK(second.running.size() == 1);
  first.cancel(1);
  second.cancel(0);
  second.cancel(1);
  CHECK(server->attempts == 0);
}

TEST_CASE("a server that asks for a pause has it, whatever later failures ask for") {
  Limits limits;
  limits.connections_max = 2;
  Node node(8, limits);
  node.run_until(2 * kMs);
  REQUIRE(node.running.size() == 2);
  auto& running = node.running;
  const uint64_t apart_ns = running.begin()->first;
  node.retry_after = "20";  // says the failure of the first, and the other one's says 1 s
  auto later = running.extract(std::prev(running.end()));
  later.key() = apart_ns + kMs;
  running.insert(std::move(later));
  node.run_until(apart_ns + 1);
  REQUIRE(running.size() == 1);
  node.retry_after = "1";
  node.run_until(apart_ns + kMs + 1);
  CHECK(running.empty());
  node.retry_after.clear();
  node.run_until(19 * kSecond);
  CHECK(node.begins.size() == 2);
  node.run_until(21 * kSecond);
  CHECK(node.begins.size() > 2);
}

TEST_CASE("an endpoint that turns most requests away, and answers some, is asked as before") {
  Node node(400);
  node.asks_for_more = true;
  for (uint64_t ms = 0; ms < 20'000; ms += 10) {
    node.answers = ms % 100 == 0;
    node.run_until((ms + 10) * kMs);
  }
  CHECK(node.answered > 1'000);
  CHECK(node.begun(10 * kSecond, 20 * kSecond) > 2'000);
}

}  // namespace spdld::store::endpoint_test
