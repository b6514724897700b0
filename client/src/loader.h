// One rank's way through its epochs: it attaches, hands out the batches in order, and attaches anew where its daemon
// went away, so that no batch is lost or comes twice. One thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "client/src/attaching.h"
#include "client/src/fallback.h"
#include "client/src/job_names.h"
#include "client/src/pushed.h"
#include "client/src/replay.h"
#include "client/src/ring/batch.h"
#include "client/src/seeking.h"
#include "client/src/state.h"
#include "proto/guarded_state.h"

namespace spdld::client {

struct LoaderSettings {
  Endpoint endpoint;
  AttachRequest request;
  int64_t reconnect_ms = 30'000;        // 0: not at all
  std::optional<int64_t> held_wait_ms;  // none: it depends on the threads that may give batches back
  JobName job;
  // The loader may leave its seat while it is idle: no group was named, so that nobody else claims the seat, and no
  // replica would wait for this loader.
  bool may_rest = false;
  std::optional<State> state;  // the state that gave request.position and request.fingerprint
  uint32_t replay = 0;         // as in Replay
  bool tells_pace = false;     // at the replay's end, on stderr: the program may not know of the replay
  Warn warn = {};              // for attach alone: its pointers end with that call
};

class Loader {
 public:
  explicit Loader(LoaderSettings settings);
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;
  ~Loader();

  // `progress` may be nullptr.
  CallOutcome attach(Deadline deadline, spdld_progress progress, void* progress_user);
  // OK: `batch` is the next batch. SPDLD_END_OF_EPOCH, SPDLD_END: no batch comes here.
  CallOutcome next(Deadline deadline, std::unique_ptr<Batch>& batch);
  CallOutcome seek(Position position);
  // The samples of the next step, or the epoch's end, or both; see spdld_push.
  CallOutcome push(Position position, std::span<const uint64_t> ids, bool last);
  CallOutcome load_state(const State& state, bool anyway);
  Position tell() const { return position_; }
  State state() const { return state_of(terms_, position_, settings_.request.world_size, replay_.wanted() != 0); }
  // The settings allow it; this never changes.
  bool can_rest() const { return settings_.may_rest; }
  // Gives memory and seat back, where may_rest() says so. The position stays, and the next call of next() attaches
  // there anew.
  void rest();
  bool may_rest() const { return ring_ && can_rest(); }
  // The batches that are held, and the most that may be held; both 0 without a ring.
  uint32_t held() const { return ring_ ? ring_->held_count() : 0; }
  uint32_t held_max() const { return ring_ ? ring_->terms().leases_max : 0; }
  int poll_fd() const { return ring_ ? ring_->connection().poll_fd() : -1; }

  const Terms& terms() const { return terms_; }
  const std::string& daemon() const { return daemon_; }
  const std::string& socket() const { return settings_.endpoint.path; }
  const AttachRequest& request() const { return settings_.request; }
  const Placement& placement() const { return placement_; }
  const Stats& stats() const { return stats_; }
  const Replay& replay() const { return replay_; }
  bool is_shared() const { return ring_ && ring_->terms().shared; }
  uint64_t slot_bytes() const { return slot_bytes_; }
  uint32_t slot_count() const { return slot_count_; }

 private:
  enum class Standing : uint8_t {
    kNew,            // has had no ring yet
    kAttached,       // has its first ring
    kAttachedAgain,  // has a later ring
    kLost,           // its ring is gone, for the daemon went away: an outage, as long as no other ring comes
    kLeft,           // it left its ring by itself
    kEnded,          // no further batch comes, as ended_ says; the last ring may still be there
  };
  static constexpr bool may(Standing from, Standing to) {
    switch (from) {
      case Standing::kNew:
        return to == Standing::kAttached;
      case Standing::kAttached:
      case Standing::kAttachedAgain:
        return to == Standing::kLost || to == Standing::kLeft || to == Standing::kEnded;
      case Standing::kLost:
      case Standing::kLeft:
        return to == Standing::kAttachedAgain || to == Standing::kEnded;
      case Standing::kEnded:
        return false;
    }
    return false;
  }
  // While the ring is lost, the loader tries to get another one. `until` bounds the time of all tries together.
  struct WayBack {
    Deadline until;
    Deadline retry_at;
    int64_t backoff_ms;
    std::unique_ptr<Attaching> attempt = nullptr;  // under way
    uint64_t progress_seen = 0;                    // messages of that attempt
  };

  CallOutcome receive_batch(Deadline deadline, std::unique_ptr<Batch>& batch);
  // OK: a further batch can come. Else this process holds all batches, and none has come back in time.
  CallOutcome wait_for_room(Deadline deadline);
  int64_t room_patience_ms() const;
  CallOutcome take_message(std::unique_ptr<Batch>& batch);
  CallOutcome take_ready(const proto::Ready& ready, std::unique_ptr<Batch>& batch);
  CallOutcome take_again(std::unique_ptr<Batch>& batch);
  void note(const Batch& batch);
  void step_on();
  CallOutcome leave_out_steps();
  CallOutcome replicas_disagree(Position theirs) const;
  void send_pushed(size_t first);
  bool has_replicas() const { return settings_.request.readers > 1; }
  // Whether this is a replica whose ring is still at the position before the seek.
  bool must_seek() const { return seeking_.is_open(); }
  void send_seek(bool waits);

  CallOutcome attach_again(Deadline deadline);
  // Waits until another attempt is due, and begins it. OK: there is an attempt, or another turn may begin one.
  CallOutcome begin_attempt(Deadline deadline);
  CallOutcome give_up();
  CallOutcome accept(const Attaching& attaching);
  // Whether another attempt may succeed after this refusal, since what stands in the way may pass.
  static bool may_pass(const CallOutcome& outcome);
  void lose_ring(const CallOutcome& reason);
  // Goes on with another ring: held batches stay leased, and the next call attaches anew.
  void leave_ring(proto::Join join, const char* why);
  // No further batch comes. The ring stays, if there is one, for the batches that are held.
  void end(const CallOutcome& why);
  void distrust(const CallOutcome& fault);
  void note_complaint(const proto::ErrorReply& error);
  void drop_ready_batches();

  LoaderSettings settings_;
  Fallback fallback_;
  Terms terms_;
  std::string daemon_;
  Placement placement_;
  Stats stats_;
  uint64_t slot_bytes_ = 0;
  uint32_t slot_count_ = 0;

  Position position_;
  bool end_of_epoch_due_ = false;
  Pushed pushed_;
  Replay replay_;
  Seeking seeking_;  // to position_
  GuardedState<Standing, may> standing_{Standing::kNew};
  CallOutcome ended_;                                      // kEnded: why
  CallOutcome away_reason_;                                // kLost, kLeft: why, as far as is known
  std::shared_ptr<Ring> ring_;                             // of kAttached and kAttachedAgain; kEnded may have one
  std::optional<WayBack> way_back_;                        // of kLost and kLeft, while someone waits for a batch
  std::optional<Deadline::Clock::time_point> full_since_;  // all batches are held
  std::string complaint_;                                  // the daemon's last error about a message of this client
};

}  // namespace spdld::client
