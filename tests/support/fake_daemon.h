// A daemon for tests of the client: a thread of this process that speaks the real protocol over a real socket, with
// real memfds, and misbehaves as its script says. Its batches count: sample_id[i] = (epoch * steps_per_epoch + step) *
// batch_size + i, and image[i][c] = the low byte of sample_id[i] plus c.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "proto/message.h"

namespace spdld::test {

struct FakeTensor {
  std::string name;
  proto::DType dtype;
  std::vector<uint64_t> shape;
  std::vector<uint64_t> strides;
  uint64_t offset;
  proto::Role role = proto::Role::rows;
  std::string of = {};
};

struct FakeReady {
  uint32_t attachment, run, slot;
  uint64_t generation, epoch, step, valid;
  bool has_position = true;
  std::vector<FakeTensor> tensors;
  uint32_t padded = 0;
  std::vector<uint32_t> source_counts = {};
  uint32_t substituted = 1, masked = 0, unsupported = 0;
  uint32_t too_long = 0, absent = 0, dropped = 0;
  struct Bad {
    proto::BadKind kind = proto::BadKind::damaged;
    std::string reason;
    uint32_t count = 1;
    uint64_t sample = 0;
    std::string name = {};
  };
  std::vector<Bad> bad = {};
};

struct FakeDeviceSlot {
  uint64_t bytes = 0;
  std::vector<uint8_t> memory;
  uint64_t offset = 0;
  std::vector<uint8_t> copied;
};

// ATTACHED's fields for slots on a GPU, true or not.
struct FakeDevice {
  std::vector<uint8_t> gpu;
  std::vector<FakeDeviceSlot> slots;
  bool ready_early = false;
  uint64_t ipc_namespace = 0, pid_namespace = 0;
};

// Slots in other memory than memfds. Only the daemon's thread calls it.
class FakeSlots {
 public:
  virtual ~FakeSlots() = default;
  virtual void describe(FakeDevice& device) = 0;
  virtual std::vector<int> fds() const = 0;  // its own
  virtual unsigned char* fill_address(uint32_t slot) = 0;
  virtual void publish(uint32_t slot) = 0;  // makes the content visible to the trainer
  virtual void free(uint32_t slot) = 0;     // may be called again
};

struct FakeCounts;

struct FakeScript {
  uint32_t slot_count = 3;
  uint64_t slot_bytes = 4096;
  uint64_t batch_size = 4;
  uint64_t steps_per_epoch = 5;
  uint64_t epochs = 2;
  uint64_t valid_in_last_step = 4;
  proto::Access access = proto::Access::writable;
  proto::MemoryKind memory = proto::MemoryKind::host;
  std::string fingerprint = "f1";
  std::string key_digests = {};
  uint16_t version = 1;
  bool answers_hello = true;
  uint64_t answers_hellos = ~0ull;  // so many at first
  bool answers_attach = true;
  bool answers_query = true;
  bool sends_batches = true;
  proto::ErrorCode hello_error = proto::ErrorCode::none;
  proto::ErrorCode attach_error = proto::ErrorCode::none;
  uint32_t attach_errors = ~0u;  // how many ATTACHs get attach_error, or GOODBYE
  std::string error_text = "attach was refused";
  std::string pipeline = "p";
  std::string daemon = "fake 1";
  int backlog = 0;  // of connections that it has not accepted; 0: as a daemon has it
  bool hello_goodbye = false, attach_goodbye = false, query_goodbye = false;  // GOODBYE is the answer
  uint32_t preparing = 0;  // messages before ATTACHED (or before nothing more)
  std::string preparing_what = "listing pictures";
  uint64_t end_after = 0;  // after so many READYs of a session `end` comes; 0: never
  enum class End { kClose, kGoodbye, kFailed, kComplain, kGarbage } end = End::kClose;
  uint32_t end_sessions = 1;  // how many sessions end like this
  bool seals_slots = true;
  bool forgets_a_slot = false;
  uint64_t slot_file_bytes = 0;  // 0: slot_bytes
  uint64_t behind_steps = 0;     // a re-attached ring begins so many steps before the place asked for
  uint32_t push_steps_max = 0;   // not 0: its batches are the pushed batches, with their ids
  uint64_t push_ids_max = 20;
  proto::ErrorCode push_error = proto::ErrorCode::none;
  std::string answer_json = "{\"pid\":1}";
  bool answer_in_fd = false;
  uint64_t class_count = 0;
  std::vector<std::string> classes = {};  // in the message
  std::string classes_memory = {};        // not empty: in a memfd, as it stands here
  bool seals_classes = true, forgets_classes = false;
  std::vector<std::string> missing = {};  // of the data set
  uint64_t missing_count = 0;
  std::vector<std::string> sources = {};  // of a mix; READYs count nothing unless `tamper` does
  std::function<void(FakeReady&)> tamper;
  // Writes into a batch's slot before `tamper` sees its descriptor; `number`: of the batch over all epochs.
  std::function<void(unsigned char* slot, uint64_t number)> write;
  std::function<std::unique_ptr<FakeSlots>(const FakeScript&, const proto::Attach&)> make_slots;
  std::function<void(FakeDevice&, const proto::Attach&)> tamper_device;  // if set, memory of a GPU is made up
  std::function<void()> before_attached;                                 // on the daemon's thread, when ATTACH has come
  std::function<void(const FakeCounts&)> on_change;                      // at every count, on the daemon's thread
  std::string crew_token = {};  // not empty: CREW_WANTED with it comes before every ATTACHED, ...
  uint64_t crew_after = 0;      // ... or, where this is not 0, behind so many READYs of a session
  // Takes the messages that no trainer sends, on the daemon's thread; false: the session is over.
  std::function<bool(int socket, const proto::Message&)> on_other;
};

// Counts and last values over all sessions.
struct FakeCounts {
  uint64_t hellos = 0, pidfds = 0, attaches = 0, batches = 0, releases = 0, wrong_releases = 0, seeks = 0, stays = 0,
           waits = 0, again = 0;
  uint64_t last_waited_us = 0;                                    // RELEASE's
  std::pair<uint64_t, uint64_t> last_place = {};                  // ATTACH's: epoch and step
  std::optional<std::pair<uint64_t, uint64_t>> last_sought = {};  // the same
  uint64_t pushes = 0, pushed_steps = 0, pushed_ends = 0;
  uint64_t detaches = 0, kept_leases = 0, ended_sessions = 0, open_sessions = 0;
  std::string last_spec, last_folder, last_group, last_client;
  uint32_t last_rank = 0, last_world_size = 0, last_local_rank = 0;
  std::string last_device;
  std::vector<std::vector<uint8_t>> last_gpus;
  uint64_t last_fd_gpus = 0;  // GPUs of last_gpus that take file descriptors
  proto::Transport last_transport = proto::Transport::automatic;
  bool last_ready_early = false;
  bool last_starts_crews = false;
};

class FakeDaemon {
 public:
  FakeDaemon(std::string path, FakeScript script);
  FakeDaemon(const FakeDaemon&) = delete;
  FakeDaemon& operator=(const FakeDaemon&) = delete;
  ~FakeDaemon();  // as a killed daemon: every socket closes, without a word

