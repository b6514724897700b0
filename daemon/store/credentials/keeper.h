// Keeps credentials at hand that are valid: a thread of its own fetches them, and again before they expire.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "daemon/base/result.h"
#include "daemon/store/credentials/credentials.h"
#include "daemon/store/credentials/refresh_policy.h"

namespace spdld::store {

// All functions may be called on any thread. RefreshPolicy says when the source is asked.
class CredentialsKeeper {
 public:
  // Begins to fetch at once. Throws std::system_error where no thread can begin. `clock` is for tests, and is called on
  // any thread.
  explicit CredentialsKeeper(std::unique_ptr<CredentialsSource> source, std::function<Moment()> clock = moment_now);
  // Stops a fetch that is under way, and waits for the source to end it: about a second for one that asks a service.
  ~CredentialsKeeper() = default;
  CredentialsKeeper(const CredentialsKeeper&) = delete;
  CredentialsKeeper& operator=(const CredentialsKeeper&) = delete;

  // The credentials to sign with; nullptr while there are none that have not expired. Never blocks for I/O. The
  // credentials stay as they are for as long as the caller holds them.
  std::shared_ptr<const Credentials> current() const;
  // Why current() gives none, or why the last fetch failed.
  Error error() const;
  // A store says that these credentials, which current() gave, have expired or are not known: others are fetched soon.
  // Nothing happens where current() has others already. Asked again and again, it fetches every ten seconds at most.
  void refresh_now(const std::shared_ptr<const Credentials>& refused);
  // Waits until the source was asked once. Done where there are credentials then; else the source's error, or kStopping
  // after a request to stop.
  Status wait_for_first(std::stop_token stop);
  // How often the source was asked.
  uint64_t fetches() const;

 private:
  void run(const std::stop_token& stop);
  Result<Credentials> fetch(const std::stop_token& stop);
  void take(Result<Credentials> result);

  const std::unique_ptr<CredentialsSource> source_;  // the thread's alone
  const std::function<Moment()> clock_;
  mutable std::mutex mutex_;  // never held while the source is asked
  std::condition_variable_any wake_, changed_;
  // Under mutex_:
  RefreshPolicy policy_;
  std::shared_ptr<const Credentials> current_;
  std::optional<Error> error_;  // of the last fetch
  uint64_t fetches_ = 0;
  bool is_woken_ = false, has_ended_ = false;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace spdld::store
