#include "daemon/store/http/network.h"

#include <algorithm>
#include <utility>

#include "daemon/base/system/cpu.h"
#include "daemon/base/system/log.h"
#include "daemon/base/system/memory_charge.h"
#include "daemon/store/http/curl_library.h"

namespace spdld::store::http {
namespace {

constexpr uint64_t kWaitMsMax = 1'000;
constexpr long kConnectionsKept = 512;  // idle ones, of all endpoints

struct CloseMulti {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};

}  // namespace

struct Network::Thread final : private Endpoint::Wire {
  explicit Thread(Network& of) : network(of) {
    use_curl();
    multi.reset(curl_multi_init());
    if (!multi) throw SetupError(Trouble::kMemory, "there is no memory for libcurl: give the daemon more.");
    curl_multi_setopt(multi.get(), CURLMOPT_MAXCONNECTS, kConnectionsKept);
    thread = std::jthread([this] {
      name_thread("network", 0);
      run();
    });
  }

  void run() {
    std::vector<Order> orders;
    bool is_stopped = false;
    for (bool is_closing = false; !is_closing;) {
      {
        const std::scoped_lock lock(network.mutex_);
        orders.swap(network.orders_);
        is_closing = network.is_closing_;
        is_stopped = network.is_stopped_;
      }
      for (Order& order : orders) take(order);
      orders.clear();
      if (is_stopped) stop_all();
      const uint64_t next_ns = advance();
      int running = 0;
      curl_multi_perform(multi.get(), &running);
      if (collect()) continue;  // what ended makes room for others
      const uint64_t now_ns = monotonic_ns();
      const uint64_t wait_ms =
          next_ns <= now_ns ? 0 : std::min<uint64_t>((next_ns - now_ns + 999'999) / 1'000'000, kWaitMsMax);
      if (!is_closing) curl_multi_poll(multi.get(), nullptr, 0, static_cast<int>(wait_ms), nullptr);
    }
    // An observer that is told may ask again, and is told the same.
    for (;;) {
      stop_all();
      {
        const std::scoped_lock lock(network.mutex_);
        orders.swap(network.orders_);
      }
      if (orders.empty()) return;
      for (Order& order : orders) take(order);
      orders.clear();
    }
  }

  void stop_all() {
    for (const auto& endpoint : busy) endpoint->stop(*this);
  }

  void take(Order& order) {
    Endpoint& endpoint = *order.endpoint;
    if (order.action == Order::Action::kCancel) return endpoint.cancel(*order.request, *this);
    std::unique_ptr<Call> call;
    try {
      switch (order.action) {
        case Order::Action::kRead:
          call = make_call(static_cast<Read&>(*order.request), endpoint.dialect());
          break;
        case Order::Action::kStat:
          call = make_call(static_cast<Stat&>(*order.request), endpoint.dialect());
          break;
        default:
          call = make_call(static_cast<List&>(*order.request), endpoint.dialect());
      }
      if (endpoint.is_idle() && std::find(busy.begin(), busy.end(), order.endpoint) == busy.end())
        busy.push_back(order.endpoint);
      endpoint.submit(std::move(call));
    } catch (const std::bad_alloc&) {
      order.request->status = Error{Trouble::kMemory, {}};
      order.request->observer->on_done(*order.request);
    }
  }

  uint64_t advance() {
    const uint64_t now_ns = monotonic_ns();
    uint64_t next_ns = UINT64_MAX;
    // Endpoints of one server share its connections: each of them is the first one in its turn.
    if (!busy.empty()) std::rotate(busy.begin(), busy.begin() + 1, busy.end());
    for (const auto& endpoint : busy) next_ns = std::min(next_ns, endpoint->advance(now_ns, *this));
    std::erase_if(busy, [](const auto& endpoint) { return endpoint->is_idle(); });
    return next_ns;
  }

  bool collect() {
    bool has_ended = false;
    int left = 0;
    while (const CURLMsg* const message = curl_multi_info_read(multi.get(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;
      auto& attempt = static_cast<Attempt&>(Transfer::of(message->easy_handle).user());
      attempt.endpoint->on_ended(attempt, code, monotonic_ns(), *this);
      has_ended = true;
    }
    return has_ended;
  }

  void add(Transfer& transfer) override { curl_multi_add_handle(multi.get(), transfer.handle()); }
  void remove(Transfer& transfer) override { curl_multi_remove_handle(multi.get(), transfer.handle()); }

  Network& network;
  std::unique_ptr<CURLM, CloseMulti> multi;
  std::vector<std::shared_ptr<Endpoint>> busy;
  std::jthread thread;
};

Network::Network() : thread_(std::make_unique<Thread>(*this)) {}

Network::~Network() {
  {
    const std::scoped_lock lock(mutex_);
    is_closing_ = true;
  }
  curl_multi_wakeup(thread_->multi.get());
  thread_->thread.join();
}

void Network::stop() {
  {
    const std::scoped_lock lock(mutex_);
    is_stopped_ = true;
  }
  curl_multi_wakeup(thread_->multi.get());
}

void Network::order(Order order) {
  const MemoryCharge::Scope nobody(nullptr);  // the network thread frees it, and destructors cancel
  bool is_first = false;
  {
    const std::scoped_lock lock(mutex_);
    is_first = orders_.empty();
    orders_.push_back(std::move(order));
  }
  if (is_first) curl_multi_wakeup(thread_->multi.get());
}

void Network::submit(const std::shared_ptr<Endpoint>& endpoint, Read& read) {
  order({Order::Action::kRead, endpoint, &read});
}
void Network::submit(const std::shared_ptr<Endpoint>& endpoint, Stat& stat) {
  order({Order::Action::kStat, endpoint, &stat});
}
void Network::submit(const std::shared_ptr<Endpoint>& endpoint, List& list) {
  order({Order::Action::kList, endpoint, &list});
}
void Network::cancel(const std::shared_ptr<Endpoint>& endpoint, Request& request) {
  order({Order::Action::kCancel, endpoint, &request});
}

}  // namespace spdld::store::http
