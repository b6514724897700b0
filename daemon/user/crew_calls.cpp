// How jobs become tasks of workers, and replies become results.
#include <algorithm>
#include <cstring>

#include "config/catalogue.h"
#include "config/text/dtype.h"
#include "daemon/base/random.h"
#include "daemon/base/system/cpu.h"
#include "daemon/user/crew.h"
#include "proto/crew/record.h"

namespace spdld::user {
namespace {

namespace crew = proto::crew;

constexpr uint64_t kQueuedNs = 1'000'000;  // of calls that a worker has in hand, about
// Of a lane's places: as many are for results that are dropped and not yet read, and the rest for news of slots.
constexpr size_t kInHandMax = (crew::kPlaces - Worker::kSlotTasksMax) / 2;
constexpr size_t kInHandMin = 2;  // so that a worker need not wait for its next task

uint64_t key_of(uint64_t seed, const pipeline::Passage& passage) {
  static const uint64_t name = draw_key("python");
  return Draw(seed, passage.pass, passage.sample, name).bits64();
}

crew::Shape shape_of(std::span<const int64_t> sizes) {
  crew::Shape shape{};
  shape.dimensions = static_cast<uint32_t>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), shape.sizes);
  return shape;
}

// The function that dropped a sample. A worker's word is no more than a place in a list.
std::string dropper_of(const pipeline::Errand& errand, const crew::Reply& reply) {
  const config::OperationSpec* const op = reply.bytes < errand.ops.size() ? &errand.ops[reply.bytes] : nullptr;
  return op == nullptr ? name_of(errand) : op->text("call");
}

bool is_tensor(const config::Signature& signature) { return signature.kind() == config::SignatureKind::kTensor; }

}  // namespace

std::string name_of(const pipeline::Errand& errand) {
  std::string name;
  for (const config::OperationSpec& op : errand.ops) name += (name.empty() ? "" : ", ") + op.text("call");
  return name;
}

uint64_t record_bytes(const pipeline::Making& making, bool is_placed) {
  std::vector<uint64_t> bytes;
  for (const config::NamedValueType& value : making.values) {
    if (is_placed && making.may_place(bytes.size())) {
      bytes.push_back(0);
      continue;
    }
    const auto raw = config::raw_values(value.type);
    if (!raw || !raw->shape) return 0;
    bytes.push_back(config::dtype_bytes(*raw->dtype));
    for (const int64_t size : *raw->shape) bytes.back() *= static_cast<uint64_t>(size);
  }
  const uint64_t last = bytes.empty() ? 0 : bytes.back();
  if (!bytes.empty()) bytes.pop_back();
  return crew::value_offset(bytes, making.values.size()) + last;
}

uint32_t Crew::number_of(const pipeline::Errand& errand) const {
  for (uint32_t i = 0; i < settings_.makings.size(); i++)
    if (settings_.makings[i] == &errand) return i;
  const auto at = std::find(settings_.errands.begin(), settings_.errands.end(), &errand);
  return static_cast<uint32_t>(settings_.makings.size()) + static_cast<uint32_t>(at - settings_.errands.begin());
}

// Of a making's record, as its job is laid out; 0: records differ.
uint64_t Crew::record_bytes_of(const Job& job) const {
  return (job.is_placed ? rest_bytes_ : record_bytes_)[number_of(*job.making)];
}

// The result has one size, so that there is all the room for it that there can be.
bool Crew::is_fixed(const Job& job) const {
  if (job.making != nullptr) return record_bytes_of(job) > 0;
  return is_tensor(job.errand().gives) && job.errand().gives.is_fixed();
}

// How many samples a worker works on in about kQueuedNs.
size_t Crew::short_calls(uint32_t errand) const { return kQueuedNs / std::max<uint64_t>(call_ns_[errand], 1); }

// How many calls of the errand a worker may have in hand. Behind a bunch whose call is not short no other one lies
// ready: it would keep its samples from a worker that is free before, and part of a bunch would be called without the
// rest.
size_t Crew::depth_of(uint32_t errand) const {
  if (in_flight_[errand] > 0) return in_flight_[errand] + kInHandMin;
  const size_t bunch = bunches_[errand];
  if (bunch > 0) return short_calls(errand) >= bunch ? std::max(2 * bunch, kInHandMin) : bunch;
  return std::clamp(short_calls(errand), kInHandMin, kInHandMax);
}

