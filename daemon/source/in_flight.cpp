#include "daemon/source/in_flight.h"

namespace spdld::source {

bool BytesInFlight::take(uint64_t bytes) {
  uint64_t now = bytes_.load();
  do {
    const uint64_t max = bytes_max();
    if (now != 0 && (now > max || bytes > max - now)) return false;
  } while (!bytes_.compare_exchange_weak(now, now + bytes));
  return true;
}

bool BytesInFlight::hold(FetchRequest& request, uint64_t bytes) {
  if (bytes <= request.in_flight_bytes) return true;
  // A large sample that waits would wait for ever behind small ones that pass it by.
  if (parked_count_.load() > 0 || !take(bytes - request.in_flight_bytes)) return false;
  request.in_flight_bytes = bytes;
  return true;
}

void BytesInFlight::park(FetchRequest& request, uint64_t bytes, Fetcher& fetcher) {
  waits_.fetch_add(1, std::memory_order_relaxed);
  bytes_.fetch_sub(std::exchange(request.in_flight_bytes, 0));
  {
    const std::scoped_lock lock(mutex_);
    parked_.push_back({&request, bytes, &fetcher});
    parked_count_.store(parked_.size());
  }
  serve();  // the last one may have given its bytes back before this one was seen to wait
}

void BytesInFlight::give_back(FetchRequest& request) {
  if (request.in_flight_bytes == 0) return;
  bytes_.fetch_sub(std::exchange(request.in_flight_bytes, 0));
  if (parked_count_.load() > 0) serve();
}

void BytesInFlight::set_bytes_max(uint64_t bytes_max) {
  bytes_max_.store(bytes_max);
  serve();
}

void BytesInFlight::serve() {
  const std::scoped_lock lock(mutex_);
  while (!parked_.empty() && take(parked_.front().bytes)) {
    const Parked next = parked_.front();
    parked_.pop_front();
    parked_count_.store(parked_.size());
    next.request->in_flight_bytes = next.bytes;
    next.fetcher->fetch(*next.request);  // never blocks
  }
}

}  // namespace spdld::source
