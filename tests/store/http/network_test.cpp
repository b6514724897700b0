// Many requests at once: their limits and turns, their end before they are answered, and second attempts.
#include "daemon/store/http/network.h"

#include <catch2/catch.hpp>
#include <deque>
#include <future>

#include "tests/store/http/web_site.h"
#include "tests/support/soon.h"

namespace spdld::store::network_test {
namespace {

using namespace std::chrono_literals;
using namespace spdld::test;

const std::string kBody = pattern(100'000);
const std::string kEtag = "\"v1\"";

StubReply plain(const StubRequest& request, unsigned) { return serve(kBody, kEtag, request); }

StubReply changed(StubReply reply, const std::function<void(StubReply&)>& change) {
  change(reply);
  return reply;
}

// An observer that counts, for requests that are asked for all at once.
struct Counting final : Request::Observer {
  void on_done(Request& request) override {
    const std::scoped_lock lock(mutex);
    order.push_back(&request);
  }
  size_t count() {
    const std::scoped_lock lock(mutex);
    return order.size();
  }
  std::mutex mutex;
  std::vector<Request*> order;
};

}  // namespace

TEST_CASE("a read is cancelled while it runs, waits or rests, and not when it has ended") {
  auto limits = quick_limits();
  limits.connections_max = 1;
  limits.backoff_ms = limits.backoff_ms_max = 3'600'000;
  limits.total_ms_max = UINT32_MAX;
  Site site(
      [](const StubRequest& request, unsigned number) {
        return number == 0 ? StubReply{500} : changed(plain(request, 0), [](StubReply& reply) { reply.delay = 20s; });
      },
      limits);
  OwnRead resting, running, waiting;
  site.store().read(resting);
  REQUIRE(soon([&] { return site.statistics().retries.value() == 1; }));
  site.store().read(running);
  REQUIRE(soon([&] { return site.requests().size() == 2; }));
  site.store().read(waiting);
  for (OwnRead* const read : {&waiting, &resting, &running}) {
    site.store().cancel(*read);
    REQUIRE(read->wait());
    REQUIRE_FALSE(read->status);
    CHECK(read->status.error().trouble == Trouble::kStopping);
  }
  CHECK(waiting.attempts == 0);
  for (OwnRead* const read : {&waiting, &resting, &running}) site.store().cancel(*read);
  Stat stat;  // what comes behind the cancels in the queue
  site.store().cancel(stat);
  site.network().reset();
  for (OwnRead* const read : {&waiting, &resting, &running}) CHECK(read->times_told() == 1);
}

TEST_CASE("all reads that are under way are told once when the network ends") {
  auto limits = quick_limits();
  limits.connections_max = 3;
  Site site([](const StubRequest& request,
               unsigned) { return changed(plain(request, 0), [](StubReply& reply) { reply.delay = 20s; }); },
            limits);
  std::deque<OwnRead> reads(50);
  for (OwnRead& read : reads) site.store().read(read);
  REQUIRE(soon([&] { return site.requests().size() == 3; }));
  site.network().reset();
  for (OwnRead& read : reads) {
    CHECK(read.times_told() == 1);
    CHECK(read.status.error().trouble == Trouble::kStopping);
  }
}

TEST_CASE("who asks again when the network ends is told as well") {
  struct Again final : Request::Observer {
    void on_done(Request& request) override {
      if (++told == 1) store->read(static_cast<Read&>(request));
    }
    Store* store = nullptr;
    std::atomic<int> told{0};
  };
  Site site([](const StubRequest& request, unsigned) {
    return changed(plain(request, 0), [](StubReply& reply) { reply.delay = 20s; });
  });
  Again again;
  again.store = &site.store();
  OwnRead read;
  read.observer = &again;
  site.store().read(read);
  REQUIRE(soon([&] { return site.requests().size() == 1; }));
  site.network().reset();
  CHECK(again.told == 2);
}

TEST_CASE("after stop() reads end at once") {
  Site site([](const StubRequest& request, unsigned) {
    return changed(plain(request, 0), [](StubReply& reply) { reply.delay = 20s; });
  });
  OwnRead before, later;
  site.store().read(before);
  REQUIRE(soon([&] { return site.requests().size() == 1; }));
  site.network()->stop();
  REQUIRE(before.wait());
  CHECK(before.status.error().trouble == Trouble::kStopping);
  const Status status = read_now(site, later);
  REQUIRE_FALSE(status);
  CHECK(status.error().trouble == Trouble::kStopping);
}

TEST_CASE("no more requests run at once than there may be connections") {
  auto limits = quick_limits();
  limits.connections_max = 3;
  std::atomic<int> now{0}, most{0};
  Site site(
      [&](const StubRequest& request, unsigned number) {
        const int here = ++now;
        for (int seen = most; here > seen && !most.compare_exchange_weak(seen, here);) {
        }
        StubReply reply = plain(request, number);
        --now;
        return reply;
      },
      limits);
  std::deque<OwnRead> reads;
  for (int i = 0; i < 60; ++i) site.store().read(reads.emplace_back(static_cast<uint64_t>(i), 20'000));
  for (OwnRead& read : reads) {
    REQUIRE(read.wait());
    CHECK(read.status);
    CHECK(read.memory == kBody.substr(read.offset, 20'000));
  }
  CHECK(most <= 3);
  CHECK(site.statistics().connections.value() <= 3);
  CHECK(site.statistics().under_way.value() == 0);
  CHECK(site.statistics().requests.value() == 60);
}

TEST_CASE("the buckets of one server share its connections, and take turns") {
  auto limits = quick_limits();
  limits.connections_max = 3;
  std::promise<void> open;
  HttpStub stub([&, gate = open.get_future().share()](const StubRequest& request) {
    if (request.header("range") != "bytes=1-1") gate.wait();
    return plain(request, 0);
  });
  http::Network network;
  const auto bucket = [&](std::shared_ptr<http::Server> server) {
    return std::make_shared<http::Endpoint>("bucket", http::Transfer::Settings{limits, {}, {}},
                                            http::make_web_dialect(stub.url()), nullptr, std::move(server));
  };
  const auto server = std::make_shared<http::Server>();
  std::deque<std::shared_ptr<http::Endpoint>> buckets;
  Counting counting;
  std::deque<OwnRead> reads;
  for (int i = 0; i < 4; ++i) {
    http::NetworkStore store(network, buckets.emplace_back(bucket(server)));
    for (int k = 0; k < 40; ++k) {
      OwnRead& read = reads.emplace_back(0, 10);
      read.observer = &counting;
      store.read(read);
    }
  }
  // Another server's connections are its own. When this read has ended, all buckets have had their turn.
  OwnRead other(1, 1);
  http::NetworkStore other_store(network, bucket(nullptr));
  CHECK(Waiting(other_store).read(other));
  uint64_t attempts = 0;
  for (const auto& one : buckets) attempts += one->statistics().attempts.value();
  CHECK(attempts == 3);
  open.set_value();
  REQUIRE(soon([&] { return counting.count() == reads.size(); }));
  for (const OwnRead& read : reads) CHECK(read.status);
  const auto is_of = [&](size_t number, const Request* request) {
    const auto begin = reads.begin() + static_cast<ptrdiff_t>(40 * number);
    return std::any_of(begin, begin + 40, [&](const OwnRead& read) { return &read == request; });
  };
  // Of the last bucket, which came last, a read has ended before all of the first one's have.
  const auto first =
      std::find_if(counting.order.begin(), counting.order.end(), [&](const Request* one) { return is_of(3, one); });
  CHECK(std::any_of(first, counting.order.end(), [&](const Request* one) { return is_of(0, one); }));
}

TEST_CASE("a server that asks to wait is asked nothing until then") {
  Site site([](const StubRequest& request, unsigned number) {
    return number == 0 ? StubReply{503, "", {"Retry-After: 1"}} : plain(request, number);
  });
  const auto start = std::chrono::steady_clock::now();
  OwnRead first(0, 10), other(10, 10);
  site.store().read(first);
  REQUIRE(soon([&] { return site.statistics().retries.value() == 1; }));
  site.store().read(other);
  REQUIRE(other.wait());
  CHECK(std::chrono::steady_clock::now() - start >= 1s);
  CHECK(other.attempts == 1);
  REQUIRE(first.wait());
  CHECK((first.status && other.status));
}

TEST_CASE("a server that asks to wait is not waited for longer than a request may take") {
  auto limits = quick_limits();
  limits.total_ms_max = 200;
  Site site(
      [](const StubRequest& request, unsigned number) {
        return number == 0 ? StubReply{503, "", {"Retry-After: 3600"}} : plain(request, number);
      },
      limits);
  OwnRead first(0, 10), other(10, 10);
  CHECK_FALSE(read_now(site, first));
  CHECK(read_now(site, other));
}

TEST_CASE("no more requests begin in a second than may") {
  auto limits = quick_limits();
  limits.requests_per_s_max = 20;
  Site site(plain, limits);
  std::deque<OwnRead> reads;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 30; ++i) site.store().read(reads.emplace_back(0, 10));
  for (OwnRead& read : reads) REQUIRE(read.wait());
  CHECK(std::chrono::steady_clock::now() - start > 400ms);  // 20 at once, and 10 at 20 a second
}

TEST_CASE("the owners of waiting requests take turns") {
  auto limits = quick_limits();
  limits.connections_max = 1;
  std::mutex mutex;
  std::condition_variable changed_state;
  bool is_open = false;
  Site site(
      [&](const StubRequest& request, unsigned number) {
        std::unique_lock lock(mutex);
        changed_state.wait(lock, [&] { return is_open; });
        return plain(request, number);
      },
      limits);
  Counting counting;
  std::deque<OwnRead> reads;
  for (int i = 0; i < 10; ++i) {
    OwnRead& read = reads.emplace_back(0, 10);
    read.owner = i < 9 ? 1 : 2;
    read.observer = &counting;
    site.store().read(read);
  }
  REQUIRE(soon([&] { return site.requests().size() == 1; }));
  {
    const std::scoped_lock lock(mutex);
    is_open = true;
  }
  changed_state.notify_all();
  REQUIRE(soon([&] { return counting.count() == 10; }));
  const auto place = std::find(counting.order.begin(), counting.order.end(), &reads[9]) - counting.order.begin();
  CHECK(place <= 2);
}

TEST_CASE("a slow answer is beaten by that of a second attempt") {
  auto limits = quick_limits();
  limits.hedge_percent = 50;  // an allowance of one for each read
  std::atomic<bool> is_slow{false};
  Site site(
      [&](const StubRequest& request, unsigned number) {
        return changed(plain(request, number), [&](StubReply& reply) {
          if (request.header("range") == "bytes=100-1099" && is_slow.exchange(false)) reply.delay = 20s;
        });
      },
      limits);
  for (int i = 0; i < 120; ++i) {
    OwnRead read(0, 10);
    REQUIRE(read_now(site, read));
  }
  REQUIRE(soon([&] { return site.statistics().under_way.value() == 0; }));
  is_slow = true;
  OwnRead slow(100, 1'000);
  REQUIRE(read_now(site, slow));
  CHECK(slow.memory == kBody.substr(100, 1'000));
  CHECK(slow.attempts == 2);
  CHECK(site.statistics().hedges_won.value() >= 1);
  REQUIRE(soon([&] { return site.statistics().under_way.value() == 0; }));
}

TEST_CASE("a second attempt for which there is no room waits for it, and is not made where the first one ends before") {
  auto limits = quick_limits();
  limits.hedge_percent = 50;  // an allowance of one for each read
  limits.connections_max = 2;
  std::atomic<bool> is_slow{true};
  Site site(
      [&](const StubRequest& request, unsigned number) {
        return changed(plain(request, number), [&](StubReply& reply) {
          if (request.header("range") == "bytes=100-1099" && is_slow.exchange(false)) reply.delay = 20s;
          if (request.header("range") == "bytes=200-1199") reply.delay = 500ms;
        });
      },
      limits);
  for (int i = 0; i < 120; ++i) {
    OwnRead read(0, 10);
    REQUIRE(read_now(site, read));
  }
  REQUIRE(soon([&] { return site.statistics().under_way.value() == 0; }));
  OwnRead slow(100, 1'000), other(200, 1'000);
  site.store().read(slow);
  site.store().read(other);
  const auto start = std::chrono::steady_clock::now();
  REQUIRE(other.wait());
  REQUIRE(slow.wait());
  CHECK(std::chrono::steady_clock::now() - start < 15s);  // or it was the first attempt that ended
  CHECK(slow.attempts == 2);
  CHECK(slow.memory == kBody.substr(100, 1'000));
  CHECK(other.attempts == 1);
}

TEST_CASE("two attempts that get different versions at the same time do not mix them") {
  auto limits = quick_limits();
  limits.hedge_percent = 50;  // an allowance of one for each read
  const std::string other = pattern(kBody.size(), 2);
  std::atomic<int> stage{0};
  Site site(
      [&](StubRequest request, unsigned number) {
        if (stage == 0 || request.header("range") == "bytes=0-9") return plain(request, number);
        request.headers.erase("if-match");
        switch (stage++) {
          case 1:  // half of the first version, and then it ends after a while
            return changed(serve(kBody, kEtag, request), [](StubReply& reply) {
              reply.pauses_after = 50'000, reply.pause = 300ms, reply.cut_after = 50'000;
            });
          default:
            return serve(other, "\"v2\"", request);
        }
      },
      limits);
  for (int i = 0; i < 120; ++i) {
    OwnRead read(0, 10);
    REQUIRE(read_now(site, read));
  }
  stage = 1;
  OwnRead read(0, kBody.size());
  const Status status = read_now(site, read);
  INFO((status ? "" : status.error().message));
  REQUIRE(status);
  CHECK((read.memory == kBody || read.memory == other));
}

}  // namespace spdld::store::network_test
