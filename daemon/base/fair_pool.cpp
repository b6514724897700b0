#include "daemon/base/fair_pool.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace spdld {
namespace {

// For how long a thread goes on with a lane before it charges what it used and looks whose turn it is.
constexpr uint64_t kSliceNs = 1'000'000;
// By which part a lane's expected cost falls towards the cost of a slice that was cheaper.
constexpr double kForgotten = 1.0 / 8;
// How often an idle thread looks whether a task may begin that had to wait for its turn, and whether a slice has become
// dear where all that may serve do.
constexpr auto kLookEvery = std::chrono::milliseconds(1), kLookAtSlicesEvery = std::chrono::milliseconds(20);
// Threads that take the place of parked ones.
constexpr unsigned kSpareMin = 4, kSpareMax = 20;

}  // namespace

FairPool::Group::Group(FairPool& pool, double weight) : pool_(pool) {
  share_.weight = weight;
  std::lock_guard lock(pool_.mutex_);
  pool_.groups_.push_back(this);
}

FairPool::Group::~Group() {
  std::lock_guard lock(pool_.mutex_);
  std::erase(pool_.groups_, this);
}

void FairPool::Group::set_weight(double weight) {
  std::lock_guard lock(pool_.mutex_);
  share_.weight = weight;
}

double FairPool::Group::weight() const {
  std::lock_guard lock(pool_.mutex_);
  return share_.weight;
}

FairPool::Lane::Lane(FairPool& pool, double weight) : pool_(pool) {
  auto alone = std::make_shared<Group>(pool, weight);
  share_.weight = weight;
  std::lock_guard lock(pool_.mutex_);
  enlist(std::move(alone));
}

FairPool::Lane::~Lane() {
  std::shared_ptr<Group> group;  // ends after the lock
  std::unique_lock lock(pool_.mutex_);
  pool_.quiet_.wait(lock, [this] { return !share_.is_busy(); });
  std::erase(group_->lanes_, this);
  group.swap(group_);
  lock.unlock();
}

void FairPool::Lane::enlist(std::shared_ptr<Group> group) {
  group_ = std::move(group);
  group_->lanes_.push_back(this);
  share_.has_served = false;
}

void FairPool::Lane::join(std::shared_ptr<Group> group) {
  std::shared_ptr<Group> left;  // ends after the lock
  std::unique_lock lock(pool_.mutex_);
  std::erase(group_->lanes_, this);
  left.swap(group_);
  is_alone_ = false;
  enlist(std::move(group));
  lock.unlock();
}

void FairPool::Lane::set_weight(double weight) {
  std::lock_guard lock(pool_.mutex_);
  share_.weight = weight;
  if (is_alone_) group_->share_.weight = weight;
}

double FairPool::Lane::weight() const {
  std::lock_guard lock(pool_.mutex_);
  return share_.weight;
}

unsigned FairPool::runners_of(unsigned threads) {
  threads = std::max(threads, 1u);
  return threads + std::min(2 * threads + kSpareMin, kSpareMax);
}

FairPool::FairPool(unsigned threads, Clocks clocks)
    : clocks_(clocks),
      budget_(std::max(threads, 1u)),
      concurrency_(budget_),
      concurrency_max_(budget_),
      awake_(runners_of(threads)) {
  for (unsigned i = 0; i < awake_; i++) pool_threads_.push_back(std::make_unique<PoolThread>());
  for (unsigned i = 0; i < pool_threads_.size(); i++)
    threads_.emplace_back([this, i] {
      name_thread("decode", i);
      serve(i);
    });
}

FairPool::~FairPool() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    for (auto& one : pool_threads_) one->call.notify_one();
  }
  for (auto& thread : threads_) thread.join();
}

void FairPool::set_concurrency(unsigned concurrency, unsigned most) {
  std::lock_guard lock(mutex_);
  concurrency_ = std::clamp(concurrency, 1u, threads());
  concurrency_max_ = std::clamp(most, concurrency_, threads());
  call_for_waiting();
}

