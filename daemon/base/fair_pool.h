// The node's decode threads, shared by every pipeline under one CPU budget. Each pipeline has a lane, and lanes can
// form a group that has one weight together. A free thread takes the next task of the group, and in it of the lane,
// that has used the least CPU time for its weight (virtual-time fair queueing, as in CFS). So a pipeline of heavy
// pictures gets as much CPU time, not as many pictures, as a pipeline of light pictures.
//
// The number of serving threads can change at any time: as many as concurrency() serve, and the others sleep. The
// lowest idle thread is woken first, so that the same few caches and decoders stay warm. No serving thread is idle
// while a task waits that may begin.
//
// CPU time is charged a slice at a time; a slice is successive tasks of one lane on one thread. Reading a thread's CPU
// clock is a system call, which costs much beside a task of some 50 us. Tasks are intrusive: nothing is allocated on
// submit. Any thread may submit.
//
// A task that lasts long gives way: now and then it calls give_way(), and where a lane waits that has had less, the
// task is parked there, in the middle of its work, and a spare thread serves the other lane in its place. So as many
// tasks run at once as before, and no lane waits longer than until the next such call. A lane goes on with what is
// parked before it begins anything new, and a dear lane with all that its group has parked, so that their tasks never
// hold more threads than may serve at once. Dear lanes leave some of the spare threads to others.
//
// Tasks that give way seldom or never need more care:
// - A slice counts from its beginning as what it will probably cost, and later as the time that it lasts already. Where
//   its task gives way, the slice counts as what it has used.
// - Slices that will probably take more than kDearNs hold at most half of the threads, and always at least one, while
//   a lane of cheap tasks has tasks or had one in the last kNeighbourNs. A lane whose costs are not known yet counts as
//   dear. In a pool with one thread a cheap task waits until a dear one gives way.
// - Where such slices hold all threads that serve, and there are more threads than that, one thread more serves until
//   one of the dear slices ends, for cheap neighbours and for other groups that wait.
// - A lane whose slices take more than kLongNs does not begin one in a moment when another lane has no task, as long as
//   it has used more than its part beside that lane. Else the other lane would find the thread taken for long when its
//   next task comes. A lane without waiting tasks gives up the time that it could have used, so that no thread is idle
//   for others' sake longer than that.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "daemon/base/statistics.h"
#include "daemon/base/system/cpu.h"

namespace spdld {

class FairTask {
 public:
  virtual ~FairTask() = default;
  // On a pool thread; `thread` is 0 .. runners()-1. May submit again. Must not throw.
  virtual void run(unsigned thread) = 0;

 private:
  friend class FairPool;
  FairTask* next_ = nullptr;
};

class FairPool {
 public:
  static constexpr uint64_t kDearNs = 100'000'000;
  static constexpr uint64_t kLongNs = 5'000'000;
  static constexpr uint64_t kNeighbourNs = 10'000'000'000;
  // A slice that is shorter is not interrupted. A slice begins its last task within its first millisecond, so that
  // tasks of less than a millisecond give way for nothing.
  static constexpr uint64_t kLeastPartNs = 2'000'000;
  // A task that has just begun or gone on is not parked for a lane whose slices may be long.
  static constexpr uint64_t kTurnNs = 5'000'000;

  class Lane;
  class Group;

  struct Clocks {
    uint64_t (*thread_cpu_ns)() = spdld::thread_cpu_ns;  // of the calling thread
    uint64_t (*monotonic_ns)() = spdld::monotonic_ns;
  };

  // All threads serve until set_concurrency(). Other clocks are for tests.
  explicit FairPool(unsigned threads) : FairPool(threads, Clocks()) {}
  FairPool(unsigned threads, Clocks clocks);
  // Precondition: no lane is left. Joins the threads.
  ~FairPool();
  FairPool(const FairPool&) = delete;
  FairPool& operator=(const FairPool&) = delete;

