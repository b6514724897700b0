// The work of one pipeline's crew: processes of its user, which do the errands of its samples. Jobs wait here until a
// worker is free, each worker has a few in hand, and a thread takes the replies. What a worker does wrong costs its own
// pipeline: a lie, a death or a call that takes too long ends that worker; the samples that ran begin anew in
// another one, once, each of them alone, and are bad after that.
//
// Where an errand's function takes several samples a call, a worker makes a bunch of the samples that it has in hand.
// So samples are handed out when there is a bunch of them, or when the first one has waited for kGatherNs. A worker is
// given one bunch and, where calls are short, another one behind it.
//
// The crew's process starts and ends workers when it is told so (`Orders`). A worker counts as gone when nobody holds
// its end of the bell, and until then the memory of its samples is nobody else's. A sample's place in its slot is part
// of that memory where the worker writes the result there itself: the sample is under way until then, and so no batch
// is published or given back that has such a place.
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
#include "daemon/user/lent_slots.h"
#include "daemon/user/scratch_file.h"
#include "daemon/user/waiting.h"
#include "daemon/user/worker.h"

namespace spdld::user {

// Of an operation of an errand: in how many calls it began, and the time in them.
struct OperationTime {
  uint64_t samples = 0, ns = 0;
};

class Crew {
 public:
  static constexpr size_t kDiedMax = 65'536;  // the most samples whose death is remembered
  static constexpr uint32_t kDeathsMax = 5;   // of workers in a row that have replied to nothing
  // How long a worker that was told to end may hold its bell. Behind that the crew fails for good.
  static constexpr uint64_t kEndingNsMax = 5'000'000'000;
  // How long the reason of a worker's end may take to come.
  static constexpr uint64_t kReasonNsMax = 500'000'000;
  // How much later than its limit a call ends that is one of several under way: the worker itself cancels it.
  static constexpr uint64_t kCancelNsMax = 1'000'000'000;
  // How long a sample waits for others of its bunch at the most: about the time in which a bunch of cheap ones comes.
  static constexpr uint64_t kGatherNs = 300'000;

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
  // No worker is to write into the slot any more. Precondition: no job of the slot's batch is here. Any thread.
  void end_lending(const memory::SlotMemory& slot);
  size_t waiting() const;  // jobs that wait for a worker
  // By operation, of the first kOperationsTold ones. Precondition: the errand is one of its settings'.
  std::vector<OperationTime> times_of(const pipeline::Errand& errand) const;
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
  void settle(Answer& answer);
  void note_times(uint32_t errand, const proto::crew::Reply& reply);
  void queue(const Job& job, bool is_first);
  void add_new(uint32_t errand, Job job);
  void end_unwanted(const Job& job);
  void give_room(Worker& worker, const Call& call, const proto::crew::Reply& reply);
  Status take_result(const Call& call, const proto::crew::Reply& reply) const;
  Status take_record(Call& call, const proto::crew::Reply& reply, ScratchPiece& record);
  bool is_fixed(const Job& job) const;
  uint64_t record_bytes_of(const Job& job) const;
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
  size_t ripe(uint32_t errand, uint64_t now_ns) const;
  uint64_t next_ripe_ns(uint64_t now_ns) const;
  Worker* worker_for(uint32_t errand);
  bool send(Worker& worker, uint32_t number, const Job& job);  // `number`: of its errand
  Status lay_out(Worker& worker, const Job& job, Call& call, proto::crew::Task& task);
  bool lay_out_record(Worker& worker, Call& call, proto::crew::Task& task);
  const LentSlot* slot_for(Worker& worker, const pipeline::Passage& passage);
  void send_elsewhere(Worker& worker, const Call& call);
  uint8_t* take_for_record(uint64_t bytes);
  size_t short_calls(uint32_t errand) const;
  size_t depth_of(uint32_t errand) const;
  bool is_late(Worker& worker, uint64_t now_ns) const;
  bool note_death(const Call& call);
  void fail_locked(const Error& error);
  void deliver();
  uint32_t number_of(const pipeline::Errand& errand) const;

  const Settings settings_;
  const Orders orders_;
  // By making: of each of its records, and of a record whose values lie in a slot where they can; 0: they differ.
  const std::vector<uint64_t> record_bytes_, rest_bytes_;
  const std::vector<size_t> bunches_;  // by errand: config::bunch_of()
  const bool gathers_;                 // some errand takes bunches
  ScratchFile scratch_;
  UniqueFd poll_, wake_;
  mutable std::mutex mutex_;
  // Under the lock.
  bool is_open_ = false;
  bool is_condemned_ = false;    // a worker could not be ended
  bool release_is_due_ = false;  // of the scratch memory's pages
  bool sleeps_long_ = false;     // the thread looks at no time: nobody has anything in hand
  uint64_t ripe_ns_ = 0;         // when samples have waited long enough for others; 0: none wait
  bool knows_ripe_ = false;      // the thread wakes then
  std::optional<Error> failure_;
  Waiting jobs_;
  std::vector<bool> passed_over_;  // by errand: no more of it is handed out now
  std::vector<size_t> ripe_;       // by errand: how many are handed out now, at the most
  LentSlots slots_;
  std::map<uint32_t, std::unique_ptr<Worker>> workers_;
  std::map<uint32_t, Gone> gone_;  // whose reason is still to come
  std::map<uint32_t, uint64_t> ending_since_ns_;
  std::map<uint32_t, std::string> reasons_;        // of workers whose bell still sounds
  std::map<Place, uint32_t> deaths_at_;            // of samples that were tried already
  std::vector<uint64_t> piece_bytes_;              // by number of an errand: room for results of unknown size
  std::vector<std::vector<OperationTime>> times_;  // by number of an errand
  std::vector<Ended> ended_;                       // to be told once the lock is free
  std::vector<std::function<void()>> told_;        // the same, of orders
  uint64_t look_ns_ = 0;                           // when times were looked at
  uint32_t last_number_ = 0, idle_deaths_ = 0;
  std::vector<uint64_t> call_ns_;    // by errand: about how long a call takes for a sample
  std::vector<uint32_t> in_flight_;  // by errand: how many calls a worker has under way at once; 0: one by one
  std::atomic<uint32_t> working_{0};
  std::atomic<bool> wants_room_{false};  // a making waits for scratch memory to be given back
  std::vector<Answer> answers_;          // the thread's own: results that are to be read without the lock
  std::jthread thread_;                  // last: it uses the rest
};

// Of each record of the making, or of each whose values lie in a slot where they can; 0: they differ.
uint64_t record_bytes(const pipeline::Making& making, bool is_placed = false);

inline constexpr const char* kLiar = "broke the protocol, and was ended";  // why a worker was ended

// The functions that it calls: "augment:blur, augment:grey".
std::string name_of(const pipeline::Errand& errand);

}  // namespace spdld::user
