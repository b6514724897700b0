// Runs the parts of a listing (class folders, archives) on a few threads while the caller's thread tells progress.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <stop_token>

#include "daemon/source/listing.h"

namespace spdld::source {

// Throws SetupError (kStopping) once `stop` is asked for.
void check_stop(const std::stop_token& stop);

// Calls see(id) for each sample of the listing in turn, and check_stop now and then.
template <typename See>
void for_each_id(const Listing& listing, const std::stop_token& stop, const See& see) {
  constexpr uint64_t kBetweenChecks = 4096;
  for (uint64_t id = 0; id < listing.size(); ++id) {
    if (id % kBetweenChecks == 0) check_stop(stop);
    see(id);
  }
}

// Calls part(0) .. part(count - 1), each once, on up to eight threads; returns when all are done. Each must call
// check_stop now and then. The exception of the lowest part that threw is thrown here, after the other threads have
// left their parts. `progress` (may be empty) is told `amount`, on this thread, also at the end.
struct Amount {
  std::string_view what;              // as in Progress
  const std::atomic<uint64_t>& done;  // the parts add to it
  uint64_t total = 0;
};
void run_parts(uint64_t count, const std::function<void(uint64_t)>& part, const Amount& amount,
               const Progress& progress, const std::stop_token& stop);

}  // namespace spdld::source
