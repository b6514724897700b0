#include "daemon/source/fetching/fetch_router.h"

#include <algorithm>
#include <new>
#include <utility>

#include "daemon/base/system/memory_reserve.h"
#include "daemon/source/fetching/remote_reads.h"

namespace spdld::source {
namespace {

using Way = FetchRoute::Way;

constexpr size_t kHoldersKeptBytes = 256 << 10;  // from one use of a request to the next

// Gives the request its fields as they are after all parts were read.
void clear(FetchRequest& request) {
  request.bytes.resize(std::max(request.bytes.size(), request.fields.size()));  // once in a request's life
  for (ByteBuffer& bytes : request.bytes) bytes.resize(0);
  request.end_borrowing();
  for (ByteBuffer& holder : request.route.holders) holder.resize(0);
  request.ok = true;
  request.error = {};
  request.duration_ns = 0;
}

}  // namespace

// A request's way is: sort_out, the local fetcher's part, plan, the stores' part, the local fetcher's part where packed
// fields are taken out of what came, and its observer is told.
struct FetchRouter::Inside final : FetchObserver, RemoteReads::Owner {
  Inside(FetchRouter& router, Fetcher& local_fetcher, uint64_t limit)
      : owner(router), local(local_fetcher), bytes_max(limit) {}

  struct State final : FetchState {
    State(RemoteReads::Owner& owner, SharedReads& shared, FetchRequest& of, uint64_t bytes_max)
        : reads(owner, shared, of, bytes_max) {}
    FetchObserver* observer = nullptr;  // the caller's
    // A thread of the local fetcher is to tell an error, or the end of the reads.
    Status failed = Done{};
    bool has_read = false;
    bool is_unpacking = false;  // the local fetcher has it for the second time
    RemoteReads reads;
  };

  static State& state_of(FetchRequest& request) { return static_cast<State&>(*request.route.state); }

  void make_state(FetchRequest& request) {
    if (!request.route.state) request.route.state = std::make_unique<State>(*this, shared, request, bytes_max);
    // A request that waited for room comes with this object as its observer.
    if (request.observer != this) state_of(request).observer = request.observer;
    request.observer = this;
    request.route.first = &owner;
    state_of(request).failed = Done{};
    state_of(request).has_read = false;
    state_of(request).reads.end_loan();
    state_of(request).is_unpacking = false;
  }

  void fetch(FetchRequest& request) {
    bool is_local = true;
    try {
      const memory_reserve::Spared spared;
      make_state(request);
      clear(request);
      is_local = state_of(request).reads.sort_out();
    } catch (const std::bad_alloc&) {
      return fail_later(request, {Trouble::kMemory, {}});
    }
    if (is_local) return local.fetch(request);
    read_remote(request, true);
  }

  // `is_asking`: within fetch(), whose caller must not hear of the end yet.
  void read_remote(FetchRequest& request, bool is_asking) {
    State& state = state_of(request);
    Result<bool> started = false;
    try {
      const memory_reserve::Spared spared;
      if (!state.reads.plan()) {
        if (state.reads.leaves_packed()) return unpack(request);
        return is_asking ? fail_later(request, {}) : finish(request);
      }
      if (request.budget && !request.budget->hold(request, state.reads.bytes_wanted())) return wait_for_room(request);
      started = state.reads.start();
    } catch (const std::bad_alloc&) {
      started = Error{Trouble::kMemory, {}};  // a sentence would need memory
    }
    if (started && !*started) return;
    if (started && !is_asking) return on_read(state.reads);
    if (started) {
      state.has_read = true;
      return tell_later(request);
    }
    if (is_asking) return fail_later(request, std::move(started.error()));
    request.ok = false;
    request.error = std::move(started.error());
    finish(request);
  }

  void wait_for_room(FetchRequest& request) {
    state_of(request).reads.end_loan();
    for (ByteBuffer& bytes : request.bytes) bytes.shrink(0);
    request.route.shrink_holders(0);
    request.route.waits_for_room = &owner;
    request.budget->wait(request, state_of(request).reads.bytes_wanted());
  }

