// A remote store in memory, with a thread that answers. A test may hold its answers back, and give errors in their
// place.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "config/text/remote_uri.h"
#include "daemon/base/random.h"
#include "daemon/store/stores.h"

namespace spdld::test {

class MemoryStore final : public store::Store {
 public:
  struct Asked {
    std::string kind, object;  // "read", "stat", "list"
    uint64_t offset = 0, bytes = 0;
    std::string after;
  };

  explicit MemoryStore(std::string bucket = "bucket", std::string scheme = "s3")
      : scheme_(std::move(scheme)), bucket_(std::move(bucket)), thread_([this] { run(); }) {}
  ~MemoryStore() override {
    {
      const std::scoped_lock lock(mutex_);
      is_ending_ = true;
      is_held_ = false;
    }
    changed_.notify_all();
    thread_.join();
  }
  MemoryStore(const MemoryStore&) = delete;
  MemoryStore& operator=(const MemoryStore&) = delete;

  void put(const std::string& name, std::string content) {
    const store::Identity identity{content.size(), static_cast<int64_t>(draw_key(content) | 1)};
    auto kept = std::make_shared<const std::string>(std::move(content));
    const std::scoped_lock lock(mutex_);
    objects_[name] = {std::move(kept), identity};
  }
  void erase(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    objects_.erase(name);
  }
  store::Identity identity(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    return objects_.at(name).identity;
  }
  void hold(bool is_held) {
    const std::scoped_lock lock(mutex_);
    is_held_ = is_held;
    changed_.notify_all();
  }
  // The next requests fail, so many of them.
  void fail(unsigned count, Error error) {
    const std::scoped_lock lock(mutex_);
    failures_ = count;
    error_ = std::move(error);
  }
  // Reads at hand are lent this, whatever they ask for; null: nothing is at hand. One thread.
  void lend(std::shared_ptr<const std::string> content) { lent_ = std::move(content); }
  std::vector<Asked> asked() {
    const std::scoped_lock lock(mutex_);
    return asked_;
  }
  size_t count(const std::string& kind) {
    const auto all = asked();
    return static_cast<size_t>(
        std::count_if(all.begin(), all.end(), [&](const Asked& one) { return one.kind == kind; }));
  }
  size_t waiting() {
    const std::scoped_lock lock(mutex_);
    return queue_.size();
  }
  void set_page(size_t names) { page_ = names; }

  void read(store::Read& read) override {
    push(read, {"read", read.object, read.offset, read.bytes, {}}, &MemoryStore::serve_read);
  }
  bool read_at_hand(store::Read& read) override {
    return lent_ && read.room->borrow(read, {reinterpret_cast<const uint8_t*>(lent_->data()), lent_->size()}, lent_);
  }
  void stat(store::Stat& stat) override { push(stat, {"stat", stat.object, 0, 0, {}}, &MemoryStore::serve_stat); }
  void list(store::List& list) override {
    push(list, {"list", list.prefix, 0, 0, list.after}, &MemoryStore::serve_list);
  }
  void cancel(store::Request& request) override {
    {
      const std::scoped_lock lock(mutex_);
      const auto at =
          std::find_if(queue_.begin(), queue_.end(), [&](const Job& job) { return job.request == &request; });
      if (at == queue_.end()) return;
      const Job job{&request, nullptr};
      queue_.erase(at);
      cancelled_.push_back(job);
    }
    changed_.notify_all();
  }
  std::string uri_of(std::string_view object) const override {
    return scheme_ + "://" + bucket_ + "/" + std::string(object);
  }
  unsigned concurrency() const override { return 8; }

 private:
  using Serve = void (MemoryStore::*)(store::Request&);
  struct Job {
    store::Request* request;
    Serve serve;
  };

  struct Object {
    std::shared_ptr<const std::string> content;
    store::Identity identity;
  };