  // How many tasks may run at once. There are more threads than that, since tasks may be parked.
  unsigned threads() const { return budget_; }
  unsigned runners() const { return static_cast<unsigned>(pool_threads_.size()); }
  static unsigned runners_of(unsigned threads);
  // How many tasks run at once, brought to 1 .. threads(). Any thread, at once: tasks that run are not interrupted, and
  // no further task begins while more than that many run. `most`: that dear slices may make of it.
  void set_concurrency(unsigned concurrency, unsigned most);
  void set_concurrency(unsigned concurrency) { set_concurrency(concurrency, budget_); }
  unsigned concurrency() const;
  size_t waiting() const { return waiting_.load(std::memory_order_relaxed); }  // tasks submitted and not begun
  const Counter& busy_ns() const { return busy_ns_; }  // CPU time of all tasks, a slice (1 ms and a task) late at most
  // CPU time of all tasks with the time that running slices last already, which may have waited for a core: a task that
  // never gives way is seen before its end. May go back a little.
  uint64_t busy_now_ns() const;

  // The task must stay until it has run; a task is in at most one lane at a time.
  void submit(Lane& lane, FairTask& task);
  // Within a task, on its thread: the task could stop here for a while. Returns at once where nobody waits; else the
  // call may block until it is the task's turn again. No lock may be held that other tasks need. Returns for how long
  // the task was parked.
  uint64_t give_way(unsigned thread) {
    const bool is_asked = waiting_.load(std::memory_order_relaxed) > 0 || parked_.load(std::memory_order_relaxed) > 0;
    return is_asked ? park_if_due(thread) : 0;
  }

 private:
  // The use of a lane beside the lanes of its group, or of a group beside the groups.
  struct Share {
    double weight = 1;
    double virtual_ns = 0;    // CPU time by weight, with what running slices will probably cost
    uint64_t slept_ns = 0;    // monotonic: since when it has had no task
    uint64_t idle_ns = 0;     // monotonic: since when it has had no waiting task
    size_t waiting = 0;       // tasks
    unsigned slices = 0;      // threads that run its tasks and have not charged them yet
    unsigned dear = 0;        // threads whose slice is a dear one
    unsigned parked = 0;      // threads whose tasks of it are parked
    bool has_served = false;  // else it begins where the others are
    bool is_waiting() const { return waiting || parked; }
    bool is_busy() const { return is_waiting() || slices; }
  };

 public:
  // Lanes that always have tasks waiting get CPU time in the ratio of their weights, which are above 0, and so do
  // groups. Any thread.
  class Group {
   public:
    explicit Group(FairPool& pool, double weight = 1.0);
    ~Group();  // after its lanes
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;
    void set_weight(double weight);
    double weight() const;

   private:
    friend class FairPool;
    FairPool& pool_;
    Share share_;  // guarded by the pool's mutex, as are the following
    std::vector<Lane*> lanes_;
    double served_at_ns_ = 0;  // virtual: where the lane stood that was served last
  };

  // A queue of tasks in the order of submission. Its owner must outlive its tasks.
  class Lane {
   public:
    // Without join() the lane forms a group alone, which has the lane's weight.
    explicit Lane(FairPool& pool, double weight = 1.0);
    ~Lane();  // waits for its tasks; never on a pool thread
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;
    const Counter& busy_ns() const { return busy_ns_; }
    // Among the lanes of its group. Any thread.
    void set_weight(double weight);
    double weight() const;
    // From now on a lane of `group`. Precondition: it has no task, and nobody submits one meanwhile.
    void join(std::shared_ptr<Group> group);

   private:
    friend class FairPool;
    bool is_dear() const { return !is_known_ || expected_ns_ > static_cast<double>(kDearNs); }
    bool is_long() const { return !is_known_ || expected_ns_ > static_cast<double>(kLongNs); }
    void enlist(std::shared_ptr<Group> group);  // under the lock

    FairPool& pool_;
    std::shared_ptr<Group> group_;  // guarded by the pool's mutex, as are the following
    bool is_alone_ = true;
    Share share_;
    FairTask* first_ = nullptr;
    FairTask* last_ = nullptr;
    bool is_known_ = false;   // a slice has been charged
    double expected_ns_ = 0;  // what a slice costs: rises at once, falls slowly
    Counter busy_ns_;
  };