  // The caller of fetch() may hold what its observer needs: a thread of the local fetcher's tells it.
  void tell_later(FetchRequest& request) {
    // Without a state the local fetcher finds remote fields, and says that there is no memory.
    request.route.set_all(request.route.state ? Way::kPassOver : Way::kAll);
    local.fetch(request);
  }
  void fail_later(FetchRequest& request, Error error) {
    if (request.route.state && error.trouble != Trouble::kInternal) state_of(request).failed = std::move(error);
    tell_later(request);
  }

  // On the network thread nothing long is done.
  void unpack(FetchRequest& request) {
    state_of(request).is_unpacking = true;
    local.fetch(request);
  }

  // After the local fetcher's part.
  void on_fetched(FetchRequest& request) override {
    State& state = state_of(request);
    if (state.is_unpacking) {
      state.reads.end_loan();  // the holders' bytes are not kept
      request.route.shrink_holders(kHoldersKeptBytes);
      request.duration_ns += state.reads.duration_ns();
      return finish(request);
    }
    if (request.ok && !state.failed) {
      request.ok = false;
      request.error = std::move(state.failed.error());
    }
    if (!request.ok) return finish(request);
    if (state.has_read) return on_read(state.reads);
    read_remote(request, false);
  }

  void on_read(RemoteReads& reads) override {
    FetchRequest& request = reads.request();
    if (reads.has_no_room()) return wait_for_room(request);
    request.duration_ns = std::max(request.duration_ns, reads.duration_ns());
    if (Status status = reads.status(); !status) {
      request.ok = false;
      request.error = std::move(status.error());
    }
    statistics.shared.add(reads.shared());
    (request.ok ? statistics.samples : statistics.failures).add();
    if (request.ok) statistics.bytes.add(reads.bytes());
    if (request.ok && reads.leaves_packed()) return unpack(request);
    finish(request);
  }

  // Where no store has to be asked: entries of the cache whose identity the listing confirms, and bytes that a store
  // has in memory.
  bool fetch_at_hand(FetchRequest& request) {
    FetchObserver* const observer = request.observer;
    bool is_done = false;
    try {
      const memory_reserve::Spared spared;
      make_state(request);
      clear(request);
      RemoteReads& reads = state_of(request).reads;
      const bool is_local = reads.sort_out();
      if (!is_local || local.fetch_at_hand(request))
        is_done = reads.plan() ? read_at_hand(reads) : !reads.leaves_packed();
    } catch (const std::bad_alloc&) {
    }
    request.observer = observer;
    return is_done;
  }

  bool read_at_hand(RemoteReads& reads) {
    if (!reads.read_at_hand()) return false;
    statistics.samples.add();
    statistics.bytes.add(reads.bytes());
    return true;
  }

  void finish(FetchRequest& request) {
    request.observer = state_of(request).observer;
    request.observer->on_fetched(request);  // it may be gone or in use again after this
  }

  FetchRouter& owner;
  Fetcher& local;
  const uint64_t bytes_max;
  SharedReads shared;
  RemoteStatistics statistics;
};

FetchRouter::FetchRouter(Fetcher& local, uint64_t bytes_max)
    : inside_(std::make_unique<Inside>(*this, local, bytes_max)) {}

FetchRouter::~FetchRouter() = default;

void FetchRouter::fetch(FetchRequest& request) {
  if (request.listing->store_concurrency() == 0) {
    request.route.set_all(Way::kAll);
    return inside_->local.fetch(request);
  }
  inside_->fetch(request);
}

bool FetchRouter::fetch_at_hand(FetchRequest& request) {
  if (request.listing->store_concurrency() == 0) {
    request.route.set_all(Way::kAll);
    return inside_->local.fetch_at_hand(request);
  }
  return inside_->fetch_at_hand(request);
}

void FetchRouter::end_loan(FetchRequest& request) {
  if (request.route.state) Inside::state_of(request).reads.end_loan();
}

void FetchRouter::drop_unwanted() { inside_->shared.drop_unwanted(); }

unsigned FetchRouter::concurrency() const { return inside_->local.concurrency(); }

const RemoteStatistics& FetchRouter::statistics() const { return inside_->statistics; }

}  // namespace spdld::source
