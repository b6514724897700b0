// Waiting for what another thread or process does by itself.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace spdld::test {

// Whether `holds` is true within 20 s. It is asked again and again.
inline bool soon(const std::function<bool()>& holds) {
  const auto start = std::chrono::steady_clock::now();
  while (!holds()) {
    if (std::chrono::steady_clock::now() - start > std::chrono::seconds(20)) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // each look may keep a daemon busy
  }
  return true;
}

}  // namespace spdld::test