// The least busy worker. But samples for a function that takes several go to the same worker until it has enough of
// them for the time of a short call: with one sample each, all workers would be awake for calls of one sample.
Worker* Crew::worker_for(uint32_t errand) {
  const size_t depth = depth_of(errand), enough = std::min(bunches_[errand], short_calls(errand));
  const bool flies = in_flight_[errand] > 0;
  Worker* best = nullptr;
  size_t best_in_hand = 0;
  for (const auto& [number, worker] : workers_) {
    if (worker->state != Worker::State::kWorking || !worker->has_place()) continue;
    const size_t in_hand = flies ? worker->flying() : worker->in_hand() - worker->flying();
    if (in_hand >= depth || worker->in_hand() >= kInHandMax) continue;
    const bool is_begun = in_hand > 0 && in_hand < enough;
    const bool best_is_begun = best_in_hand > 0 && best_in_hand < enough;
    if (best != nullptr &&
        (best_is_begun ? !is_begun || in_hand <= best_in_hand : !is_begun && in_hand >= best_in_hand))
      continue;
    best = worker.get();
    best_in_hand = in_hand;
  }
  return best;
}

// How many jobs of the errand may be handed out: whole bunches, or all of them where the first one has waited for long.
size_t Crew::ripe(uint32_t errand, uint64_t now_ns) const {
  const size_t waiting = jobs_.size(errand), bunch = bunches_[errand];
  if (bunch <= 1 || waiting == 0) return waiting;
  return now_ns >= jobs_.first(errand).since_ns + kGatherNs ? waiting : waiting / bunch * bunch;
}

// When the next job will have waited for long; 0: none is to wait, but for a worker.
uint64_t Crew::next_ripe_ns(uint64_t now_ns) const {
  uint64_t next_ns = 0;
  for (uint32_t errand = 0; gathers_ && errand < bunches_.size(); errand++) {
    if (bunches_[errand] <= 1 || jobs_.size(errand) == 0) continue;
    const uint64_t ripe_ns = jobs_.first(errand).since_ns + kGatherNs;
    if (ripe_ns > now_ns && (next_ns == 0 || ripe_ns < next_ns)) next_ns = ripe_ns;
  }
  return next_ns;
}

// The oldest jobs first. An errand is passed over where no worker can take more of its jobs now. Makings that wait for
// scratch memory keep nobody else waiting, since others may give memory back. Workers are told at the end, of all their
// samples at once.
void Crew::hand_out() {
  ripe_ns_ = 0;
  if (!is_open_ || jobs_.size() == 0) return;
  const uint64_t now_ns = gathers_ ? monotonic_ns() : 0;
  for (uint32_t errand = 0; errand < bunches_.size(); errand++) {
    ripe_[errand] = ripe(errand, now_ns);
    passed_over_[errand] = ripe_[errand] == 0;
  }
  bool is_any_sent = false;
  while (const std::optional<uint32_t> errand = jobs_.oldest(passed_over_)) {
    const Job job = jobs_.first(*errand);
    Worker* const worker = worker_for(*errand);
    if (worker == nullptr) {
      passed_over_[*errand] = true;
    } else if (!job.is_wanted()) {  // of a batch that a seek has left
      jobs_.drop_first(*errand);
      end_unwanted(job);
    } else if (send(*worker, *errand, job)) {
      jobs_.drop_first(*errand);
      passed_over_[*errand] = --ripe_[*errand] == 0;
      is_any_sent = true;
    } else {
      std::fill_n(passed_over_.begin(), settings_.makings.size(), true);
    }
  }
  if (gathers_) ripe_ns_ = next_ripe_ns(now_ns);
  if (!is_any_sent) return;
  for (const auto& [number, worker] : workers_) worker->tell();
  if (std::exchange(sleeps_long_, false)) wake();
}

