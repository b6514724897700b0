// The set-up thread: looks for the driver, opens and closes GPUs, makes and frees memory on them.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "daemon/memory/cuda/gpu.h"
#include "daemon/memory/cuda/gpus.h"

namespace spdld::memory {

class Gpus::Setup {
 public:
  explicit Setup(const Settings& settings);
  ~Setup();
  Setup(const Setup&) = delete;
  Setup& operator=(const Setup&) = delete;

  // Any thread.
  void make_slots(const DeviceRing& ring, Done done);
  void stop();
  GpusReport report();

 private:
  struct Job {
    DeviceRing ring;
    Done done;
  };
  // A GPU that the driver shows.
  struct Card {
    cuda::Device device;
    std::shared_ptr<Gpu> gpu;  // none: closed, or being closed
    bool is_open = false;      // until it is closed completely
    std::string reason;        // of the last failure
    bool has_failed = false;   // it failed, and was not opened since
    uint64_t resets = 0;
    Inbox::Clock::time_point empty_since = {};  // without slots
  };

  // Set-up thread.
  void run();
  void look();
  std::optional<Job> next_job();
  Result<SlotMemories> make(const DeviceRing& ring);
  SlotMemories make_on(Card& card, const DeviceRing& ring);
  SlotMemories make_slots_of(MemoryKind kind, const DeviceRing& ring, Card& card, const std::shared_ptr<Gpu>& gpu);
  Card& card_of(const GpuUuid& uuid);
  std::shared_ptr<Gpu> open(Card& card);
  [[noreturn]] void give_up(const Card& card, const std::string& why);
  void refuse_too_much(const Card& card, const DeviceRing& ring, uint64_t bytes) const;
  std::optional<Inbox::Clock::time_point> tend();
  void close(Card& card, const Error& reason);
  void wind_down();

  const Settings settings_;
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  std::atomic<bool> is_stopping_{false}, is_measure_wanted_{false};

  std::mutex mutex_;
  std::deque<Job> jobs_;  // guarded by mutex_, as are the following; cards change on the set-up thread alone
  bool is_closed_ = false;
  std::string driver_, no_driver_;
  bool is_hopeless_ = false;  // used by the set-up thread
  std::deque<Card> cards_;

  std::once_flag stopped_;
  std::thread thread_;
};

}  // namespace spdld::memory
