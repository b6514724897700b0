// The work of one pipeline's crew: processes of its user, which do the errands of its samples. Jobs wait here until a
// worker is free, each worker has a few in hand, and a thread takes the replies. What a worker does wrong costs its own
// pipeline: a lie, a death or a call that takes too long ends that worker; the sample that ran begins anew in
// another one, once, and is bad after that.
//
// The crew's process starts and ends workers when it is told so (`Orders`). A worker counts as gone when nobody holds
// its end of the bell, and until then the memory of its samples is nobody else's.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/pipeline/errand.h"
#include "daemon/pipeline/stage.h"
#include "daemon/user/scratch_file.h"
#include "daemon/user/worker.h"

namespace spdld::user {

class Crew {
 public:
  static constexpr size_t kDiedMax = 65'536;  // the most samples whose death is remembered
  static constexpr uint32_t kDeathsMax = 5;   // of workers in a row that have replied to nothing
  // How long a worker that was told to end may hold its bell. Behind that the crew fails for good.
  static constexpr uint64_t kEndingNsMax = 5'000'000'000;
  // How long the reason of a worker's end may take to come.
  static constexpr uint64_t kReasonNsMax = 500'000'000;

  struct Settings {
    std::string pipeline;  // its name, for the log
    uint64_t seed = 0;     // of the pipeline
    uint32_t workers = 1;
    uint64_t call_limit_ns = 0;  // of one call
    uint64_t scratch_bytes = 0;
    // In the order of CREW_JOINED: the makings, and then the errands. Borrowed.
    std::vector<const pipeline::Making*> makings = {};
    std::vector<const pipeline::Errand*> errands = {};
  };
  // Called on the crew's thread or on the caller's, without a lock; must not block.
  struct Orders {
    std::function<void(uint32_t worker, std::vector<UniqueFd> descriptors)> start;
    std::function<void(uint32_t worker)> end;
    std::function<void()> closed;  // behind close(): no worker is left
    std::function<void(const Error&)> failed;
  };

  // Throws SetupError.
  Crew(Settings settings, Orders orders);
  // Precondition: no job is here.
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  const Settings& settings() const { return settings_; }
  ScratchFile& scratch() { return scratch_; }

  void add(const Job& job);  // any thread; its customer hears of its end after this call
  // Jobs that wait for a worker and are of no use any more end now.
  void drop_unwanted();
  size_t waiting() const;  // jobs that wait for a worker
  uint32_t workers() const { return working_; }

  // Control thread.
  // The crew's process is there and ready: its workers are to be started. Precondition: closed.
  void open();
  // The crew's process goes, or has gone. Jobs in hand end as soon as their worker is gone; others wait.
  void close();
  // All jobs from now on fail with it, until forget().
  void fail(const Error& error);
  void forget_failure();
  bool is_closed() const;
  bool has_failed() const;
  // `how`: the end of a sentence.
  void note_end(uint32_t worker, std::string how);

 private:
  struct Ended {
    Job job;
    Status status = Done{};
    ScratchPiece record = {};  // of a making
  };
  struct Gone {
    std::unique_ptr<Worker> worker;
    uint64_t since_ns = 0;
  };
  // A call that was replied to.
  struct Answer {
    Call call;
    proto::crew::Reply reply;
    std::string text;
    Status status = Done{};
    ScratchPiece record = {};
  };
  // A sample in one pass at one errand.
  using Place = std::tuple<uint64_t, uint64_t, const pipeline::Errand*>;

  void work(const std::stop_token& stop);
  void wait();
  void wake() const;
  void on_given_back();
  void hear(uint32_t number);
  void take_replies(Worker& worker);
  void take_reply(Worker& worker, const proto::crew::Reply& reply, std::string text, uint64_t now_ns);
  void read_answer(Answer& answer);
  void settle(Answer answer);
  void queue(const Job& job, bool is_first);
  void end_unwanted(const Job& job);
  void give_room(Worker& worker, const Call& call, const proto::crew::Reply& reply);
  Status take_result(const Call& call, const proto::crew::Reply& reply) const;
  Status take_record(Call& call, const proto::crew::Reply& reply, ScratchPiece& record);
  bool is_fixed(const Job& job) const;
  void look_after_time(uint64_t now_ns);
  void bury(Gone gone);
  void end_worker(Worker& worker, std::string why);
  void start_worker();
  void condemn(uint64_t now_ns);
  void note_closed();
  void release();
  void bury_due(uint64_t now_ns);
  void start_missing();
  void hand_out();
  Worker* least_busy();
  bool send(Worker& worker, const Job& job);
  Status lay_out(const Job& job, Call& call, proto::crew::Task& task);
  uint8_t* take_for_record(uint64_t bytes);
  size_t depth() const;
  void fail_locked(const Error& error);
  void deliver();
  uint32_t number_of(const pipeline::Errand& errand) const;

  const Settings settings_;
  const Orders orders_;
  const std::vector<uint64_t> record_bytes_;  // by making: of each of its records; 0: they differ
  ScratchFile scratch_;
  UniqueFd poll_, wake_;
  mutable std::mutex mutex_;
  // Under the lock.
  bool is_open_ = false;
  bool is_condemned_ = false;    // a worker could not be ended
  bool release_is_due_ = false;  // of the scratch memory's pages
  bool sleeps_long_ = false;     // the thread looks at no time: nobody has anything in hand
  std::optional<Error> failure_;
  std::deque<Job> jobs_;
  std::map<uint32_t, std::unique_ptr<Worker>> workers_;
  std::map<uint32_t, Gone> gone_;  // whose reason is still to come
  std::map<uint32_t, uint64_t> ending_since_ns_;
  std::map<uint32_t, std::string> reasons_;  // of workers whose bell still sounds
  std::map<Place, uint32_t> deaths_at_;      // of samples that were tried already
  std::vector<uint64_t> piece_bytes_;        // by number of an errand: room for results of unknown size
  std::vector<Ended> ended_;                 // to be told once the lock is free
  std::vector<std::function<void()>> told_;  // the same, of orders
  uint32_t last_number_ = 0, idle_deaths_ = 0;
  uint64_t call_ns_ = 1'000'000;  // about how long a call takes
  std::atomic<uint32_t> working_{0};
  std::atomic<bool> wants_room_{false};  // a making waits for scratch memory to be given back
  std::vector<Answer> answers_;          // the thread's own: results that are to be read without the lock
  std::jthread thread_;                  // last: it uses the rest
};

// Of each record of the making; 0: they differ.
uint64_t record_bytes(const pipeline::Making& making);

inline constexpr const char* kLiar = "broke the protocol, and was ended";  // why a worker was ended

// The functions that it calls: "augment:blur, augment:grey".
std::string name_of(const pipeline::Errand& errand);

}  // namespace spdld::user