// Records leave some memory to what operations take and give. Null: there is no room now, and the crew's thread looks
// again when some was given back.
uint8_t* Crew::take_for_record(uint64_t bytes) {
  const uint64_t most = settings_.errands.empty() ? scratch_.bytes() : scratch_.bytes() / 4 * 3;
  const auto take = [&]() -> uint8_t* {
    return scratch_.taken_bytes() + bytes > most ? nullptr : scratch_.take(bytes);
  };
  if (uint8_t* const memory = take()) return memory;
  wants_room_.store(true);
  return take();  // what was given back just before
}

// False: it is to wait for scratch memory. A job of operations for whose result there is no memory ends, and comes back
// later.
bool Crew::send(Worker& worker, uint32_t number, const Job& job) {
  pipeline::Passage& passage = *job.passage;
  Call call{.job = job, .is_alone = job.is_alone, .flies = in_flight_[number] > 0};
  if (!deaths_at_.empty() && deaths_at_.contains({passage.sample, passage.pass, &job.errand()})) call.is_alone = true;
  call.may_be_bunched = bunches_[number] > 0 && !call.is_alone;
  crew::Task task{};
  if (job.making != nullptr) {
    if (!lay_out_record(worker, call, task)) return false;
  } else if (Status ready = lay_out(worker, job, call, task); !ready) {
    ended_.push_back({job, std::move(ready), {}});
    return true;
  }
  task.kind = crew::TaskKind::kCall;
  task.errand = number;
  task.key = key_of(settings_.seed, passage);
  task.sample = passage.sample;
  task.is_alone = call.is_alone ? 1 : 0;
  worker.call(call, task, monotonic_ns());
  return true;
}

// Null: the worker can't write into the sample's slot.
const LentSlot* Crew::slot_for(Worker& worker, const pipeline::Passage& passage) {
  const LentSlot* const slot = slots_.lend(passage.slot_memory);
  return slot != nullptr && worker.has_slot(*slot) ? slot : nullptr;
}

// The record of an item. Values that are the batch's as they are lie in the slot, where the worker can write there.
// False: there is no room for the rest now.
bool Crew::lay_out_record(Worker& worker, Call& call, crew::Task& task) {
  const pipeline::Making& making = *call.job.making;
  const pipeline::Passage& passage = *call.job.passage;
  const LentSlot* const slot = call.job.may_be_placed ? slot_for(worker, passage) : nullptr;
  call.job.is_placed = slot != nullptr;
  const uint64_t bytes = record_bytes_of(call.job);
  call.piece_bytes = bytes > 0 ? bytes : piece_bytes_[number_of(making)];
  call.piece = take_for_record(call.piece_bytes);
  if (call.piece == nullptr) return false;
  task.room = scratch_.extent_of(call.piece, call.piece_bytes);
  task.index = call.job.index;
  std::fill(std::begin(task.value_at), std::end(task.value_at), crew::kInRecord);
  if (slot == nullptr) return true;
  task.slot = call.slot = slot->number;
  static_assert(pipeline::Making::kPlacedMax == crew::kPlacedMax);
  for (size_t i = 0; i < making.tensors.size(); i++)
    if (making.may_place(i))
      task.value_at[i] = static_cast<uint64_t>(
          passage.layout->sample_at(passage.slot, *making.tensors[i], passage.index) - slot->start);
  return true;
}

// The value that operations take, and the room for the value that they give.
Status Crew::lay_out(Worker& worker, const Job& job, Call& call, crew::Task& task) {
  pipeline::Passage& passage = *job.passage;
  const pipeline::Errand& errand = job.errand();
  const media::Carried& from = passage.carried[errand.from];
  media::Carried& to = passage.carried[errand.to];
  if (is_fixed(job)) {
    const Result<uint8_t*> opened = to.open(errand.gives.shape());
    if (!opened) return opened.error();
    if (scratch_.holds(*opened)) {
      task.room = scratch_.extent_of(*opened, to.bytes());
    } else if (const LentSlot* const slot = slot_for(worker, passage)) {
      task.slot = call.slot = slot->number;
      task.room = slot->extent_of(*opened, to.bytes());
    } else {
      call.piece_bytes = std::max<uint64_t>(to.bytes(), 1);
    }
  } else {
    call.piece_bytes = piece_bytes_[number_of(errand)];
  }
  if (call.piece_bytes > 0) {
    call.piece = scratch_.take(call.piece_bytes);
    if (call.piece == nullptr) return Error{Trouble::kMemory, {}};
    task.room = scratch_.extent_of(call.piece, is_fixed(job) ? to.bytes() : call.piece_bytes);
  }
  task.input = scratch_.extent_of(from.memory(), from.bytes());
  if (is_tensor(errand.takes)) task.input_shape = shape_of(from.shape());
  return Done{};
}

