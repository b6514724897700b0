#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "daemon/base/system/cpu.h"
#include "daemon/base/turns.h"
#include "daemon/source/fetching/fetcher.h"
#include "daemon/source/fetching/field_reader.h"

namespace spdld::source {
namespace {

// The reader of a thread that is not the fetcher's.
FieldReader& reader_of_thread(uint64_t bytes_max) {
  thread_local uint64_t made_for = 0;
  thread_local std::unique_ptr<FieldReader> reader;
  if (!reader || made_for != bytes_max) {
    reader = std::make_unique<FieldReader>(bytes_max);
    made_for = bytes_max;
  }
  return *reader;
}

}  // namespace

struct LocalFetcher::Inside {
  Inside(Fetcher& owner, unsigned concurrency, uint64_t limit)
      : fetcher(owner), bytes_max(limit), allowed(concurrency) {}

  void work(unsigned number) {
    FieldReader reader(bytes_max);
    while (FetchRequest* request = take(number)) {
      const auto start = std::chrono::steady_clock::now();
      request->waited_ns = monotonic_ns() - request->asked_ns;
      if (!reader.read(*request, fetcher)) continue;
      record(*request, start);
      request->observer->on_fetched(*request);  // it may be gone or in use again after this
    }
  }

  // The next request for the thread of this number; none at the end.
  FetchRequest* take(unsigned number) {
    std::unique_lock lock(mutex);
    while (number >= allowed || queue.empty()) {
      if (closing) return nullptr;  // the allowed threads finish the outstanding requests
      (number < allowed ? wanted : resting).wait(lock);
    }
    return queue.pop();
  }

  void record(FetchRequest& request, std::chrono::steady_clock::time_point start) {
    const auto duration = std::chrono::steady_clock::now() - start;
    request.duration_ns = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count());
    // Bytes of remote stores are counted there.
    if (request.route.is_unpacking()) return;
    statistics.duration_ns.record(request.duration_ns);
    if (!request.ok) return statistics.failures.add();
    uint64_t bytes = 0;
    for (size_t i = 0; i < request.fields.size(); ++i) bytes += request.bytes[i].size();
    statistics.samples.add();
    statistics.bytes.add(bytes);
  }

  Fetcher& fetcher;
  const uint64_t bytes_max;
  FetchStatistics statistics;
  std::mutex mutex;
  std::condition_variable wanted;   // a request came, for the threads that may take it
  std::condition_variable resting;  // the others
  Turns<FetchRequest> queue;        // under mutex, as the following
  unsigned allowed;                 // threads of lower numbers take requests
  bool closing = false;
  std::vector<std::jthread> threads;
};

LocalFetcher::LocalFetcher(unsigned concurrency, uint64_t bytes_max)
    : inside_(std::make_unique<Inside>(*this, std::max(1u, concurrency), bytes_max)) {
  for (unsigned i = 0; i < std::max(1u, concurrency); ++i) {
    inside_->threads.emplace_back([inside = inside_.get(), i] {
      name_thread("fetch", i);
      inside->work(i);
    });
  }
}

LocalFetcher::~LocalFetcher() {
  {
    const std::scoped_lock lock(inside_->mutex);
    inside_->closing = true;
    inside_->wanted.notify_all();
    inside_->resting.notify_all();
  }
  inside_->threads.clear();  // joins
}

void LocalFetcher::fetch(FetchRequest& request) {
  request.asked_ns = monotonic_ns();
  const std::scoped_lock lock(inside_->mutex);
  inside_->queue.push(request);
  inside_->wanted.notify_one();  // under the lock: the request may be the last one, and its end the fetcher's
}

bool LocalFetcher::fetch_at_hand(FetchRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  if (!reader_of_thread(inside_->bytes_max).read_at_hand(request)) return false;
  inside_->record(request, start);
  return true;
}

void LocalFetcher::set_concurrency(unsigned concurrency) {
  const std::scoped_lock lock(inside_->mutex);
  inside_->allowed = std::clamp(concurrency, 1u, static_cast<unsigned>(inside_->threads.size()));
  inside_->wanted.notify_all();  // each looks at its number again
  inside_->resting.notify_all();
}

unsigned LocalFetcher::concurrency() const {
  const std::scoped_lock lock(inside_->mutex);
  return inside_->allowed;
}

const FetchStatistics& LocalFetcher::statistics() const { return inside_->statistics; }

}  // namespace spdld::source