unsigned FairPool::concurrency() const {
  std::lock_guard lock(mutex_);
  return concurrency_;
}

void FairPool::submit(Lane& lane, FairTask& task) {
  std::lock_guard lock(mutex_);
  task.next_ = nullptr;
  if (lane.last_) {
    lane.last_->next_ = &task;
  } else {
    lane.first_ = &task;
    take_place(lane);
  }
  lane.last_ = &task;
  lane.share_.waiting++;
  lane.group_->share_.waiting++;
  waiting_++;
  // Under the lock: the task may be the last one, and its end the pool's.
  call_for_waiting();
}

void FairPool::Rivals::add(const Share& share) {
  least_ns = weight > 0 ? std::min(least_ns, share.virtual_ns) : share.virtual_ns;
  weight += share.weight;
}

FairPool::Rivals FairPool::rivals_of(const Group& group) const {
  Rivals rivals;
  for (const Group* other : groups_)
    if (other != &group && other->share_.is_busy()) rivals.add(other->share_);
  return rivals;
}

FairPool::Rivals FairPool::rivals_of(const Lane& lane) {
  Rivals rivals;
  for (const Lane* other : lane.group_->lanes_)
    if (other != &lane && other->share_.is_busy()) rivals.add(other->share_);
  return rivals;
}

double FairPool::place_of(const Group& group, uint64_t now_ns) const {
  if (group.share_.is_waiting()) return group.share_.virtual_ns;
  return place_of(group.share_, rivals_of(group), served_at_ns_, now_ns);
}

double FairPool::place_of(const Lane& lane, uint64_t now_ns) const {
  if (lane.share_.is_waiting()) return lane.share_.virtual_ns;
  return place_of(lane.share_, rivals_of(lane), lane.group_->served_at_ns_, now_ns);
}

// Where it would stand if its next task came now. Without a waiting task it gains no credit, and stands where the
// others are. But it moves no further than the others could have used the threads meanwhile: after a short while it is
// still owed what others used too much before.
double FairPool::place_of(const Share& share, const Rivals& rivals, double served_at_ns, uint64_t now_ns) const {
  double place_ns = rivals.weight > 0 ? rivals.least_ns : served_at_ns;
  if (share.has_served) {
    const uint64_t since_ns = share.is_busy() ? share.idle_ns : share.slept_ns;
    const double threads = concurrency_ - std::min(share.slices, concurrency_);
    const double weight = rivals.weight > 0 ? rivals.weight : share.weight;
    place_ns = std::min(place_ns, share.virtual_ns + static_cast<double>(now_ns - since_ns) * threads / weight);
  }
  return std::max(share.virtual_ns, place_ns);
}

void FairPool::take_place(Lane& lane) {
  const uint64_t now_ns = clocks_.monotonic_ns();
  Share& of_group = lane.group_->share_;
  of_group.virtual_ns = place_of(*lane.group_, now_ns);
  lane.share_.virtual_ns = place_of(lane, now_ns);
  of_group.has_served = lane.share_.has_served = true;
}

void FairPool::fall_asleep(Lane& lane) {
  lane.share_.slept_ns = clocks_.monotonic_ns();
  if (!lane.group_->share_.is_busy()) lane.group_->share_.slept_ns = lane.share_.slept_ns;
  quiet_.notify_all();
}

void FairPool::pay(Lane& lane, double ns) {
  lane.share_.virtual_ns += ns / lane.share_.weight;
  lane.group_->share_.virtual_ns += ns / lane.group_->share_.weight;
}

void FairPool::expect(Lane& lane, double ns) {
  lane.is_known_ = true;
  lane.expected_ns_ = ns;
}