void Crew::take_replies(Worker& worker) {
  const uint64_t now_ns = monotonic_ns();
  for (uint32_t i = 0; i < crew::kPlaces && worker.state == Worker::State::kWorking; i++) {
    crew::Reply reply;
    std::string text;
    const crew::Taken taken = worker.take_reply(reply, text);
    if (taken == crew::Taken::kNothing) return;
    if (taken == crew::Taken::kLie) return end_worker(worker, kLiar);
    take_reply(worker, reply, std::move(text), now_ns);
  }
}

void Crew::take_reply(Worker& worker, const crew::Reply& reply, std::string text, uint64_t now_ns) {
  if (reply.kind > crew::ReplyKind::kNoSlot) return end_worker(worker, kLiar);
  std::optional<Call> call = worker.answered(reply, now_ns);
  if (!call) return end_worker(worker, kLiar);
  if (reply.kind == crew::ReplyKind::kNoSlot) return send_elsewhere(worker, *call);  // it has begun nothing
  const uint32_t errand = number_of(call->job.errand());
  if (call->job.making == nullptr && bunches_[errand] == 0) in_flight_[errand] = worker.in_flight_of(*call);
  idle_deaths_ = 0;
  if (reply.kind != crew::ReplyKind::kNeedsRoom)
    answers_.push_back({*call, reply, std::move(text), Done{}, {}});
  else if (is_fixed(call->job))  // it had all the room that there can be
    end_worker(worker, kLiar);
  else
    give_room(worker, *call, reply);
}

// The sample's result then goes over the scratch memory.
void Crew::send_elsewhere(Worker& worker, const Call& call) {
  worker.note_refused(call.slot);
  if (call.piece != nullptr) scratch_.give_back(call.piece, call.piece_bytes);
  queue(call.job, true);
}

// Without the lock: results may be large, and threads that hand jobs in must not wait for their copies.
void Crew::read_answer(Answer& answer) {
  Call& call = answer.call;
  answer.reply.call_ns = std::min<uint64_t>(answer.reply.call_ns, settings_.call_limit_ns);
  if (answer.reply.kind == crew::ReplyKind::kAgain)
    answer.status = Error{Trouble::kTransient, {}};
  else if (answer.reply.kind == crew::ReplyKind::kDone && call.job.making != nullptr)
    answer.status = take_record(call, answer.reply, answer.record);
  else if (answer.reply.kind == crew::ReplyKind::kDone)
    answer.status = take_result(call, answer.reply);
  else if (answer.reply.kind == crew::ReplyKind::kDropped)
    answer.status = Error{Trouble::kDropped, dropper_of(call.job.errand(), answer.reply) + " dropped it"};
  else
    answer.status =
        Error{Trouble::kContent, answer.text.empty() ? name_of(call.job.errand()) + " failed" : std::move(answer.text)};
  if (call.piece != nullptr) scratch_.give_back(call.piece, call.piece_bytes);
}

void Crew::settle(Answer& answer) {
  Job& job = answer.call.job;
  const uint32_t errand = number_of(job.errand());
  note_times(errand, answer.reply);
  job.call_ns += answer.reply.call_ns;
  job.is_alone = answer.reply.kind == crew::ReplyKind::kAgain;
  if (job.is_alone) return queue(job, true);
  uint64_t& call_ns = call_ns_[errand];
  call_ns = (7 * call_ns + answer.reply.call_ns) / 8;
  if (!deaths_at_.empty()) deaths_at_.erase({job.passage->sample, job.passage->pass, &job.errand()});
  job.done++;
  if (answer.status && job.done < job.errands->size())
    queue(job, true);
  else
    ended_.push_back({job, std::move(answer.status), std::move(answer.record)});
}

