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
// Half of a lane's places: the rest is for results that are dropped and not yet read.
constexpr size_t kInHandMax = crew::kPlaces / 2;
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

bool is_tensor(const config::Signature& signature) { return signature.kind() == config::SignatureKind::kTensor; }

}  // namespace

std::string name_of(const pipeline::Errand& errand) {
  std::string name;
  for (const config::OperationSpec& op : errand.ops) name += (name.empty() ? "" : ", ") + op.text("call");
  return name;
}

uint64_t record_bytes(const pipeline::Making& making) {
  std::vector<uint64_t> bytes;
  for (const config::NamedValueType& value : making.values) {
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

// The result has one size, so that there is all the room for it that there can be.
bool Crew::is_fixed(const Job& job) const {
  if (job.making != nullptr) return record_bytes_[number_of(*job.making)] > 0;
  return is_tensor(job.errand().gives) && job.errand().gives.is_fixed();
}

size_t Crew::depth() const {
  return std::clamp<size_t>(kQueuedNs / std::max<uint64_t>(call_ns_, 1), kInHandMin, kInHandMax);
}

Worker* Crew::least_busy() {
  Worker* least = nullptr;
  for (const auto& [number, worker] : workers_) {
    if (worker->state != Worker::State::kWorking || worker->in_hand() >= depth()) continue;
    if (least == nullptr || worker->in_hand() < least->in_hand()) least = worker.get();
  }
  return least;
}

// Makings that wait for scratch memory keep nobody else waiting, since others may give memory back.
void Crew::hand_out() {
  bool has_room = true;
  for (auto at = jobs_.begin(); is_open_ && at != jobs_.end();) {
    const Job job = *at;
    if (job.making != nullptr && !has_room) {
      ++at;
      continue;
    }
    Worker* const worker = least_busy();
    if (worker == nullptr) return;
    if (!job.is_wanted()) {  // of a batch that a seek has left
      at = jobs_.erase(at);
      end_unwanted(job);
    } else if (send(*worker, job)) {
      at = jobs_.erase(at);
      if (std::exchange(sleeps_long_, false)) wake();
    } else {
      has_room = false;
    }
  }
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
bool Crew::send(Worker& worker, const Job& job) {
  pipeline::Passage& passage = *job.passage;
  const pipeline::Errand& errand = job.errand();
  const uint32_t number = number_of(errand);
  Call call{.job = job};
  crew::Task task{};
  if (job.making != nullptr) {
    call.piece_bytes = is_fixed(job) ? record_bytes_[number] : piece_bytes_[number];
    call.piece = take_for_record(call.piece_bytes);
    if (call.piece == nullptr) return false;
    task.room = scratch_.extent_of(call.piece, call.piece_bytes);
    task.index = job.index;
  } else if (Status ready = lay_out(job, call, task); !ready) {
    ended_.push_back({job, std::move(ready), {}});
    return true;
  }
  task.kind = crew::TaskKind::kCall;
  task.errand = number;
  task.key = key_of(settings_.seed, passage);
  task.sample = passage.sample;
  worker.call(call, task, monotonic_ns());
  return true;
}

// The value that operations take, and the room for the value that they give.
Status Crew::lay_out(const Job& job, Call& call, crew::Task& task) {
  pipeline::Passage& passage = *job.passage;
  const pipeline::Errand& errand = job.errand();
  const media::Carried& from = passage.carried[errand.from];
  media::Carried& to = passage.carried[errand.to];
  if (is_fixed(job)) {
    const Result<uint8_t*> opened = to.open(errand.gives.shape());
    if (!opened) return opened.error();
    if (scratch_.holds(*opened)) task.room = scratch_.extent_of(*opened, to.bytes());
    call.piece_bytes = scratch_.holds(*opened) ? 0 : std::max<uint64_t>(to.bytes(), 1);
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
  if (reply.kind > crew::ReplyKind::kBad) return end_worker(worker, kLiar);
  std::optional<Call> call = worker.answered(reply, now_ns);
  if (!call) return end_worker(worker, kLiar);
  idle_deaths_ = 0;
  if (reply.kind != crew::ReplyKind::kNeedsRoom)
    answers_.push_back({*call, reply, std::move(text), Done{}, {}});
  else if (is_fixed(call->job))  // it had all the room that there can be
    end_worker(worker, kLiar);
  else
    give_room(worker, *call, reply);
}

// Without the lock: results may be large, and threads that hand jobs in must not wait for their copies.
void Crew::read_answer(Answer& answer) {
  Call& call = answer.call;
  answer.reply.call_ns = std::min<uint64_t>(answer.reply.call_ns, settings_.call_limit_ns);
  if (answer.reply.kind == crew::ReplyKind::kDone && call.job.making != nullptr)
    answer.status = take_record(call, answer.reply, answer.record);
  else if (answer.reply.kind == crew::ReplyKind::kDone)
    answer.status = take_result(call, answer.reply);
  else
    answer.status =
        Error{Trouble::kContent, answer.text.empty() ? name_of(call.job.errand()) + " failed" : std::move(answer.text)};
  if (call.piece != nullptr) scratch_.give_back(call.piece, call.piece_bytes);
}

void Crew::settle(Answer answer) {
  Job& job = answer.call.job;
  call_ns_ = (7 * call_ns_ + answer.reply.call_ns) / 8;
  if (!deaths_at_.empty()) deaths_at_.erase({job.passage->sample, job.passage->pass, &job.errand()});
  job.call_ns += answer.reply.call_ns;
  job.done++;
  if (answer.status && job.done < job.errands->size())
    queue(job, true);
  else
    ended_.push_back({job, std::move(answer.status), std::move(answer.record)});
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
  ended_.push_back({at->job, error, {}});
  worker.calls().erase(at);
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
  const uint64_t wanted = record_bytes_[number_of(*call.job.making)];
  if (reply.bytes > call.piece_bytes || (wanted > 0 && reply.bytes != wanted) || reply.shape.dimensions != 0)
    return Error{Trouble::kContent, name_of(*call.job.making) + ": its result has another size"};
  record = ScratchPiece(scratch_, std::exchange(call.piece, nullptr), call.piece_bytes, reply.bytes);
  return Done{};
}

}  // namespace spdld::user
