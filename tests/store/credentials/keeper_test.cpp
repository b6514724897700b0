#include "daemon/store/credentials/keeper.h"

#include <atomic>
#include <chrono>
#include <deque>
#include <stdexcept>

#include "daemon/store/credentials/instance.h"
#include "tests/store/credentials/fixtures.h"
#include "tests/support/http_stub.h"
#include "tests/support/soon.h"

namespace spdld::store::credentials_test {
namespace {

using test::soon;

// A clock that the test sets. The keeper looks at it when it wakes.
struct TestClock {
  std::atomic<int64_t> unix_s{1'000'000}, steady_ms{5'000};
  std::function<Moment()> function() {
    return [this] { return Moment{unix_s, steady_ms}; };
  }
  void pass(int64_t seconds) { unix_s += seconds, steady_ms += seconds * 1000; }
};

// Gives what the test puts into it, in turn, and the last again and again. It may be held back.
struct Script {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::deque<Result<Credentials>> results;
  bool is_held = false, throws = false;

  void put(Result<Credentials> result) {
    const std::scoped_lock lock(mutex);
    results.push_back(std::move(result));
  }
  void hold(bool held) {
    const std::scoped_lock lock(mutex);
    is_held = held;
    changed.notify_all();
  }
};

class ScriptedSource : public CredentialsSource {
 public:
  explicit ScriptedSource(Script& script) : script_(script) {}
  Result<Credentials> get(std::stop_token stop) override {
    std::unique_lock lock(script_.mutex);
    script_.changed.wait(lock, stop, [this] { return !script_.is_held; });
    if (stop.stop_requested()) return Error{Trouble::kStopping, "it stops."};
    if (script_.throws) throw std::runtime_error("the source is broken");
    Result<Credentials> result = script_.results.front();
    if (script_.results.size() > 1) script_.results.pop_front();
    return result;
  }
  std::string_view name() const override { return "script"; }