// A slice that lasts longer than was expected counts for more at once. It may have waited instead of computed: charge()
// puts that right.
void FairPool::look_at_slices(uint64_t now_ns) {
  if (now_ns - looked_ns_ < kSliceNs) return;
  looked_ns_ = now_ns;
  for (const auto& one : pool_threads_) {
    Slice& slice = one->slice;
    if (!slice.lane || one->parked || now_ns < slice.start_ns) continue;
    const double lasts_ns = static_cast<double>(now_ns - slice.start_ns);
    if (lasts_ns <= slice.paid_ns) continue;
    pay(*slice.lane, lasts_ns - slice.paid_ns);
    slice.paid_ns = lasts_ns;
    const double all_ns = slice.before_ns + lasts_ns;
    if (all_ns <= static_cast<double>(kDearNs)) continue;
    expect(*slice.lane, std::max(slice.lane->expected_ns_, all_ns));
    if (!std::exchange(slice.is_dear, true)) count_dear(slice, true);
  }
}

unsigned FairPool::dear_max() const { return std::max(concurrency_ / 2, 1u); }

// Whether dear slices hold their half of the threads.
bool FairPool::is_full(uint64_t now_ns) const { return dear_slices_ >= dear_max() && has_cheap_neighbour(now_ns); }

bool FairPool::is_there(const Share& share, uint64_t now_ns) {
  return share.is_busy() || (share.has_served && now_ns - share.slept_ns < kNeighbourNs);
}

bool FairPool::has_cheap_neighbour(uint64_t now_ns) const {
  for (const Group* group : groups_)
    for (const Lane* lane : group->lanes_)
      if (!lane->is_dear() && is_there(lane->share_, now_ns)) return true;
  return false;
}

// Whether a lane of long slices has used more than its part beside a lane that may want the thread in a moment.
bool FairPool::is_ahead(const Lane& lane, uint64_t now_ns) const {
  if (!lane.is_long()) return false;
  for (const Group* group : groups_) {
    const bool is_own = group == lane.group_.get();
    for (const Lane* other : group->lanes_) {
      if (other == &lane || other->is_dear() || !is_there(other->share_, now_ns)) continue;
      const double ahead_ns = is_own ? lane.share_.virtual_ns - place_of(*other, now_ns)
                                     : lane.group_->share_.virtual_ns - place_of(*group, now_ns);
      if (ahead_ns > 0) return true;
    }
  }
  return false;
}

// How many of the tasks that wait may begin.
size_t FairPool::startable() const {
  const uint64_t now_ns = clocks_.monotonic_ns();
  size_t dear = 0, others = 0;
  for (const Group* group : groups_)
    for (const Lane* lane : group->lanes_)
      if (may_begin(*lane, now_ns)) (lane->is_dear() ? dear : others) += lane->share_.waiting;
  if (dear > 0 && has_cheap_neighbour(now_ns))
    dear = std::min<size_t>(dear, dear_max() - std::min(dear_max(), dear_slices_));
  return dear + others;
}

FairPool::PoolThread* FairPool::idle_thread() const {
  for (const auto& one : pool_threads_)
    if (one->idle) return one.get();
  return nullptr;
}

void FairPool::call(PoolThread& idle) {
  idle.idle = false;
  idle.called = true;
  awake_++;
  coming_++;
  idle.call.notify_one();
}

// Lets parked tasks go on where threads may serve, and then calls idle threads, the lowest first, until there is one on
// its way for every task that may begin.
void FairPool::call_for_waiting() {
  if (parked_ == 0 && coming_ >= waiting()) return;
  const unsigned most = seats();
  while (parked_ > 0 && awake_ < most) {
    PoolThread* const parked = next_parked(clocks_.monotonic_ns());
    if (parked == nullptr) break;
    go_on(*parked);
  }
  if (coming_ < waiting() && awake_ < most) {
    for (size_t left = startable(); coming_ < left && awake_ < most;) {
      PoolThread* const idle = idle_thread();
      if (idle == nullptr) break;  // all others are parked
      call(*idle);
    }
  }
  if (coming_ < waiting() || parked_ > 0) have_one_look();
}

void FairPool::have_one_look() {
  if (has_looker_) return;
  PoolThread* const other = idle_thread();
  if (other == nullptr) return;
  has_looker_ = other->looks = true;
  other->call.notify_one();
}