 private:
  // Successive tasks of one lane on one thread; no lane: none is open.
  struct Slice {
    Lane* lane = nullptr;
    uint64_t start_ns = 0;  // monotonic, of the part since its task last gave way
    uint64_t cpu_ns = 0;    // the thread's CPU time at the last charge
    double paid_ns = 0;     // counted in advance, of that part
    double before_ns = 0;   // what was used before that part, and is charged
    uint64_t turn_ns = 0;   // monotonic: when it began, or went on after it was parked
    bool is_dear = false;
  };
  // A thread's state: idle, or awake (from the moment it is called), and then maybe still on its way to its first task.
  // One idle thread looks again and again while tasks wait that may not begin yet.
  struct PoolThread {
    std::condition_variable call;
    bool idle = false, called = false, looks = false, parked = false;
    Slice slice;  // its thread's own but for what look_at_slices() adds
  };
  // The lanes or groups beside a lane or group, where they have tasks.
  struct Rivals {
    double least_ns = 0;  // the least virtual time among them
    double weight = 0;    // of all; 0: there are none
    void add(const Share& share);
  };

  void serve(unsigned thread);
  bool may_serve(unsigned thread) const;
  void rest(unsigned thread, std::unique_lock<std::mutex>& lock);
  void await_call(PoolThread& own, std::unique_lock<std::mutex>& lock);
  uint64_t park_if_due(unsigned thread);
  static bool must_park(const Slice& slice, const Lane* waiting, const PoolThread* parked, uint64_t now_ns);
  void park(PoolThread& own, PoolThread& other, std::unique_lock<std::mutex>& lock);
  void go_on(PoolThread& parked);
  void count(const Slice& slice, bool runs);
  void count_dear(const Slice& slice, bool runs);
  PoolThread* next_parked(uint64_t now_ns) const;
  PoolThread* idle_thread() const;
  void call(PoolThread& idle);
  unsigned seats(uint64_t now_ns) const;
  unsigned seats() const;
  bool may_begin(const Lane& lane, uint64_t now_ns) const;
  static bool is_behind(const Lane& one, const Lane& other);
  FairTask* take(Lane& lane);
  static bool may_go_on(const Slice& slice);
  void enter(Slice& slice, Lane& lane);
  void charge(Slice& slice, uint64_t cpu_now_ns);
  void charge_part(Slice& slice, uint64_t cpu_now_ns);
  void charge_on_the_way(Slice& slice, uint64_t cpu_now_ns, uint64_t now_ns);
  static void keep_place(Share& share, double before_ns, const Rivals& rivals);
  static void pay(Lane& lane, double ns);
  void expect(Lane& lane, double ns);
  Rivals rivals_of(const Group& group) const;
  static Rivals rivals_of(const Lane& lane);
  double place_of(const Group& group, uint64_t now_ns) const;
  double place_of(const Lane& lane, uint64_t now_ns) const;
  double place_of(const Share& share, const Rivals& rivals, double served_at_ns, uint64_t now_ns) const;
  void take_place(Lane& lane);
  void fall_asleep(Lane& lane);
  void look_at_slices(uint64_t now_ns);
  unsigned dear_max() const;
  bool is_full(uint64_t now_ns) const;
  bool has_cheap_neighbour(uint64_t now_ns) const;
  bool is_thread_wanted(uint64_t now_ns) const;
  static bool is_there(const Share& share, uint64_t now_ns);
  bool is_ahead(const Lane& lane, uint64_t now_ns) const;
  size_t startable() const;
  void call_for_waiting();
  void have_one_look();
  Lane* least_served();
  void hold_back(const Lane& served);

  const Clocks clocks_;
  const unsigned budget_;
  mutable std::mutex mutex_;
  std::condition_variable quiet_;
  std::vector<Group*> groups_;
  std::atomic<size_t> waiting_{0};   // written under the mutex
  std::atomic<unsigned> parked_{0};  // threads, written under the mutex
  unsigned dear_slices_ = 0;         // that run
  uint64_t looked_ns_ = 0;
  unsigned concurrency_, concurrency_max_;
  unsigned awake_ = 0;   // threads that are neither idle nor parked
  unsigned coming_ = 0;  // awake threads that were called and are not yet there: each will take a task
  bool has_looker_ = false;
  bool stopping_ = false;
  double served_at_ns_ = 0;  // virtual: where the group stood that was served last; others may stand far behind it
  Counter busy_ns_;
  std::vector<std::unique_ptr<PoolThread>> pool_threads_;
  std::vector<std::thread> threads_;
};

}  // namespace spdld
