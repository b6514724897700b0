#include "client/src/loader.h"

#include <algorithm>

#include "client/src/ring/returns.h"

namespace spdld::client {

namespace {

constexpr int64_t kReturnTurn_ms = 100;  // of a wait while a GPU's work may give slots back
constexpr int64_t kHeldWait_ms = 30'000;
constexpr int64_t kOthersHeldWait_ms = 600'000;
constexpr int kMessagesMax = 512;  // taken by one call that has no time left
constexpr uint32_t kPush = 1;      // the request of every PUSH: none is refused but by a fault
constexpr uint32_t kSeek = 1;      // and of a SEEK, with its run added

}  // namespace

Loader::Loader(LoaderSettings settings)
    : settings_(std::move(settings)), replay_(settings_.replay), seeking_(settings_.request.readers > 1) {}

Loader::~Loader() {
  if (const std::string pace = replay_.pace_text(); settings_.tells_pace && !pace.empty()) Warn().say(pace);
  replay_.end();  // its leases end before the ring does
  if (!ring_) return;
  drop_ready_batches();
  if (ring_) ring_->detach();
}

CallOutcome Loader::next(Deadline deadline, std::unique_ptr<Batch>& batch) {
  if (end_of_epoch_due_) {
    end_of_epoch_due_ = false;
    return {SPDLD_END_OF_EPOCH, {}};
  }
  if (terms_.epochs != 0 && position_.epoch >= terms_.epochs) return {SPDLD_END, {}};
  if (replay_.has_begun()) return take_again(batch);
  for (int messages = 0; messages < kMessagesMax || !deadline.passed();) {
    if (standing_ == Standing::kEnded) return ended_;
    if (terms_.is_pushed() && pushed_.empty()) return pushed_.nothing_to_take(position_);
    if (!ring_) {
      const CallOutcome outcome = attach_again(deadline);
      if (!outcome.ok()) return outcome;
    }
    if (must_seek() && seeking_.state() != Seeking::State::kWaits) send_seek(true);
    const CallOutcome outcome = ring_ ? receive_batch(deadline, batch) : CallOutcome{};
    if (batch || !outcome.ok()) return outcome;
    ++messages;
  }
  return failure(SPDLD_TIMEOUT, "the daemon sent many messages but no batch within the time given");
}

// OK without a batch: go on.
CallOutcome Loader::receive_batch(Deadline deadline, std::unique_ptr<Batch>& batch) {
  Connection& connection = ring_->connection();
  connection.flush();
  CallOutcome outcome = ring_->trouble();
  if (outcome.ok()) outcome = wait_for_room(deadline);
  if (!outcome.ok()) return outcome;
  const bool by_turns = ring_->follows_streams();
  outcome = connection.receive(by_turns ? deadline.or_earlier(Deadline::after_ms(kReturnTurn_ms)) : deadline);
  if (by_turns && outcome.result == SPDLD_TIMEOUT && !deadline.passed()) {  // leases put off may come back, or be lost
    Returns::of_process().attend();
    return {};
  }
  if (outcome.ok()) {
    try {
      outcome = take_message(batch);
    } catch (...) {  // out of memory: the batch is fetched anew
      lose_ring({});
      throw;
    }
  } else if (outcome.result == SPDLD_NO_DAEMON) {
    lose_ring(outcome);
    return {};
  }
  if (outcome.result == SPDLD_INTERNAL) distrust(outcome);
  if (outcome.result == SPDLD_TIMEOUT && must_seek())
    outcome.text += "; it may wait for the other replicas of its rank to go to " + text_of(position_) + " as well";
  return outcome;
}

// How long next waits for a batch to come back. A program that takes batches in one thread and gives them back in
// another may pause as long as it validates or compiles. A program that holds all of them in one thread shall be told
// soon.
int64_t Loader::room_patience_ms() const {
  if (settings_.held_wait_ms) return *settings_.held_wait_ms;
  if (is_only_thread()) return ring_->follows_streams() ? kReturnTurn_ms : 0;
  const bool has_others = !is_main_thread() || ring_->returned_elsewhere();
  return has_others ? kOthersHeldWait_ms : kHeldWait_ms;
}

CallOutcome Loader::wait_for_room(Deadline deadline) {
  CallOutcome full = ring_->room();
  if (full.ok()) {
    full_since_.reset();
    return full;
  }
  if (!full_since_) full_since_ = Deadline::Clock::now();
  const int64_t patience_ms = room_patience_ms();
  const Deadline end(*full_since_ + std::chrono::milliseconds(patience_ms));
  while (!end.passed() && !deadline.passed()) {
    const Deadline turn = Deadline::after_ms(kReturnTurn_ms);
    if (ring_->wait_for_room(deadline.or_earlier(end).or_earlier(turn)) == Wake::kSignal)
      return failure(SPDLD_INTERRUPTED, "interrupted by a signal");
    Returns::of_process().attend();  // a stream's capture may have ended
    full = ring_->room();
    if (full.ok()) {
      full_since_.reset();
      return full;
    }
  }
  if (!end.passed()) return failure(SPDLD_TIMEOUT, full.text);
  if (patience_ms > 0) full.text += " (" + std::to_string(patience_ms) + " ms were waited for a release)";
  return full;
}

// A daemon that breaks the protocol is not asked again.
void Loader::distrust(const CallOutcome& fault) {
  lose_ring(fault);
  end(fault);
}

void Loader::end(const CallOutcome& why) {
  if (standing_ != Standing::kEnded) standing_.change(Standing::kEnded);
  ended_ = why;
}

CallOutcome Loader::take_message(std::unique_ptr<Batch>& batch) {
  const proto::Message& message = ring_->connection().message();
  switch (message.body_type()) {
    case proto::Body::Ready:
      return take_ready(*message.body_as_Ready(), batch);
    case proto::Body::Failed: {
      const proto::Failed& failed = *message.body_as_Failed();
      if (failed.attachment() != ring_->attachment()) return {};
      if (failed.code() == proto::ErrorCode::lagged && ring_->terms().shared) {
        leave_ring(proto::Join::alone, "this job was cut loose from the stream that it shared");
        return {};
      }
      CallOutcome why = failure(failed.code() == proto::ErrorCode::none ? SPDLD_FAILED : result_of(failed.code()),
                                said(failed.message()));
      if (why.result == SPDLD_NO_DAEMON) {  // only stopping: it comes back
        lose_ring(why);
        return {};
      }
      if (why.text.empty()) why.text = "the pipeline failed, and the daemon did not say why";
      end(why);
      return {};
    }
    case proto::Body::ErrorReply: {
      const proto::ErrorReply& error = *message.body_as_ErrorReply();
      note_complaint(error);
      if (error.request() == kPush && terms_.is_pushed()) {  // without those steps no batch would come
        end(failure(result_of(error.code()), "the daemon refused what was pushed: " + said(error.message())));
      } else if (seeking_.is_told() && error.request() == kSeek + seeking_.run()) {
        seeking_.refuse();
        return failure(result_of(error.code()), said(error.message()));
      }
      return {};
    }
    case proto::Body::Goodbye:
      lose_ring(shuts_down(ring_->connection(), *message.body_as_Goodbye()));
      return {};
    case proto::Body::CrewWanted: {
      const CallOutcome outcome =
          answer_crew_wanted(settings_.request, ring_->connection(), *message.body_as_CrewWanted());
      if (outcome.result == SPDLD_INTERNAL) return outcome;
      if (!outcome.ok()) end(outcome);
      return {};
    }
    case proto::Body::Preparing:
    case proto::Body::Answer:
      return {};  // of no request that is still open
    default:
      return protocol_failure(ring_->connection(), "a message that a client does not expect here");
  }
}

CallOutcome Loader::take_ready(const proto::Ready& ready, std::unique_ptr<Batch>& batch) {
  Connection& connection = ring_->connection();
  if (ready.attachment() != ring_->attachment() || ready.slot() >= ring_->slots().count() || !ready.position()) {
    return protocol_failure(connection, "a batch of another ring, slot or position");
  }
  ring_->note_taken();
  const Position position{ready.position()->epoch(), ready.position()->step()};
  const uint32_t run = seeking_.run();
  const bool is_first_ring = standing_ != Standing::kAttachedAgain;
  if (is_first_ring && has_replicas() && run == 0 &&
      position < ring_->first()) {  // one of them came later, and is behind
    end(replicas_disagree(position));
    return ended_;
  }
  if (ready.run() < run) return {};                  // its lease ended with the seek
  if (ready.run() == run && position < position_) {  // seen before a restart
    ring_->release_unseen(ready.slot(), ready.generation());
    return {};
  }
  seeking_.arrive(position_);
  if (ready.run() != run || !(position == position_)) {
    return protocol_failure(connection, "a batch of epoch " + std::to_string(position.epoch) + ", step " +
                                            std::to_string(position.step) + " where " +
                                            std::to_string(position_.epoch) + ", " + std::to_string(position_.step) +
                                            " comes next");
  }
  Content content;
  const char* fault =
      read_content(ready, terms_, ring_->slots().at(ready.slot()), ring_->slots().slot_bytes(), content);
  if (!fault && terms_.is_pushed() && content.valid + content.bad_counts.absent != pushed_.front_size())
    fault = "a batch of more or fewer samples";
  if (fault) return protocol_failure(connection, fault);
  if (!ring_->slots().drop_copies(ready.slot())) {
    return failure(SPDLD_INTERNAL, "cannot drop this process's copies of a slot's pages (madvise failed)");
  }
  const bool on_host = ring_->slots().memory() == SPDLD_HOST || ring_->slots().memory() == SPDLD_PINNED;
  if (on_host) fault = check_offsets(content);
  if (fault) return protocol_failure(connection, fault);
  bool copied = !ring_->placement().ready_early;
  if (!copied && connection.has_ended()) {  // a stream could wait for ever for this copy
    const CallOutcome done = ring_->wait_for_copy(ready.slot());
    if (!done.ok()) {
      lose_ring(failure(SPDLD_NO_DAEMON, done.text));
      return {};
    }
    copied = true;
  }
  if (!ring_->take(ready.slot(), ready.generation())) {
    return protocol_failure(connection, "a batch in a slot that this process still holds");
  }
  auto slot = std::make_shared<LeasedSlot>(make_lease(ring_, ready.slot(), ready.generation()), copied);
  batch = std::make_unique<Batch>(std::move(slot), std::move(content));
  replay_.keep(*batch);
  note(*batch);
  step_on();
  return {};
}

// The daemon is asked for nothing from here on, so that it may be gone as well.
CallOutcome Loader::take_again(std::unique_ptr<Batch>& batch) {
  if (terms_.is_pushed() && pushed_.empty()) return pushed_.nothing_to_take(position_);
  if (replay_.has_lost_memory()) {
    return failure(SPDLD_NO_DAEMON,
                   "the daemon has ended, and the memory of the batches that are replayed with it: attach anew");
  }
  batch = replay_.next(position_);
  note(*batch);
  step_on();
  return {};
}

void Loader::note(const Batch& batch) {
  const Content& told = batch.content();
  stats_.note(told.valid, told.bad_counts, told.bad);
}

void Loader::step_on() {
  ++position_.step;
  end_of_epoch_due_ = terms_.is_pushed() ? pushed_.pop() : position_.step >= terms_.steps_per_epoch;
  if (end_of_epoch_due_) position_ = {position_.epoch + 1, 0};
}

CallOutcome Loader::push(Position position, std::span<const uint64_t> ids, bool last) {
  const CallOutcome outcome = pushed_.push(position, ids, last);
  if (!outcome.ok()) return outcome;
  if (pushed_.empty()) {  // it ended the epoch whose last step was handed out before
    position_ = {position.epoch + 1, 0};
    end_of_epoch_due_ = true;
  }
  if (replay_.has_begun()) return {};
  if (!ids.empty()) {
    send_pushed(pushed_.size() - 1);
  } else if (ring_) {
    flatbuffers::FlatBufferBuilder builder(256);
    ring_->connection().post(Pushed::end_message(builder, ring_->attachment(), kPush, position));
  }
  return {};
}

// Sends the steps from `first` on; the steps before it were sent already.
void Loader::send_pushed(size_t first) {
  while (ring_ && first < pushed_.size()) {
    flatbuffers::FlatBufferBuilder builder;
    ring_->connection().post(pushed_.message(builder, ring_->attachment(), kPush, first));
  }
}

CallOutcome Loader::seek(Position position) {
  position = terms_.by_one_name(position);
  const bool beyond_epochs = terms_.epochs != 0 && Position{terms_.epochs, 0} < position;
  if (!terms_.has(position) || beyond_epochs) {
    const std::string epochs = terms_.epochs == 0 ? "endless epochs" : std::to_string(terms_.epochs) + " epochs";
    return failure(SPDLD_INVALID,
                   "cannot seek to " + text_of(position) + ": there are " + epochs +
                       (terms_.is_pushed() ? "" : " of " + std::to_string(terms_.steps_per_epoch) + " steps"));
  }
  if (replay_.has_begun()) {
    end_of_epoch_due_ = false;
    position_ = position;
    pushed_.begin(terms_, position);
    return {};
  }
  if (standing_ == Standing::kEnded) return ended_;
  end_of_epoch_due_ = false;
  const bool is_there = position == position_ && pushed_.empty();  // what is being filled is what is wanted
  // A replica says once that it stands there: another one may stand elsewhere, and waits for this one.
  if (is_there && (!has_replicas() || must_seek())) return {};
  const bool stays = is_there && ring_;
  seeking_.begin(position_, stays);
  position_ = position;
  if (!stays) {
    pushed_.begin(terms_, position);
    if (way_back_) way_back_->attempt.reset();  // it asked for the old position
    if (ring_) drop_ready_batches();
  }
  if (standing_ == Standing::kEnded) return ended_;
  if (!ring_) return {};
  if (ring_->terms().shared) {
    leave_ring(proto::Join::exact, "this job left the stream that it shared");
    return {};
  }
  send_seek(false);
  return {};
}

// Or, of a seek that was sent before, that it is waited for.
void Loader::send_seek(bool waits) {
  flatbuffers::FlatBufferBuilder builder(256);
  flatbuffers::Offset<flatbuffers::Vector<const proto::LeaseId*>> keeps;
  if (!seeking_.is_told()) keeps = builder.CreateVectorOfStructs(ring_->held());
  seeking_.tell(waits);
  const uint32_t run = seeking_.run();
  const auto position = proto::CreatePosition(builder, position_.epoch, position_.step);
  const auto body = proto::CreateSeek(builder, ring_->attachment(), run, position, kSeek + run, seeking_.stays(), keeps,
                                      waits, seeking_.again());
  if (!ring_->connection().send(proto::finish(builder, proto::Body::Seek, body))) {
    lose_ring(failure(SPDLD_NO_DAEMON, "the daemon at " + ring_->connection().path() + " takes no messages"));
  }
}

CallOutcome Loader::load_state(const State& state, bool anyway) {
  if (!anyway) {
    CallOutcome outcome = check_state(state, terms_);
    if (outcome.result == SPDLD_CHANGED) outcome.text += way_around(true);
    if (!outcome.ok()) return outcome;
  }
  Position position;
  const CallOutcome found = find_position(state, terms_, position);
  return found.ok() ? seek(position) : found;
}

// Gives back what lies in the socket unseen, so that the daemon can fill those slots for the new position at once.
void Loader::drop_ready_batches() {
  const Deadline now = Deadline::after_ms(0);
  uint32_t dropped = 0;  // at most one of each slot: later batches were filled meanwhile, also in vain
  for (int i = 0; i < kMessagesMax && ring_ && dropped < slot_count_; ++i) {
    const CallOutcome outcome = ring_->connection().receive(now);
    if (outcome.result == SPDLD_NO_DAEMON) lose_ring(outcome);
    if (outcome.result == SPDLD_INTERNAL) distrust(outcome);
    if (!outcome.ok()) return;
    const proto::Ready* ready = ring_->connection().message().body_as_Ready();
    if (ready) {
      ring_->note_taken();
      if (ready->run() == seeking_.run()) ring_->release_unseen(ready->slot(), ready->generation());
      ++dropped;
      continue;
    }
    std::unique_ptr<Batch> none;
    const CallOutcome other = take_message(none);
    if (!other.ok()) distrust(other);
  }
}

}  // namespace spdld::client