bool FairPool::is_behind(const Lane& one, const Lane& other) {
  if (one.group_ == other.group_) return one.share_.virtual_ns < other.share_.virtual_ns;
  return one.group_->share_.virtual_ns < other.group_->share_.virtual_ns;
}

FairPool::Lane* FairPool::least_served() {
  if (waiting() == 0) return nullptr;
  const uint64_t now_ns = clocks_.monotonic_ns();
  look_at_slices(now_ns);
  const bool full = is_full(now_ns);
  Lane* least = nullptr;
  for (const Group* group : groups_) {
    for (Lane* lane : group->lanes_) {
      if (!lane->first_ || (full && lane->is_dear()) || (least && !is_behind(*lane, *least))) continue;
      if (may_begin(*lane, now_ns)) least = lane;
    }
  }
  if (full && least) hold_back(*least);
  return least;
}

// A lane that waits only because dear slices hold their half of the threads gains no credit: it would take all threads
// later.
void FairPool::hold_back(const Lane& served) {
  for (Group* group : groups_)
    for (Lane* lane : group->lanes_) {
      if (!lane->first_ || !lane->is_dear()) continue;
      Share& share = lane->group_ == served.group_ ? lane->share_ : group->share_;
      const Share& least = lane->group_ == served.group_ ? served.share_ : served.group_->share_;
      share.virtual_ns = std::max(share.virtual_ns, least.virtual_ns);
    }
}

FairTask* FairPool::take(Lane& lane) {
  FairTask* task = lane.first_;
  lane.first_ = task->next_;
  if (!lane.first_) lane.last_ = nullptr;
  waiting_--;
  Share& of_group = lane.group_->share_;
  lane.share_.waiting--;
  of_group.waiting--;
  if (!lane.first_) {
    lane.share_.idle_ns = clocks_.monotonic_ns();
    if (of_group.waiting == 0) of_group.idle_ns = lane.share_.idle_ns;
  }
  return task;
}

// Whether its thread may take the lane's next task within the slice.
bool FairPool::may_go_on(const Slice& slice) {
  return slice.lane && slice.lane->first_ && (slice.is_dear || !slice.lane->is_dear());
}

void FairPool::count_dear(const Slice& slice, bool runs) {
  const auto add = [&](unsigned& to) { runs ? ++to : --to; };
  add(dear_slices_);
  add(slice.lane->share_.dear);
  add(slice.lane->group_->share_.dear);
}

// The slice begins to run, or runs no more.
void FairPool::count(const Slice& slice, bool runs) {
  const auto add = [&](unsigned& to) { runs ? ++to : --to; };
  add(slice.lane->share_.slices);
  add(slice.lane->group_->share_.slices);
  if (slice.is_dear) count_dear(slice, runs);
}

void FairPool::enter(Slice& slice, Lane& lane) {
  slice.lane = &lane;
  slice.start_ns = slice.turn_ns = clocks_.monotonic_ns();
  slice.paid_ns = lane.expected_ns_;
  slice.before_ns = 0;
  slice.is_dear = lane.is_dear();
  count(slice, true);
  served_at_ns_ = lane.group_->share_.virtual_ns;
  lane.group_->served_at_ns_ = lane.share_.virtual_ns;
  pay(lane, slice.paid_ns);
}

// Charges a slice for the time since it began, or since its task last gave way.
void FairPool::charge_part(Slice& slice, uint64_t cpu_now_ns) {
  const uint64_t used_ns = cpu_now_ns - slice.cpu_ns;
  const auto cost_ns = static_cast<double>(used_ns);
  busy_ns_.add(used_ns);
  slice.lane->busy_ns_.add(used_ns);
  pay(*slice.lane, cost_ns - slice.paid_ns);
  slice.cpu_ns = cpu_now_ns;
  slice.paid_ns = 0;
  slice.before_ns += cost_ns;
}

