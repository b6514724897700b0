#include "daemon/user/crew.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "config/segments.h"
#include "daemon/base/system/cpu.h"
#include "daemon/base/system/log.h"
#include "daemon/user/shared_file.h"

namespace spdld::user {
namespace {

constexpr int kLookMs = 100;  // how often times are looked at while somebody works
constexpr uint64_t kLookNsMin = 10'000'000;
constexpr uint32_t kWakes = UINT32_MAX;  // in the place of a worker's number

UniqueFd checked(int fd, const char* what) {
  if (fd < 0) refuse_descriptors(what);
  return UniqueFd(fd);
}

void watch(int poll, int fd, uint32_t number) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u32 = number;
  if (epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event) != 0) refuse_descriptors("epoll");
}

// Returns how long to wait behind it, in milliseconds: not at all.
int await_until(int poll, uint64_t end_ns) {
  const uint64_t now_ns = monotonic_ns();
  if (now_ns >= end_ns) return 0;
  const timespec left{0, static_cast<long>(end_ns - now_ns)};  // less than a second
  pollfd entry{poll, POLLIN, 0};
  static_cast<void>(ppoll(&entry, 1, &left, nullptr));
  return 0;
}

std::vector<uint64_t> bytes_of_records(std::span<const pipeline::Making* const> makings, bool is_placed) {
  std::vector<uint64_t> bytes;
  for (const pipeline::Making* const making : makings) bytes.push_back(record_bytes(*making, is_placed));
  return bytes;
}

// By errand, makings first.
std::vector<size_t> bunches_of(size_t makings, std::span<const pipeline::Errand* const> errands) {
  std::vector<size_t> bunches(makings);
  for (const pipeline::Errand* const errand : errands)
    bunches.push_back(std::min<size_t>(config::bunch_of(errand->ops.front()), proto::crew::kBunchMax));
  return bunches;
}

// By errand, as bunches_of(): times of makings are told by their stage alone.
std::vector<std::vector<OperationTime>> times_of_none(size_t makings,
                                                      std::span<const pipeline::Errand* const> errands) {
  std::vector<std::vector<OperationTime>> times(makings);
  for (const pipeline::Errand* const errand : errands)
    times.emplace_back(std::min<size_t>(errand->ops.size(), proto::crew::kOperationsTold));
  return times;
}

constexpr uint64_t kCallNsAtFirst = 1'000'000;

}  // namespace

