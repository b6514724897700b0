// One store's requests on the network thread: which of them are asked now, which wait, which are tried again, and which
// are asked for a second time. Everything but statistics() and settings() is the network thread's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/base/random.h"
#include "daemon/base/statistics.h"
#include "daemon/base/turns.h"
#include "daemon/store/http/call.h"
#include "daemon/store/http/pace.h"
#include "daemon/store/http/transfer.h"

namespace spdld::store::http {

// The allowance in a second of endpoints under the same settings, such as the buckets of one store. Network thread.
struct Budget {
  explicit Budget(const Limits& limits) : requests(limits.requests_per_s_max), bytes(limits.bytes_per_s_max) {}
  Allowance requests, bytes;
};

// The attempts that are under way to one server, of all its endpoints: the buckets of a service, say. Network thread.
struct Server {
  size_t attempts = 0;
};

// Any thread reads them.
struct EndpointStatistics {
  Counter requests;  // calls that ended, well or not
  Counter failures;  // calls that ended with an error
  Counter attempts, retries, hedges, hedges_won;
  Counter bytes;  // of bodies
  Counter connections;
  Gauge under_way;
  Histogram duration_ns;  // of calls that ended well
  std::atomic<uint64_t> failing_since_ns{
      0};  // of the first of the attempts that failed without one between that did not
};

class Endpoint {
 public:
  // Adds an attempt's transfer to the network, and takes it out.
  class Wire {
   public:
    virtual void add(Transfer& transfer) = 0;
    virtual void remove(Transfer& transfer) = 0;

   protected:
    ~Wire() = default;
  };

  // `budget`, `server`: that it shares with others; null: one of its own.
  Endpoint(std::string name, Transfer::Settings settings, std::shared_ptr<Dialect> dialect,
           std::shared_ptr<Budget> budget = nullptr, std::shared_ptr<Server> server = nullptr);

  const std::string& name() const { return name_; }
  const Transfer::Settings& settings() const { return settings_; }
  const EndpointStatistics& statistics() const { return statistics_; }
  // Of the last attempt that failed; empty: none has. Any thread.
  std::string last_trouble() const;
  Dialect& dialect() { return *dialect_; }

  void submit(std::unique_ptr<Call> call);
  void cancel(Request& request, Wire& wire);
  // Begins what may begin now, and returns when to call it again (UINT64_MAX: nothing waits for the time alone).
  uint64_t advance(uint64_t now_ns, Wire& wire);
  void on_ended(Attempt& attempt, CURLcode code, uint64_t now_ns, Wire& wire);
  void stop(Wire& wire);  // ends all calls with kStopping
  bool is_idle() const { return calls_.empty(); }

 private:
  void queue(Call& call);
  void begin_hedges(uint64_t now_ns, Wire& wire);
  // Whether another attempt may be under way, and how long none may begin.
  bool has_room() const { return server_->attempts < settings_.limits.connections_max; }
  uint64_t wait_ns(uint64_t now_ns) const;
  Call* take_due(std::multimap<uint64_t, Request*>& due, uint64_t now_ns);
  // Ends the calls that nobody waits for any more.
  void drop_unwanted(uint64_t now_ns, Wire& wire);
  void begin(Call& call, uint64_t now_ns, Wire& wire, bool is_second = false);
  void count_bytes(const Attempt& attempt, uint64_t now_ns);
  void drop(Call& call, uint64_t now_ns, Wire& wire);
  void conclude(Call& call, Status status, uint64_t now_ns, Wire& wire);
  void on_failed(Call& call, Verdict verdict, uint64_t now_ns, Wire& wire);
  void fail_waiting(uint64_t now_ns, Wire& wire);
  void hold(const Verdict& verdict, uint64_t now_ns);
  bool note(const Attempt& attempt, const Verdict& verdict, uint64_t now_ns);
  void hedge_later(Call& call, uint64_t now_ns);
  uint64_t retry_wait_ns(const Call& call, const Verdict& verdict);
  std::unique_ptr<Transfer> take_transfer();

  const std::string name_;
  const Transfer::Settings settings_;
  const std::shared_ptr<Dialect> dialect_;
  EndpointStatistics statistics_;
  mutable std::mutex mutex_;
  std::string last_trouble_;  // under the mutex

  std::unordered_map<Request*, std::unique_ptr<Call>> calls_;
  std::unordered_map<const Attempt*, std::unique_ptr<Attempt>> attempts_;
  uint64_t looked_ns_ = 0;  // when unwanted calls were dropped last
  Turns<Call> waiting_;
  std::multimap<uint64_t, Request*> later_;  // calls that begin again at a time; some may have ended
  std::multimap<uint64_t, Request*> slow_;   // calls that are asked for a second time then, if they still run
  std::vector<Request*> hedges_due_;         // of slow_, for which there was no room yet; at most one for each attempt
  std::vector<std::unique_ptr<Transfer>> spare_;
  const std::shared_ptr<Budget> budget_;
  const std::shared_ptr<Server> server_;
  Setbacks setbacks_;
  uint64_t held_until_ns_ = 0;  // the server has asked not to be asked before
  Latencies latencies_;
  double hedges_allowed_ = 0;
  Draw chance_;
};

}  // namespace spdld::store::http