void FairPool::charge(Slice& slice, uint64_t cpu_now_ns) {
  Lane& lane = *slice.lane;
  const bool was_dear = lane.is_dear();
  charge_part(slice, cpu_now_ns);
  const double cost_ns = slice.before_ns;
  count(slice, false);
  slice.lane = nullptr;
  const double fall_ns = std::max(lane.expected_ns_ - cost_ns, 0.0);
  expect(lane, lane.is_known_ ? cost_ns + fall_ns * (1 - kForgotten) : cost_ns);
  if (!lane.share_.is_busy()) fall_asleep(lane);
  if (slice.is_dear || was_dear) call_for_waiting();  // tasks that were held back may begin
}

uint64_t FairPool::busy_now_ns() const {
  std::lock_guard lock(mutex_);
  const uint64_t now_ns = clocks_.monotonic_ns();
  uint64_t busy_ns = busy_ns_.value();
  for (const auto& one : pool_threads_)
    if (one->slice.lane && !one->parked) busy_ns += now_ns - std::min(now_ns, one->slice.start_ns);
  return busy_ns;
}

// A thread beyond the threads that may serve leaves at the end of its task, and a lower thread takes over.
bool FairPool::may_serve(unsigned thread) const {
  const unsigned most = seats();
  return thread < most + parked_ && awake_ <= most;
}

void FairPool::rest(unsigned thread, std::unique_lock<std::mutex>& lock) {
  PoolThread& own = *pool_threads_[thread];
  own.idle = true;
  awake_--;
  call_for_waiting();  // where this thread leaves tasks to another, which may be itself
  await_call(own, lock);
  if (!own.called) {
    own.idle = false;
    awake_++;
    return;
  }
  own.called = false;
  coming_--;
}

void FairPool::await_call(PoolThread& own, std::unique_lock<std::mutex>& lock) {
  const auto is_called = [&] { return own.called || stopping_; };
  while (!is_called()) {
    if (!own.looks) {
      own.call.wait(lock, [&] { return is_called() || own.looks; });
      continue;
    }
    own.call.wait_for(lock, awake_ < concurrency_ ? kLookEvery : kLookAtSlicesEvery, is_called);
    if (is_called()) break;
    has_looker_ = own.looks = false;
    look_at_slices(clocks_.monotonic_ns());
    call_for_waiting();  // which may have this thread look again
  }
  if (!std::exchange(own.looks, false)) return;
  has_looker_ = false;
  call_for_waiting();  // another thread looks
}

void FairPool::serve(unsigned thread) {
  Slice& slice = pool_threads_[thread]->slice;
  slice.cpu_ns = clocks_.thread_cpu_ns();
  std::unique_lock lock(mutex_);
  for (;;) {
    // While its slice lasts the thread stays with its lane: what it used is not charged yet.
    if (slice.lane && !(may_go_on(slice) && may_serve(thread))) charge(slice, clocks_.thread_cpu_ns());
    Lane* lane = slice.lane ? slice.lane : least_served();
    if (!slice.lane && parked_ > 0 && may_serve(thread)) {
      PoolThread* const parked = next_parked(clocks_.monotonic_ns());
      if (parked && (!lane || !is_behind(*lane, *parked->slice.lane))) {
        go_on(*parked);
        lane = nullptr;
      }
    }
    if (!lane && stopping_) return;
    if (!lane || (!may_serve(thread) && !stopping_)) {
      rest(thread, lock);
      continue;
    }
    if (!slice.lane) enter(slice, *lane);
    FairTask* task = take(*lane);
    lock.unlock();
    task->run(thread);
    // Where the thread will have nothing to do it charges now, not under the lock.
    const bool over = waiting() == 0 || slice.before_ns > 0 || clocks_.monotonic_ns() - slice.start_ns >= kSliceNs;
    const uint64_t cpu_now_ns = over ? clocks_.thread_cpu_ns() : 0;
    lock.lock();
    if (over) charge(slice, cpu_now_ns);
  }
}

}  // namespace spdld
