#include "daemon/store/credentials/keeper.h"

#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include "daemon/base/system/cpu.h"

namespace spdld::store {
namespace {

bool is_expired(const Credentials& credentials, const Moment& now) {
  return credentials.expires_at_s != 0 && now.unix_s >= credentials.expires_at_s;
}

Error expired_error(const std::string& source) {
  return {Trouble::kTransient, "the credentials from the source \"" + source +
                                   "\" have expired already: see whether what renews them works, and whether this "
                                   "machine's clock is right."};
}

}  // namespace

CredentialsKeeper::CredentialsKeeper(std::unique_ptr<CredentialsSource> source, std::function<Moment()> clock)
    : source_(std::move(source)), clock_(std::move(clock)), thread_([this](const std::stop_token& stop) {
        name_thread("credentials", 0);
        run(stop);
      }) {}

std::shared_ptr<const Credentials> CredentialsKeeper::current() const {
  const Moment now = clock_();
  const std::scoped_lock lock(mutex_);
  return current_ != nullptr && !is_expired(*current_, now) ? current_ : nullptr;
}

Error CredentialsKeeper::error() const {
  const std::scoped_lock lock(mutex_);
  if (error_) return *error_;
  if (current_) return expired_error(std::string(source_->name()));
  return {Trouble::kTransient, "the credentials have not been fetched yet."};
}

void CredentialsKeeper::refresh_now(const std::shared_ptr<const Credentials>& refused) {
  const std::scoped_lock lock(mutex_);
  if (refused != current_) return;
  policy_.asked();
  is_woken_ = true;
  wake_.notify_one();
}

Status CredentialsKeeper::wait_for_first(std::stop_token stop) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [this] { return fetches_ > 0 || has_ended_; });
    if (fetches_ == 0) return Error{Trouble::kStopping, "the credentials were not waited for: the daemon stops."};
  }
  if (current()) return Done();
  return error();
}

uint64_t CredentialsKeeper::fetches() const {
  const std::scoped_lock lock(mutex_);
  return fetches_;
}

Result<Credentials> CredentialsKeeper::fetch(const std::stop_token& stop) {
  try {
    return source_->get(stop);
  } catch (const SetupError& error) {
    return error.error();
  } catch (const std::bad_alloc&) {
    return Error{Trouble::kMemory, "there is no memory to fetch credentials."};
  } catch (const std::exception& error) {
    return Error{Trouble::kInternal, std::string("the credentials can't be fetched: ") + error.what() + "."};
  }
}

void CredentialsKeeper::take(Result<Credentials> result) {
  const Moment now = clock_();
  if (result && is_expired(*result, now)) result = expired_error(std::string(source_->name()));
  const std::scoped_lock lock(mutex_);
  fetches_++;
  if (!result) {
    policy_.failed(now);
    error_ = std::move(result.error());  // old credentials stay until they expire
  } else {
    policy_.fetched(now, result->expires_at_s);
    error_.reset();
    // The same credentials stay the same object, so that a store's refusal of them is known again.
    if (current_ == nullptr || *current_ != *result) current_ = std::make_shared<const Credentials>(std::move(*result));
  }
  changed_.notify_all();
}

void CredentialsKeeper::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const auto wait = std::chrono::milliseconds(policy_.wait_ms(clock_()));
    if (wait.count() > 0) {
      wake_.wait_for(lock, stop, wait, [this] { return is_woken_; });
      is_woken_ = false;
      continue;
    }
    lock.unlock();
    auto result = fetch(stop);
    if (!stop.stop_requested()) take(std::move(result));
    lock.lock();
  }
  has_ended_ = true;
  changed_.notify_all();
}

}  // namespace spdld::store