Crew::Crew(Settings settings, Orders orders)
    : settings_(std::move(settings)),
      orders_(std::move(orders)),
      record_bytes_(bytes_of_records(settings_.makings, false)),
      rest_bytes_(bytes_of_records(settings_.makings, true)),
      bunches_(bunches_of(settings_.makings.size(), settings_.errands)),
      gathers_(std::ranges::any_of(bunches_, [](size_t bunch) { return bunch > 1; })),
      scratch_(settings_.scratch_bytes, [this] { on_given_back(); }),
      poll_(checked(epoll_create1(EPOLL_CLOEXEC), "epoll")),
      wake_(checked(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")),
      jobs_(bunches_.size()),
      passed_over_(bunches_.size()),
      ripe_(bunches_.size()),
      piece_bytes_(bunches_.size(), ScratchFile::kPieceBytesMin),
      times_(times_of_none(settings_.makings.size(), settings_.errands)),
      call_ns_(bunches_.size(), kCallNsAtFirst),
      in_flight_(bunches_.size()) {
  watch(poll_.get(), wake_.get(), kWakes);
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

Crew::~Crew() {
  thread_.request_stop();
  wake();
}

void Crew::wake() const {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t told = write(wake_.get(), &one, sizeof one);  // EAGAIN: it is awake already
}

void Crew::on_given_back() {
  if (wants_room_.load() && wants_room_.exchange(false)) wake();
}

void Crew::add(const Job& job) {
  {
    const std::lock_guard lock(mutex_);
    queue(job, false);
    hand_out();
    if (ended_.empty() && (ripe_ns_ == 0 || std::exchange(knows_ripe_, true))) return;
  }
  wake();  // the walker must not hear of an end within this call
}

void Crew::queue(const Job& job, bool is_first) {
  if (failure_)
    ended_.push_back({job, *failure_, {}});
  else if (!job.is_wanted())  // under the lock: drop_unwanted() comes after the flag, and finds the job or was before
                              // it
    end_unwanted(job);
  else if (is_first)
    jobs_.add_first(number_of(job.errand()), job);
  else
    add_new(number_of(job.errand()), job);
}

void Crew::add_new(uint32_t errand, Job job) {
  if (bunches_[errand] > 1) job.since_ns = monotonic_ns();
  jobs_.add(errand, job);
}

void Crew::end_unwanted(const Job& job) {
  ended_.push_back({job, Error{Trouble::kTransient, "nobody wants it any more"}, {}});
}

void Crew::drop_unwanted() {
  {
    const std::lock_guard lock(mutex_);
    jobs_.take_out([](const Job& job) { return !job.is_wanted(); }, [this](const Job& job) { end_unwanted(job); });
  }
  deliver();
}

void Crew::end_lending(const memory::SlotMemory& slot) {
  const std::lock_guard lock(mutex_);
  const auto ended = slots_.end(slot);
  if (!ended) return;
  for (const auto& [number, worker] : workers_) worker->take_slot(*ended);
}

size_t Crew::waiting() const {
  const std::lock_guard lock(mutex_);
  return jobs_.size();
}

void Crew::open() {
  {
    const std::lock_guard lock(mutex_);
    if (failure_) return;
    is_open_ = true;
    idle_deaths_ = 0;
    start_missing();
    hand_out();
  }
  deliver();
  wake();
}

void Crew::close() {
  {
    const std::lock_guard lock(mutex_);
    is_open_ = false;
    for (const auto& [number, worker] : workers_) end_worker(*worker, "was ended with its crew");
    for (auto& [number, gone] : gone_) gone.since_ns = 0;  // no reason comes any more
    note_closed();
  }
  deliver();
  wake();
}

bool Crew::is_closed() const {
  const std::lock_guard lock(mutex_);
  return !is_open_ && workers_.empty() && gone_.empty();
}

bool Crew::has_failed() const {
  const std::lock_guard lock(mutex_);
  return failure_.has_value();
}

void Crew::fail(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    fail_locked(error);
  }
  deliver();
}

void Crew::fail_locked(const Error& error) {
  if (failure_) return;
  failure_ = error;
  jobs_.take_out([](const Job&) { return true; }, [&](const Job& job) { ended_.push_back({job, error, {}}); });
  told_.emplace_back([this, error] { orders_.failed(error); });
}

void Crew::forget_failure() {
  const std::lock_guard lock(mutex_);
  if (!is_condemned_) failure_.reset();
}

void Crew::note_end(uint32_t worker, std::string how) {
  {
    const std::lock_guard lock(mutex_);
    const auto gone = gone_.find(worker);
    if (gone != gone_.end()) {
      if (gone->second.worker->end_reason.empty()) gone->second.worker->end_reason = std::move(how);
      Gone buried = std::move(gone->second);
      gone_.erase(gone);
      bury(std::move(buried));
    } else if (const auto at = workers_.find(worker); at != workers_.end() && at->second->end_reason.empty()) {
      at->second->end_reason = std::move(how);
    }
  }
  deliver();
  wake();  // another worker may have come in its place
}

void Crew::start_missing() {
  while (is_open_ && !failure_ && workers_.size() + gone_.size() < settings_.workers) start_worker();
}

// Precondition: the crew is open.
void Crew::start_worker() {
  try {
    auto worker = std::make_unique<Worker>(++last_number_);
    const uint32_t number = worker->number();
    watch(poll_.get(), worker->bell(), number);
    auto descriptors = std::make_shared<std::vector<UniqueFd>>(worker->take_descriptors());
    workers_.emplace(number, std::move(worker));
    working_++;
    told_.emplace_back([this, number, descriptors] { orders_.start(number, std::move(*descriptors)); });
  } catch (const SetupError& e) {
    fail_locked(e.error());
  }
}

void Crew::end_worker(Worker& worker, std::string why) {
  if (worker.state == Worker::State::kEnding) return;
  worker.state = Worker::State::kEnding;
  worker.end_reason = std::move(why);
  ending_since_ns_[worker.number()] = monotonic_ns();
  told_.emplace_back([this, number = worker.number()] { orders_.end(number); });
}

// News that was gathered under the lock is told without it.
void Crew::deliver() {
  std::vector<Ended> ended;
  std::vector<std::function<void()>> told;
  {
    const std::lock_guard lock(mutex_);
    ended.swap(ended_);
    told.swap(told_);
  }
  for (const auto& tell : told) tell();
  for (Ended& one : ended) one.job.customer->on_done(one.job, std::move(one.status), std::move(one.record));
}

void Crew::work(const std::stop_token& stop) {
  name_thread("user-code", 0);
  while (!stop.stop_requested()) {
    wait();
    for (Answer& answer : answers_) read_answer(answer);
    {
      const std::lock_guard lock(mutex_);
      ended_.reserve(ended_.size() + answers_.size());
      for (Answer& answer : answers_) settle(answer);
      answers_.clear();
      look_after_time(monotonic_ns());
      hand_out();
    }
    deliver();
    release();
  }
}

void Crew::note_closed() {
  if (!workers_.empty() || !gone_.empty()) return;
  release_is_due_ = true;
  told_.push_back(orders_.closed);
}

// On the crew's thread alone: to give many pages back takes long.
void Crew::release() {
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(release_is_due_, false)) return;
  }
  scratch_.release_pages();
}

