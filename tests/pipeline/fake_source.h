// A data set that exists only in memory, and a fetcher that does as it is told. Sample i's field "text" is the number
// 10 * i.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "daemon/source/fetching/fetcher.h"
#include "daemon/source/listing.h"

namespace spdld::test {

class FakeListing : public source::Listing {
 public:
  explicit FakeListing(uint64_t size, std::vector<uint64_t> archive_starts = {})
      : size_(size), archive_starts_(std::move(archive_starts)) {}
  std::span<const uint64_t> archive_starts() const override { return archive_starts_; }
  uint64_t size() const override { return size_; }
  std::span<const source::Field> fields() const override { return fields_; }
  store::Locator locate(uint64_t, source::FieldId) const override { return {"x", 0, -1, {}}; }
  int64_t integer(uint64_t sample, source::FieldId) const override {
    if (sample == short_at_ && shortages_.fetch_sub(1) > 0) throw std::bad_alloc();
    return static_cast<int64_t>(sample) % 7;
  }
  // The next `times` times that sample's class is asked for, there is no memory. Any thread.
  void run_short(uint64_t sample, int times) const { shortages_ = times, short_at_ = sample; }
  std::string name(uint64_t sample) const override { return "sample-" + std::to_string(sample); }
  const std::string& fingerprint() const override { return fingerprint_; }
  uint64_t memory_bytes() const override { return 0; }
  std::span<const std::string> classes() const override { return {}; }
  bool unchanged() const override { return true; }
  const Streaming* streaming() const override { return streams ? &*streams : nullptr; }

  bool is_at_hand() const override { return at_hand; }

  // Samples have this field, too, which is fetched.
  void add_field(const std::string& name) { fields_.push_back({name, source::FieldKind::kFetched}); }

  std::optional<Streaming> streams;  // how it says that its archives are read
  bool at_hand = false;

 private:
  uint64_t size_;
  std::vector<uint64_t> archive_starts_;
  mutable std::atomic<uint64_t> short_at_{UINT64_MAX};
  mutable std::atomic<int> shortages_{0};
  std::vector<source::Field> fields_ = {{"text", source::FieldKind::kFetched},
                                        {"class", source::FieldKind::kInteger},
                                        {"path", source::FieldKind::kText}};
  std::string fingerprint_ = "00000000000000000000000000000000";
};

class FakeFetcher final : public source::Fetcher {
 public:
  explicit FakeFetcher(unsigned threads) {
    for (unsigned i = 0; i < threads; i++) threads_.emplace_back([this] { serve(); });
  }
  ~FakeFetcher() override {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  void fetch(source::FetchRequest& request) override {
    {
      std::lock_guard lock(mutex_);
      if (witness_) witness_(request);
      waiting_.push_back(&request);
      outstanding_peak_ = std::max(outstanding_peak_, ++outstanding_);
    }
    wake_.notify_one();
  }

  // Samples that are held back until let go, that are bad, and that fail for a while.
  void hold(uint64_t sample) {
    change([&] { held_.insert(sample); });
  }
  void let_go(uint64_t sample) {
    change([&] { held_.erase(sample); });
  }
  void make_bad(uint64_t sample) {
    change([&] { bad_.insert(sample); });
  }
  void make_unsupported(uint64_t sample) {
    change([&] { unsupported_.insert(sample); });
  }
  // Samples that are read at once, on the thread that asks, unless their number divides by `every`; 0: all of these.
  void set_at_hand(uint64_t every) { at_hand_unless_ = every; }
  bool fetch_at_hand(source::FetchRequest& request) override {
    const uint64_t every = at_hand_unless_;
    if (every == UINT64_MAX || (every && request.sample % every == 0)) return false;
    std::lock_guard lock(mutex_);
    asked_[request.sample]++;
    answer(request);
    return request.ok;
  }
  // Every sample's text, in the place of its number.
  void set_content(std::vector<uint8_t> content) {
    change([&] { content_ = std::move(content); });
  }
  void set_down(bool down) {
    change([&] { down_ = down; });
  }
  // What each request holds in its budget, where it has one.
  void set_bytes_of_each(uint64_t bytes) {
    change([&] { bytes_of_each_ = bytes; });
  }
  // Sees each request that is asked for, under a lock.
  void set_witness(std::function<void(const source::FetchRequest&)> witness) {
    change([&] { witness_ = std::move(witness); });
  }
  size_t outstanding_peak() const { return outstanding_peak_; }
  size_t asked(uint64_t sample) {
    std::lock_guard lock(mutex_);
    return asked_[sample];
  }

 private:
  void change(const std::function<void()>& how) {
    {
      std::lock_guard lock(mutex_);
      how();
    }
    wake_.notify_all();
  }

  source::FetchRequest* next() {
    for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
      if (held_.contains((*at)->sample)) continue;
      source::FetchRequest* found = *at;
      waiting_.erase(at);
      return found;
    }
    return nullptr;
  }

  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      source::FetchRequest* request = next();
      if (!request) {
        if (stopping_) return;
        wake_.wait(lock);
        continue;
      }
      outstanding_--;
      if (request->budget && !request->budget->hold(*request, bytes_of_each_)) {
        const uint64_t bytes = bytes_of_each_;
        lock.unlock();
        request->route.waits_for_room = this;
        request->budget->wait(*request, bytes);
        lock.lock();
        continue;
      }
      asked_[request->sample]++;
      answer(*request);
      lock.unlock();
      request->observer->on_fetched(*request);
      lock.lock();
    }
  }

  void answer(source::FetchRequest& request) {
    request.bytes.resize(request.fields.size());
    request.ok = !down_;
    if (down_) {
      request.error = {Trouble::kTransient, "the store is down"};
      return;
    }
    if (unsupported_.contains(request.sample)) {
      request.ok = false;
      request.error = {Trouble::kUnsupported, "a picture of another format"};
      return;
    }
    if (!content_.empty()) {
      for (auto& bytes : request.bytes) std::copy(content_.begin(), content_.end(), bytes.resize(content_.size()));
      return;
    }
    const std::string text = bad_.contains(request.sample) ? "rubbish" : std::to_string(10 * request.sample);
    for (auto& bytes : request.bytes) std::copy(text.begin(), text.end(), bytes.resize(text.size()));
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<source::FetchRequest*> waiting_;
  std::set<uint64_t> held_, bad_, unsupported_;
  std::map<uint64_t, size_t> asked_;
  std::atomic<uint64_t> at_hand_unless_{UINT64_MAX};
  size_t outstanding_ = 0, outstanding_peak_ = 0;
  uint64_t bytes_of_each_ = 0;
  std::vector<uint8_t> content_;
  bool down_ = false, stopping_ = false;
  std::function<void(const source::FetchRequest&)> witness_;
  std::vector<std::thread> threads_;
};

}  // namespace spdld::test