 private:
  Script& script_;
};

Credentials named(const std::string& name, int64_t expires_at_s) { return {name, kSecret, kToken, expires_at_s}; }
Error failure() { return {Trouble::kTransient, "the service is down."}; }

struct Setting {
  TestClock clock;
  Script script;
  std::unique_ptr<CredentialsKeeper> keeper;
  void start() {
    keeper = std::make_unique<CredentialsKeeper>(std::make_unique<ScriptedSource>(script), clock.function());
  }
  // Lets the time pass, and has the keeper look at the clock by a refusal of what it has.
  void refuse() { keeper->refresh_now(keeper->current()); }
  std::string name() const {
    const auto current = keeper->current();
    return current ? current->access_key : "";
  }
};

}  // namespace

TEST_CASE("the first credentials are waited for, and a snapshot stays as it is") {
  Setting it;
  it.script.put(named("one", 1'003'600));
  it.script.put(named("two", 1'007'200));
  it.script.is_held = true;
  it.start();
  CHECK(it.keeper->current() == nullptr);
  CHECK(it.keeper->error().message.find("not been fetched yet") != std::string::npos);
  it.script.hold(false);
  REQUIRE(it.keeper->wait_for_first({}));
  const auto first = it.keeper->current();
  REQUIRE(first);
  CHECK(first->access_key == "one");
  it.clock.pass(11);
  it.keeper->refresh_now(first);
  CHECK(soon([&] { return it.name() == "two"; }));
  CHECK(first->access_key == "one");
  // The refusal of what was replaced already asks for nothing.
  const uint64_t fetches = it.keeper->fetches();
  it.clock.pass(11);
  it.keeper->refresh_now(first);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(it.keeper->fetches() == fetches);
}

TEST_CASE("a stop ends the wait for the first credentials") {
  Setting it;
  it.script.put(failure());
  it.script.is_held = true;
  it.start();
  std::stop_source stop;
  std::thread stopper([&] { stop.request_stop(); });
  const Status status = it.keeper->wait_for_first(stop.get_token());
  stopper.join();
  REQUIRE_FALSE(status);
  CHECK(checked_error(status.error()).trouble == Trouble::kStopping);
}

TEST_CASE("a first failure is told, and is tried again by itself") {
  Setting it;
  it.script.put(failure());
  it.script.put(named("one", 0));
  it.start();
  const Status status = it.keeper->wait_for_first({});
  if (!status) CHECK(checked_error(status.error()).message == failure().message);
  it.clock.pass(2);
  CHECK(soon([&] { return it.name() == "one"; }));
  CHECK(it.keeper->wait_for_first({}));
}

TEST_CASE("after a failure old credentials are used until they expire") {
  Setting it;
  it.script.put(named("one", 1'003'600));
  it.script.put(failure());
  it.start();
  REQUIRE(it.keeper->wait_for_first({}));
  it.clock.pass(3300);
  it.refuse();
  CHECK(soon([&] { return it.keeper->fetches() >= 2; }));
  CHECK(it.name() == "one");
  CHECK(checked_error(it.keeper->error()).message == failure().message);
  it.clock.pass(299);
  CHECK(it.name() == "one");
  it.clock.pass(1);
  CHECK(it.keeper->current() == nullptr);
  it.script.put(named("two", 0));
  CHECK(soon([&] {
    it.clock.pass(60);
    return it.name() == "two";
  }));
}

TEST_CASE("credentials that have expired already are a failure") {
  Setting it;
  it.script.put(named("old", 999'999));
  it.start();
  const Status status = it.keeper->wait_for_first({});
  REQUIRE_FALSE(status);
  CHECK(checked_error(status.error()).message.find("expired") != std::string::npos);
  CHECK(it.keeper->current() == nullptr);
  it.clock.unix_s = 900'000;  // the clock was wrong, and is set back
  it.clock.steady_ms += 60'000;
  CHECK(soon([&] { return it.name() == "old"; }));
}

TEST_CASE("the same credentials stay the same object, so that a refusal of them counts") {
  Setting it;
  it.script.put(named("one", 0));
  it.start();
  REQUIRE(it.keeper->wait_for_first({}));
  const auto first = it.keeper->current();
  it.clock.pass(11);
  it.keeper->refresh_now(first);
  CHECK(soon([&] { return it.keeper->fetches() == 2; }));
  CHECK(it.keeper->current() == first);
  it.clock.pass(11);
  it.keeper->refresh_now(first);
  CHECK(soon([&] { return it.keeper->fetches() == 3; }));
}

TEST_CASE("a source that throws is a failure, and the keeper goes on") {
  Setting it;
  it.script.throws = true;
  it.script.put(named("one", 0));
  it.start();
  const Status status = it.keeper->wait_for_first({});
  REQUIRE_FALSE(status);
  CHECK(checked_error(status.error()).trouble == Trouble::kInternal);
  {
    const std::scoped_lock lock(it.script.mutex);
    it.script.throws = false;
  }
  it.clock.pass(2);
  CHECK(soon([&] { return it.name() == "one"; }));
}

TEST_CASE("the end interrupts a service that does not answer") {
  test::HttpStub stub([](const test::StubRequest&) {
    test::StubReply reply;
    reply.delay = std::chrono::seconds(60);
    return reply;
  });
  const http::Ask patient = [](http::Question question) {
    question.total_ms = 60'000;
    return http::ask(question);
  };
  auto source = std::make_unique<InstanceCredentials>(
      environment_of({{"AWS_EC2_METADATA_SERVICE_ENDPOINT", stub.url()}}), patient);
  auto keeper = std::make_unique<CredentialsKeeper>(std::move(source));
  CHECK(soon([&] { return !stub.requests().empty(); }));
  const auto begin = std::chrono::steady_clock::now();
  keeper.reset();
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
}

TEST_CASE("many threads use, refuse and wait while credentials change") {
  Setting it;
  for (int i = 0; i < 200; ++i) it.script.put(named("key-" + std::to_string(i), 0));
  it.start();
  std::atomic<bool> is_over{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      if (!it.keeper->wait_for_first({})) wrong++;
      while (!is_over) {
        const auto current = it.keeper->current();
        if (!current || current->secret_key != kSecret || !current->access_key.starts_with("key-")) wrong++;
        it.keeper->refresh_now(current);
        (void)it.keeper->error();
        it.clock.pass(11);
        std::this_thread::yield();
      }
    });
  }
  CHECK(soon([&] { return it.keeper->fetches() >= 100; }));
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

}  // namespace spdld::store::credentials_test
