// Fetches one request and waits for it, without Catch2: for programs that tests run.
#pragma once

#include <condition_variable>
#include <mutex>

#include "daemon/source/fetching/fetcher.h"

namespace spdld::test {

inline void fetch_once(source::Fetcher& fetcher, source::FetchRequest& request) {
  class Awaited final : public source::FetchObserver {
   public:
    void on_fetched(source::FetchRequest&) override {
      const std::scoped_lock lock(mutex_);
      is_done_ = true;
      done_.notify_all();
    }
    void wait() {
      std::unique_lock lock(mutex_);
      done_.wait(lock, [&] { return is_done_; });
    }

   private:
    std::mutex mutex_;
    std::condition_variable done_;
    bool is_done_ = false;
  };
  Awaited awaited;
  request.observer = &awaited;
  fetcher.fetch(request);
  awaited.wait();
}

}  // namespace spdld::test
