// A web site of one object for tests of clients, and a store that asks it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/store/http/network_store.h"
#include "daemon/store/http/web_dialect.h"
#include "daemon/store/waiting.h"
#include "tests/support/http_stub.h"

namespace spdld::test {

// Bytes that differ from place to place and from version to version.
inline std::string pattern(size_t bytes, int version = 1) {
  std::string text(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i)
    text[i] = static_cast<char>(static_cast<size_t>(version) * 131 + i * 7 + i / 251 * 13);
  return text;
}

// The answer of a server with ranges and If-Match.
inline StubReply serve(const std::string& body, const std::string& etag, const StubRequest& request) {
  if (const std::string wanted = request.header("if-match"); !wanted.empty() && wanted != etag) return {412};
  const std::string range = request.header("range");
  if (range.empty()) return {200, body, {"ETag: " + etag}};
  const size_t dash = range.find('-');
  const size_t first = std::stoull(range.substr(6, dash - 6));
  const std::string last = range.substr(dash + 1);
  const size_t end = last.empty() ? body.size() : std::min(body.size(), size_t{std::stoull(last)} + 1);
  if (first >= body.size() || end <= first) return {416};
  return {206,
          body.substr(first, end - first),
          {"ETag: " + etag, "Content-Range: bytes " + std::to_string(first) + "-" + std::to_string(end - 1) + "/" +
                                std::to_string(body.size())}};
}

inline store::http::Limits quick_limits() {
  store::http::Limits limits;
  limits.backoff_ms = limits.backoff_ms_max = 1;
  return limits;
}

class Site {
 public:
  // `answer` gets each request with its number, from 0.
  using Answer = std::function<StubReply(const StubRequest&, unsigned)>;

  explicit Site(Answer answer, store::http::Limits limits = quick_limits(), store::http::Reach reach = {})
      : stub_([this, made = std::move(answer)](const StubRequest& request) { return made(request, count_++); }),
        endpoint_(std::make_shared<store::http::Endpoint>("site", store::http::Transfer::Settings{limits, reach, {}},
                                                          store::http::make_web_dialect(stub_.url()))),
        network_(std::make_unique<store::http::Network>()),
        store_(*network_, endpoint_) {}

  store::Store& store() { return store_; }
  HttpStub& stub() { return stub_; }
  std::unique_ptr<store::http::Network>& network() { return network_; }
  const store::http::EndpointStatistics& statistics() const { return endpoint_->statistics(); }
  std::vector<StubRequest> requests() const { return stub_.requests(); }

 private:
  std::atomic<unsigned> count_{0};
  HttpStub stub_;
  const std::shared_ptr<store::http::Endpoint> endpoint_;
  std::unique_ptr<store::http::Network> network_;
  store::http::NetworkStore store_;
};

// A read of a range into its own memory.
struct OwnRead final : store::Read, store::Read::Room, store::Request::Observer {
  explicit OwnRead(uint64_t from = 0, uint64_t count = kToEnd) {
    object = "a.bin";
    offset = from;
    bytes = count;
    observer = this;
    if (count == kToEnd) {
      room = this;
    } else {
      memory.resize(count);
      pieces = {{from, count, reinterpret_cast<uint8_t*>(memory.data())}};
    }
  }
  uint8_t* room_for(store::Read&, uint64_t count) override {
    ++rooms;
    if (has_no_room) return nullptr;
    memory.assign(count, '\0');
    return reinterpret_cast<uint8_t*>(memory.data());
  }
  void on_done(store::Request&) override {
    const std::scoped_lock lock(mutex);
    ++told;
    changed.notify_all();
  }
  bool wait() {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(30), [&] { return told > 0; });
  }
  unsigned times_told() {
    const std::scoped_lock lock(mutex);
    return told;
  }

  std::string memory;
  unsigned rooms = 0;
  bool has_no_room = false;
  std::mutex mutex;
  std::condition_variable changed;
  unsigned told = 0;
};

inline Status read_now(Site& site, OwnRead& read) { return store::Waiting(site.store()).read(read); }

}  // namespace spdld::test