// Until something has happened, or it is time to look. Takes the replies.
void Crew::wait() {
  std::array<epoll_event, 16> events;
  int timeout_ms = -1;
  uint64_t ripe_ns = 0;
  {
    const std::lock_guard lock(mutex_);
    bool may_sleep = true;
    for (const auto& [number, worker] : workers_) {
      // A worker that is to end is not listened to, and must not keep this thread awake.
      if (worker->state == Worker::State::kWorking) may_sleep = worker->begin_sleep() && may_sleep;
      if (worker->in_hand() > 0 || worker->state == Worker::State::kEnding) timeout_ms = kLookMs;
    }
    if (!gone_.empty()) timeout_ms = kLookMs;
    if (!may_sleep) timeout_ms = 0;
    sleeps_long_ = timeout_ms < 0;
    knows_ripe_ = ripe_ns_ > 0;
    ripe_ns = ripe_ns_;
  }
  if (ripe_ns > 0 && timeout_ms != 0) timeout_ms = await_until(poll_.get(), ripe_ns);
  const int count = epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
  const std::lock_guard lock(mutex_);
  sleeps_long_ = false;
  for (const auto& [number, worker] : workers_) {
    worker->end_sleep();
    take_replies(*worker);
  }
  for (int i = 0; i < count; i++) hear(events[static_cast<size_t>(i)].data.u32);
  hand_out();  // before results are read: nobody waits for that
}

void Crew::hear(uint32_t number) {
  if (number == kWakes) {
    uint64_t wakes = 0;
    [[maybe_unused]] const ssize_t got = read(wake_.get(), &wakes, sizeof wakes);
    return;
  }
  const auto at = workers_.find(number);
  if (at == workers_.end()) return;
  if (at->second->hear_bell()) {
    if (at->second->rings_too_often()) end_worker(*at->second, kLiar);
    return;
  }
  take_replies(*at->second);  // its last ones
  Gone gone{std::move(at->second), monotonic_ns()};
  workers_.erase(at);
  working_--;
  ending_since_ns_.erase(number);
  if (!gone.worker->end_reason.empty() || !is_open_)
    bury(std::move(gone));
  else
    gone_.emplace(number, std::move(gone));
}

void Crew::look_after_time(uint64_t now_ns) {
  if (now_ns - look_ns_ < kLookNsMin) return;
  look_ns_ = now_ns;
  for (const auto& [number, worker] : workers_) {
    if (worker->state == Worker::State::kWorking && is_late(*worker, now_ns))
      end_worker(*worker, "did not reply within " + std::to_string(settings_.call_limit_ns / 1'000'000) +
                              " ms (call_limit_s of [python]), and was ended");
  }
  condemn(now_ns);
  bury_due(now_ns);
}