  void push(store::Request& request, Asked asked, Serve serve) {
    {
      const std::scoped_lock lock(mutex_);
      asked_.push_back(std::move(asked));
      queue_.push_back({&request, serve});
    }
    changed_.notify_all();
  }
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return is_ending_ || !cancelled_.empty() || (!is_held_ && !queue_.empty()); });
      const bool is_cancelled = !cancelled_.empty();
      if (!is_cancelled && queue_.empty()) return;
      auto& jobs = is_cancelled ? cancelled_ : queue_;
      const Job job = jobs.front();
      jobs.pop_front();
      const bool fails = !is_cancelled && failures_ > 0;
      if (fails) --failures_;
      const Error error = is_cancelled ? Error{Trouble::kStopping, "it was stopped."} : error_;
      lock.unlock();
      if (is_cancelled || fails) {
        job.request->status = error;
      } else {
        job.request->attempts = 1;
        job.request->status = Done{};
        (this->*job.serve)(*job.request);
      }
      job.request->observer->on_done(*job.request);
      lock.lock();
    }
  }
  bool find(store::Request& request, const std::string& name, Object& object) {
    const std::scoped_lock lock(mutex_);
    const auto at = objects_.find(name);
    if (at == objects_.end()) request.status = Error{Trouble::kContent, uri_of(name) + " does not exist (404)."};
    if (at != objects_.end()) object = at->second;
    return at != objects_.end();
  }
  void serve_stat(store::Request& request) {
    auto& stat = static_cast<store::Stat&>(request);
    Object object;
    if (find(request, stat.object, object))
      stat.identity = object.identity;
    else
      request.status.error().trouble = Trouble::kNotFound;
  }
  void serve_read(store::Request& request) {
    auto& read = static_cast<store::Read&>(request);
    Object object;
    if (!find(request, read.object, object)) return;
    const std::string& content = *object.content;
    const store::Identity identity = object.identity;
    const auto refuse = [&](Trouble trouble, const char* why) {
      read.status = Error{trouble, uri_of(read.object) + why};
    };
    if ((read.identity.size != 0 && read.identity.size != identity.size) ||
        (read.identity.changed != 0 && read.identity.changed != identity.changed))
      return refuse(Trouble::kContent, " is another one than when it was listed: was it replaced?");
    if (read.bytes == 0) return refuse(Trouble::kInternal, ": nothing is asked for.");
    const uint64_t end = read.bytes == store::Read::kToEnd ? content.size() : read.offset + read.bytes;
    if (read.offset > content.size() || end > content.size()) return refuse(Trouble::kContent, " is shorter.");
    if (read.bytes == store::Read::kToEnd && end - read.offset > read.bytes_max)
      return refuse(Trouble::kContent, " is too long.");
    if (read.room != nullptr) {
      uint8_t* const to = read.room->room_for(read, end - read.offset);
      if (to == nullptr && end > read.offset) return refuse(Trouble::kMemory, ": there is no memory for its bytes.");
      read.pieces = {{read.offset, end - read.offset, to}};
    }
    for (const auto& piece : read.pieces)
      if (piece.bytes > 0) std::memcpy(piece.to, content.data() + piece.offset, piece.bytes);
    read.identity = identity;
    read.duration_ns = 7;
  }
  void serve_list(store::Request& request) {
    auto& list = static_cast<store::List&>(request);
    const std::scoped_lock lock(mutex_);
    list.entries.clear();
    list.folders.clear();
    const std::string after = std::max(list.after, list.cursor);
    list.cursor.clear();
    std::string last;
    for (const auto& [name, object] : objects_) {
      if (!name.starts_with(list.prefix) || name <= after) continue;
      const size_t slash = list.folds ? name.find('/', list.prefix.size()) : std::string::npos;
      const std::string folder = slash == std::string::npos ? "" : name.substr(0, slash + 1);
      if (!folder.empty() && after.starts_with(folder)) continue;
      const bool is_known = !folder.empty() && !list.folders.empty() && list.folders.back() == folder;
      if (!is_known && list.entries.size() + list.folders.size() == page_) {
        list.cursor = last;
        return;
      }
      last = name;
      if (folder.empty())
        list.entries.push_back({name, object.identity});
      else if (!is_known)
        list.folders.push_back(folder);
    }
  }

  std::shared_ptr<const std::string> lent_;
  const std::string scheme_, bucket_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Object> objects_;  // under the mutex, as the following
  std::deque<Job> queue_, cancelled_;
  std::vector<Asked> asked_;
  unsigned failures_ = 0;
  Error error_;
  bool is_held_ = false, is_ending_ = false;
  size_t page_ = 1000;
  std::thread thread_;
};

// All uris lie in one store, whatever their bucket.
struct OneStore final : store::Stores {
  explicit OneStore(std::shared_ptr<store::Store> of) : store(std::move(of)) {}
  Found find(const std::string& uri) const override {
    return {store, std::string(config::split_remote_uri(uri).object)};
  }
  std::shared_ptr<store::Store> store;
};

}  // namespace spdld::test
