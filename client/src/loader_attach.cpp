// A loader's ways to a ring: the first one, and back to one when the daemon went away or the ring was left.
#include <algorithm>
#include <atomic>
#include <utility>

#include "client/src/loader.h"

namespace spdld::client {

namespace {

constexpr int64_t kProgress_ms = 200;
constexpr int64_t kLostRetry_ms = 5'000;  // of a first attach whose daemon was just going down
constexpr int64_t kBackoffMin_ms = 5;
constexpr int64_t kBackoffMax_ms = 500;
constexpr int64_t kMove_ms = 10'000;  // of a daemon that lives

std::atomic<bool> replay_was_told{false};  // in this process

std::string text_of(const Placement& placement) {
  if (placement.memory == SPDLD_HOST) return "host memory";
  return (placement.memory == SPDLD_PINNED ? "host memory pinned for " : "the memory of ") + placement.gpu;
}

CallOutcome with_patience(const CallOutcome& outcome, int64_t patience_ms) {
  return failure(outcome.result, outcome.text + "; it did not come back within " + std::to_string(patience_ms) + " ms");
}

}  // namespace

CallOutcome Loader::attach(Deadline deadline, spdld_progress progress, void* progress_user) {
  Deadline away_until = Deadline::never();
  CallOutcome gone;  // how the daemon went away, if it did
  int64_t backoff_ms = kBackoffMin_ms;
  std::unique_ptr<Attaching> attempt;
  for (;;) {  // each turn waits, at most until the deadline
    if (!attempt) attempt = std::make_unique<Attaching>(settings_.endpoint, settings_.request);
    const CallOutcome outcome = attempt->advance(deadline.or_earlier(Deadline::after_ms(kProgress_ms)));
    Progress seen = attempt->progress();
    if (outcome.ok()) {
      const Warn warn = std::exchange(settings_.warn, {});
      fallback_.tell(warn);
      const CallOutcome accepted = accept(*attempt);
      if (accepted.ok() && replay_.wanted() != 0 && !replay_was_told.exchange(true))
        warn.say(replay_warning(replay_.wanted()));
      return accepted;
    }
    const bool lost = attempt->was_lost();
    if (lost || attempt->is_absent()) {  // a daemon that just ends, or is being restarted
      const int64_t patience_ms = std::max(lost ? kLostRetry_ms : 0, settings_.reconnect_ms);
      if (away_until.is_never()) away_until = Deadline::after_ms(patience_ms);
      if (lost) gone = outcome;
      attempt.reset();
      if (away_until.passed())
        return patience_ms == 0 ? outcome : with_patience(fallback_.explained(gone.ok() ? outcome : gone), patience_ms);
      const Deadline again = Deadline::after_ms(backoff_ms).or_earlier(away_until);
      if (wait_for(-1, 0, deadline.or_earlier(again)) == Wake::kSignal) {
        return failure(SPDLD_INTERRUPTED, "interrupted by a signal");
      }
      backoff_ms = std::min(kProgress_ms, backoff_ms * 2);
      seen.what = "waiting for the daemon at " + settings_.endpoint.path;
    } else if (attempt->spec_was_refused()) {
      attempt.reset();
      const CallOutcome elsewhere = fallback_.take(settings_.endpoint, settings_.request, outcome);
      if (!elsewhere.ok()) return elsewhere;
    } else if (outcome.result != SPDLD_TIMEOUT) {
      attempt.reset();
      return fallback_.explained(outcome);
    } else if (seen.messages > 0) {
      away_until = Deadline::never();  // it is there: should it go again, that is another outage
      gone = {};
    }
    if (deadline.passed()) {
      if (!gone.ok()) return failure(gone.result, gone.text + "; it did not come back within the time given");
      return failure(attempt ? SPDLD_TIMEOUT : outcome.result, outcome.text);
    }
    if (progress && progress(progress_user, seen.what.c_str(), seen.done, seen.total) != 0) {
      return failure(SPDLD_INTERRUPTED, "the caller gave up waiting for the daemon");
    }
  }
}

CallOutcome Loader::accept(const Attaching& attaching) {
  const std::shared_ptr<Ring> ring = attaching.ring();
  const Terms& terms = ring->terms();
  const bool first = standing_ == Standing::kNew;
  if (first) {
    terms_ = terms;
    position_ = ring->first();
    placement_ = ring->placement();
    slot_bytes_ = ring->slots().slot_bytes();
    slot_count_ = ring->slots().count();
    pushed_.begin(terms_, position_);
    replay_.bound(terms.leases_max);
    daemon_ = attaching.daemon().empty() ? "spdld" : attaching.daemon();
    if (settings_.state) {
      const CallOutcome sound = check_state(*settings_.state, terms_);
      if (!sound.ok()) return sound;
    }
    const Position asked = settings_.request.position;
    const bool is_told = settings_.state || !(asked == Position{});
    if (settings_.request.readers > 1 && is_told && !(terms.by_one_name(asked) == position_)) {
      position_ = terms.by_one_name(asked);
      return replicas_disagree(ring->first());
    }
    settings_.request.fingerprint = terms.fingerprint;
    settings_.request.key_digests = terms.key_digests;
  } else if (terms.fingerprint != terms_.fingerprint || terms.batch_size != terms_.batch_size ||
             terms.global_size != terms_.global_size || terms.steps_per_epoch != terms_.steps_per_epoch ||
             terms.epochs != terms_.epochs || terms.is_pushed() != terms_.is_pushed() || terms.seed != terms_.seed) {
    return failure(SPDLD_CHANGED, "the daemon came back with another pipeline than this loader was attached to (" +
                                      terms.fingerprint + ", before " + terms_.fingerprint + ")" +
                                      key_note(terms_, terms) + ": attach anew to use it");
  } else if (!ring->placement().is_like(placement_)) {
    return failure(SPDLD_CHANGED, "the daemon came back with batches in " + text_of(ring->placement()) +
                                      ", which were in " + text_of(placement_) + ": attach anew to take them there");
  } else if (!must_seek() && position_ < ring->first()) {
    return failure(SPDLD_FAILED, "the other readers of this rank have gone on beyond epoch " +
                                     std::to_string(position_.epoch) + ", step " + std::to_string(position_.step));
  }
  stats_.missing = terms.missing;
  stats_.missing_count = terms.missing_count;
  placement_.memory = ring->placement().memory;  // the transport may be another one
  placement_.ready_early = ring->placement().ready_early;
  ring_ = ring;
  standing_.change(first ? Standing::kAttached : Standing::kAttachedAgain);
  seeking_.start_anew();
  if (settings_.request.join != proto::Join::alone) settings_.request.join = proto::Join::exact;
  way_back_.reset();  // and with it `attaching`
  send_pushed(0);
  return first ? leave_out_steps() : CallOutcome{};
}

// Of the state that the loader was attached with.
CallOutcome Loader::leave_out_steps() {
  if (!settings_.state || settings_.state->skip_steps == 0) return {};
  return load_state(*settings_.state, true);
}

CallOutcome Loader::replicas_disagree(Position theirs) const {
  return failure(SPDLD_INVALID, "the other replicas of this rank are at " + text_of(theirs) +
                                    ", and this one is to begin at " + text_of(position_) +
                                    ": attach all of them with the same state");
}

void Loader::note_complaint(const proto::ErrorReply& error) { complaint_ = "; it had said: " + said(error.message()); }

void Loader::lose_ring(const CallOutcome& reason) {
  if (standing_ != Standing::kLost && standing_ != Standing::kEnded) standing_.change(Standing::kLost);
  // Closed at once, even while batches are held: the rank must be free when it is attached again.
  if (ring_) ring_->connection().close();
  ring_.reset();
  away_reason_ = reason;
  away_reason_.text += complaint_;
  complaint_.clear();
}

void Loader::leave_ring(proto::Join join, const char* why) {
  ring_->detach();
  ring_.reset();
  settings_.request.join = join;
  if (standing_ != Standing::kEnded) standing_.change(Standing::kLeft);
  away_reason_ = failure(SPDLD_NO_DAEMON, why);
}

void Loader::rest() {
  if (!may_rest()) return;
  const proto::Join join =
      settings_.request.join == proto::Join::alone ? proto::Join::alone : proto::Join::exact;  // where it stands
  leave_ring(join, "this loader's memory was given back while other loaders of its process were used");
}

bool Loader::may_pass(const CallOutcome& outcome) {
  return outcome.result == SPDLD_NO_DAEMON || outcome.result == SPDLD_CONFLICT || outcome.result == SPDLD_LIMIT;
}

CallOutcome Loader::give_up() {
  way_back_.reset();
  const bool refused = away_reason_.result == SPDLD_CONFLICT || away_reason_.result == SPDLD_LIMIT;
  const CallOutcome reason = failure(refused ? away_reason_.result : SPDLD_NO_DAEMON, away_reason_.text);
  if (settings_.reconnect_ms != 0) return with_patience(reason, settings_.reconnect_ms);
  return failure(reason.result, reason.text + "; it is not waited for");
}

CallOutcome Loader::begin_attempt(Deadline deadline) {
  WayBack& way = *way_back_;
  if (!way.retry_at.passed() &&
      wait_for(-1, 0, deadline.or_earlier(way.retry_at).or_earlier(way.until)) == Wake::kSignal) {
    return failure(SPDLD_INTERRUPTED, "interrupted by a signal");
  }
  if (way.until.passed()) return give_up();
  if (!way.retry_at.passed()) {
    if (deadline.passed()) return failure(SPDLD_TIMEOUT, away_reason_.text + "; still trying to reach it");
    return {};
  }
  settings_.request.position = seeking_.ring_position(position_);
  settings_.request.sought = seeking_.sought();
  way.attempt = std::make_unique<Attaching>(settings_.endpoint, settings_.request);
  way.progress_seen = 0;
  return {};
}

CallOutcome Loader::attach_again(Deadline deadline) {
  const bool left = standing_ == Standing::kLeft;
  const int64_t patience_ms = left ? std::max(kMove_ms, settings_.reconnect_ms) : settings_.reconnect_ms;
  if (!way_back_) way_back_ = {Deadline::after_ms(patience_ms), Deadline::after_ms(0), kBackoffMin_ms};
  for (;;) {  // each turn waits, at most until the deadline or the end of the outage's bound
    if (patience_ms == 0) return give_up();
    WayBack& way = *way_back_;
    if (!way.attempt) {
      const CallOutcome outcome = begin_attempt(deadline);
      if (!outcome.ok()) return outcome;
      if (!way.attempt) continue;
    }
    CallOutcome outcome = way.attempt->advance(deadline.or_earlier(way.until));
    if (outcome.ok()) {
      fallback_.tell({});
      outcome = accept(*way.attempt);
    }
    if (outcome.ok() || outcome.result == SPDLD_INTERRUPTED) return outcome;
    if (outcome.result == SPDLD_TIMEOUT) {
      const bool lives = way.attempt->progress().messages != way.progress_seen;
      way.progress_seen = way.attempt->progress().messages;
      if (lives) way.until = Deadline::after_ms(patience_ms);
      if (way.until.passed()) return give_up();
      if (deadline.passed()) return outcome;
      continue;
    }
    const bool spec_was_refused = way.attempt->spec_was_refused();
    way.attempt.reset();
    if (spec_was_refused) {  // by a daemon that was started anew, with other settings
      outcome = fallback_.take(settings_.endpoint, settings_.request, outcome);
      if (outcome.ok()) continue;
    }
    if (!may_pass(outcome)) {
      way_back_.reset();
      return outcome;
    }
    away_reason_ = outcome;
    way.retry_at = Deadline::after_ms(way.backoff_ms);
    way.backoff_ms = std::min(kBackoffMax_ms, way.backoff_ms * 2);
  }
}

}  // namespace spdld::client