  FakeCounts counts() const;
  // Waits until the counts satisfy it; false: not within five seconds.
  bool wait_until(const std::function<bool(const FakeCounts&)>& reached) const;

 private:
  struct Session;
  void run();
  void accept_one();
  bool serve(Session& session);  // false: the session is over
  bool serve_message(Session& session, const proto::Message& message, std::vector<UniqueFd>& fds);
  bool answer_hello(Session& session, const proto::Hello& hello, const std::vector<UniqueFd>& fds);
  bool answer_attach(Session& session, const proto::Attach& attach, std::vector<UniqueFd>& fds);
  bool send_attached(Session& session, const proto::Attach& attach);
  bool answer_query(Session& session, const proto::Query& query);
  void want_crew(Session& session);
  void make_slots(Session& session);
  void take_release(Session& session, const proto::Release& release);
  void take_back(Session& session, const flatbuffers::Vector<const proto::LeaseId*>& keeps);
  bool take_push(Session& session, const proto::Push& push);
  void take_detach(Session& session, const proto::Detach& detach);
  bool send_batches(Session& session);
  void send_ready(Session& session, uint32_t index);
  bool end(Session& session);
  template <typename Change>
  void count(Change&& change) {
    const std::lock_guard lock(mutex_);
    change(counts_);
    if (script_.on_change) script_.on_change(counts_);
    changed_.notify_all();
  }

  const std::string path_;
  const FakeScript script_;
  UniqueFd listener_;
  UniqueFd stop_;
  std::vector<std::unique_ptr<Session>> sessions_;
  uint32_t refused_attaches_ = 0;
  uint32_t ended_ = 0;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  FakeCounts counts_;
  std::thread thread_;
};

}  // namespace spdld::test
