// How a store is asked: how often at once, how long, and how often again. Values.
#pragma once

#include <cstdint>

namespace spdld::store::http {

struct Limits {
  uint32_t connections_max = 64;    // requests at once
  uint32_t requests_per_s_max = 0;  // 0: as many as there are
  uint64_t bytes_per_s_max = 0;     // of bodies; 0: as many as come
  uint32_t connect_ms_max = 5'000;
  uint32_t attempt_ms_max = 60'000;  // of one attempt, from its start to the last byte
  uint32_t total_ms_max = 60'000;    // of all attempts of a request: none begins after that
  // A body that comes more slowly than this for so long is a fault.
  uint64_t floor_bytes_per_s = 1'024;
  uint32_t floor_ms = 10'000;
  uint32_t attempts_max = 6;
  // Before the second attempt a request waits for a random time from 0 to `backoff_ms`; the bound doubles with each
  // attempt, up to `backoff_ms_max`.
  uint32_t backoff_ms = 50, backoff_ms_max = 5'000;
  // A read that takes longer than all but this share of the reads before is asked for a second time, and the answer
  // that ends first counts. In percent; 0: never.
  double hedge_percent = 0;
};

// Further addresses that may be connected to, beside the store itself.
struct Reach {
  bool follows_redirects = false;
  bool link_local = false;  // 169.254.0.0/16, fe80::/10 and the like, where clouds serve credentials
};

}  // namespace spdld::store::http