// The worker's word, within the time that the call can have taken.
void Crew::note_times(uint32_t errand, const crew::Reply& reply) {
  std::vector<OperationTime>& times = times_[errand];
  for (size_t i = 0; i < times.size(); i++) {
    if (reply.operation_ns[i] == 0) continue;  // one before it has failed
    if (reply.kind != crew::ReplyKind::kAgain) times[i].samples++;
    times[i].ns += std::min(reply.operation_ns[i], reply.call_ns);
  }
}

std::vector<OperationTime> Crew::times_of(const pipeline::Errand& errand) const {
  const std::lock_guard lock(mutex_);
  return times_[number_of(errand)];
}

// The piece is exchanged for one of the size that the result has. Without memory the job begins anew later. A result is
// too large or not whatever memory is free at the moment.
void Crew::give_room(Worker& worker, const Call& call, const crew::Reply& reply) {
  const auto at = std::find_if(worker.calls().begin(), worker.calls().end(),
                               [&](const Call& one) { return one.number == call.number; });
  const uint32_t number = number_of(call.job.errand());
  crew::Task task{};
  task.number = call.number;
  if (at->piece != nullptr) scratch_.give_back(at->piece, at->piece_bytes);
  at->piece_bytes = std::max<uint64_t>(reply.bytes, 1);
  const bool is_too_large = reply.bytes > scratch_.bytes() / 4;
  at->piece = is_too_large ? nullptr : scratch_.take(at->piece_bytes);
  if (at->piece != nullptr) {
    piece_bytes_[number] = std::min(std::max(piece_bytes_[number], at->piece_bytes), scratch_.bytes() / 64);
    task.kind = crew::TaskKind::kRoom;
    task.room = scratch_.extent_of(at->piece, at->piece_bytes);
    worker.send(task);
    return;
  }
  task.kind = crew::TaskKind::kDrop;
  worker.send(task);
  Error error{Trouble::kMemory, {}};
  if (is_too_large)
    error = {Trouble::kContent, name_of(call.job.errand()) + " gave " + std::to_string(reply.bytes) +
                                    " bytes, and there is room for " + std::to_string(scratch_.bytes() / 4) +
                                    ": raise scratch under [python]"};
  ended_.push_back({worker.take_out(at).job, error, {}});
}

// The reply is held to the errand's signature.
Status Crew::take_result(const Call& call, const crew::Reply& reply) const {
  const pipeline::Errand& errand = call.job.errand();
  media::Carried& to = call.job.passage->carried[errand.to];
  const auto refuse = [&](const std::string& what) { return Error{Trouble::kContent, name_of(errand) + ": " + what}; };
  if (is_fixed(call.job)) {
    if (reply.bytes != to.bytes()) return refuse("its result has another size");
    if (call.piece != nullptr && reply.bytes > 0) std::memcpy(to.memory(), call.piece, reply.bytes);
    return Done{};
  }
  if (reply.bytes > call.piece_bytes || reply.shape.dimensions > crew::kDimensionsMax)
    return refuse("its result has another size");
  const Result<uint8_t*> opened =
      is_tensor(errand.gives) ? to.open({reply.shape.sizes, reply.shape.dimensions}) : to.open_bytes(reply.bytes);
  if (!opened) {
    if (opened.error().trouble == Trouble::kMemory) return opened.error();
    return refuse(opened.error().message);
  }
  if (to.bytes() != reply.bytes) return refuse("its result has another size");
  if (reply.bytes > 0) std::memcpy(*opened, call.piece, reply.bytes);
  return Done{};
}

// The piece becomes the record, which its worker may still write to.
Status Crew::take_record(Call& call, const crew::Reply& reply, ScratchPiece& record) {
  const uint64_t wanted = record_bytes_of(call.job);
  if (reply.bytes > call.piece_bytes || (wanted > 0 && reply.bytes != wanted) || reply.shape.dimensions != 0)
    return Error{Trouble::kContent, name_of(*call.job.making) + ": its result has another size"};
  record = ScratchPiece(scratch_, std::exchange(call.piece, nullptr), call.piece_bytes, reply.bytes);
  return Done{};
}

}  // namespace spdld::user