// Where one call ends before the next one begins, a worker that replies to nothing is late. Where several are under
// way, each of them may be, whatever becomes of the others.
bool Crew::is_late(Worker& worker, uint64_t now_ns) const {
  if (worker.in_hand() == 0) return false;
  const uint64_t oldest_ns = worker.look(now_ns);
  if (oldest_ns > 0) return now_ns > oldest_ns + settings_.call_limit_ns + kCancelNsMax;
  return now_ns > worker.owes_since_ns() + settings_.call_limit_ns;
}

// A process that still holds the bell of a worker that was to end may write into the memory of samples for as long as
// it likes. So this crew makes nothing any more.
void Crew::condemn(uint64_t now_ns) {
  std::vector<uint32_t> late;
  for (const auto& [number, since_ns] : ending_since_ns_)
    if (now_ns > since_ns + kEndingNsMax) late.push_back(number);
  for (const uint32_t number : late) {
    is_condemned_ = true;
    is_open_ = false;
    fail_locked({Trouble::kInternal, "a process of user code can't be ended: end it by hand, and attach anew"});
    Gone gone{std::move(workers_.at(number)), now_ns};
    workers_.erase(number);
    working_--;
    ending_since_ns_.erase(number);
    bury(std::move(gone));
  }
}

void Crew::bury_due(uint64_t now_ns) {
  std::vector<uint32_t> due;
  for (const auto& [number, gone] : gone_)
    if (now_ns > gone.since_ns + kReasonNsMax) due.push_back(number);
  for (const uint32_t number : due) {
    Gone gone = std::move(gone_.at(number));
    gone_.erase(number);
    bury(std::move(gone));
  }
}

// Of a sample that its worker had begun. True: it is the second time.
bool Crew::note_death(const Call& call) {
  const pipeline::Passage& passage = *call.job.passage;
  const Place place{passage.sample, passage.pass, &call.job.errand()};
  if (deaths_at_.size() >= kDiedMax) deaths_at_.erase(deaths_at_.begin());
  if (++deaths_at_[place] == 1) return false;
  deaths_at_.erase(place);
  return true;
}

// The worker is gone. Its samples begin anew. All calls that it had begun may have ended it, and each is tried alone.
void Crew::bury(Gone gone) {
  Worker& worker = *gone.worker;
  const bool is_ending = worker.state == Worker::State::kEnding;
  const auto has_begun = [&](const Call& call) { return worker.has_begun(call); };
  const bool none_has_begun = std::ranges::none_of(worker.calls(), has_begun);
  const Call* const owed = none_has_begun && is_ending && !worker.calls().empty() ? &worker.calls().front() : nullptr;
  const bool is_blamed = is_open_ || !is_ending;  // else the crew has ended it
  const std::string how = worker.end_reason.empty() ? "has ended" : worker.end_reason;
  if (none_has_begun && owed == nullptr && is_open_ && worker.replied == 0) idle_deaths_++;
  for (Call& call : worker.calls()) {
    if (call.piece != nullptr) scratch_.give_back(call.piece, call.piece_bytes);
    Error error{Trouble::kTransient, "its process " + how};
    const bool is_guilty = is_blamed && (&call == owed || has_begun(call));
    if (is_guilty && call.job.is_wanted() && note_death(call))
      error = {Trouble::kContent, name_of(call.job.errand()) + ": its process " + how};
    ended_.push_back({call.job, error, {}});
  }
  if (!how.empty() && is_open_)
    log::limited(log::Level::kWarn, {settings_.pipeline}, "pipeline {}: a process of user code {}", settings_.pipeline,
                 how);
  if (idle_deaths_ >= kDeathsMax)
    fail_locked({Trouble::kUsage, "the processes of user code end as soon as they start: the last one " + how});
  start_missing();
  if (!is_open_) note_closed();
}

}  // namespace spdld::user
