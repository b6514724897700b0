#include "client/src/ring/ring.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "client/src/gpu/gpu_fault.h"
#include "client/src/ring/returns.h"
#include "client/src/ring/slot_import.h"
#include "client/src/ring/stats.h"
#include "proto/key_digests.h"
#include "proto/text.h"
#include "utf8/utf8.h"

namespace spdld::client {

namespace {

constexpr int64_t kRoomLook_ms = 10;
constexpr size_t kSourcesMax = 64, kSourceNameBytesMax = 64;

Position position_of(const proto::Position* told) { return told ? Position{told->epoch(), told->step()} : Position{}; }

// False: they are none, or too many.
bool read_sources(const proto::Attached& answer, Terms& terms) {
  std::vector<std::string> names;
  const auto* sources = answer.sources();
  if (sources && (sources->size() < 2 || sources->size() > kSourcesMax)) return false;
  for (flatbuffers::uoffset_t i = 0; sources && i < sources->size(); ++i) {
    names.emplace_back(proto::text_of(sources->Get(i)));
    const std::string& name = names.back();
    if (name.empty() || name.size() > kSourceNameBytesMax || !utf8::is_utf8(name) || utf8::has_control(name))
      return false;
  }
  terms.sources = std::make_shared<const Names>(std::move(names));
  return true;
}

// False: they are not as many as it says, or one is empty.
bool read_classes(const proto::Attached& answer, std::string_view in_memory, Terms& terms) {
  std::vector<std::string> names;
  terms.class_count = answer.class_count();
  const auto* inside = answer.classes();
  for (flatbuffers::uoffset_t i = 0; inside && i < inside->size(); ++i) {
    names.emplace_back(proto::text_of(inside->Get(i)));
  }
  while (!in_memory.empty()) {
    const size_t end = in_memory.find('\0');
    if (end == std::string_view::npos) return false;
    names.emplace_back(in_memory.substr(0, end));
    in_memory.remove_prefix(end + 1);
  }
  // A C text ends at its first NUL: a name with one inside would be another.
  const auto is_sound = [](const std::string& name) { return !name.empty() && name.find('\0') == std::string::npos; };
  if (!names.empty() && names.size() != terms.class_count) return false;
  if (!std::all_of(names.begin(), names.end(), is_sound)) return false;
  terms.classes = std::make_shared<const Names>(std::move(names));
  return true;
}

}  // namespace

std::string text_of(const Position& position) {
  return "epoch " + std::to_string(position.epoch) + ", step " + std::to_string(position.step);
}

bool Placement::is_like(const Placement& other) const {
  const auto is_plain = [](spdld_memory kind) { return kind == SPDLD_HOST || kind == SPDLD_PINNED; };
  return gpu == other.gpu && (memory == other.memory || (!is_plain(memory) && !is_plain(other.memory)));
}

CallOutcome Ring::adopt(std::shared_ptr<Connection> connection, const proto::Attached& answer,
                        std::vector<UniqueFd>& memory, const GpuRequest& gpus) {
  connection_ = std::move(connection);
  waited_before_us_ = connection_->waited_us();
  attachment_ = answer.attachment();
  first_ = position_of(answer.position());
  terms_.pipeline = proto::text_of(answer.pipeline());
  terms_.fingerprint = proto::text_of(answer.fingerprint());
  const bool named = proto::text_fault(proto::TextKind::kPipeline, terms_.pipeline).empty() &&
                     proto::text_fault(proto::TextKind::kFingerprint, terms_.fingerprint).empty();
  if (!named) return protocol_failure(*connection_, "ATTACHED with a name or a fingerprint that it can't have");
  terms_.key_digests = proto::text_of(answer.key_digests());
  if (!proto::text_fault(proto::TextKind::kKeyDigests, terms_.key_digests).empty())
    return protocol_failure(*connection_, "ATTACHED with digests of keys that it can't have");
  if (!proto::read_key_digests(terms_.key_digests)) terms_.key_digests.clear();
  terms_.batch_size = answer.batch_size();
  terms_.global_size = answer.global_size();
  terms_.samples = answer.samples();
  terms_.steps_per_epoch = answer.steps_per_epoch();
  terms_.epochs = answer.epochs();
  terms_.seed = answer.seed();
  terms_.push_steps_max = answer.push_steps_max();
  terms_.push_ids_max = answer.push_ids_max();
  terms_.writable = answer.access() == proto::Access::writable;
  if (answer.access() > proto::Access::MAX) return protocol_failure(*connection_, "an access it does not define");
  std::string classes;
  if (answer.classes_in_fd()) {  // behind the slots' descriptors
    const bool is_there = !memory.empty() && proto::text_from_memfd(memory.back().get(), proto::kTextBytesMax, classes);
    if (!is_there) return protocol_failure(*connection_, "ATTACHED without the classes that it announces");
    memory.pop_back();
  }
  if (!read_classes(answer, classes, terms_))
    return protocol_failure(*connection_, "ATTACHED with classes it can't have");
  if (!read_sources(answer, terms_)) return protocol_failure(*connection_, "ATTACHED with sources it can't have");
  terms_.missing = read_missing(answer);
  terms_.missing_count = std::max<uint64_t>(answer.missing_count(), terms_.missing.size());
  terms_.last_samples = std::min({answer.last_samples(), terms_.samples, terms_.global_size});
  terms_.empty_steps = std::min(answer.empty_steps(), terms_.steps_per_epoch);
  const bool counted = answer.slot_count() >= 1 && answer.slot_count() <= proto::kFdsMax;
  if (!counted || answer.slot_bytes() == 0) return protocol_failure(*connection_, "ATTACHED without slots");
  const bool finite = terms_.epochs == 0 || !(Position{terms_.epochs, 0} < first_);
  const bool counted_steps = terms_.steps_per_epoch != 0 && first_.step < terms_.steps_per_epoch;
  const bool pushed = terms_.is_pushed() && terms_.steps_per_epoch == 0;
  if (!(terms_.is_pushed() ? pushed : counted_steps) || !finite) {
    return protocol_failure(*connection_, "ATTACHED names a position that its epochs do not have");
  }
  terms_.shared = answer.shared();
  terms_.leases_max = answer.leases_max() ? std::min(answer.leases_max(), answer.slot_count()) : answer.slot_count();
  holds_.resize(answer.slot_count());
  CallOutcome imported = import_slots(*connection_, answer, memory, gpus, slots_);
  memory.clear();  // the mappings keep what they need
  if (!imported.ok()) return imported;
  placement_.memory = slots_->memory();
  const std::shared_ptr<cuda::Context> context = slots_->context();
  if (!context) return {};
  placement_.device = context->device().ordinal;
  placement_.gpu = cuda::uuid_text(context->device());
  placement_.ready_early = slots_->copied(0) != nullptr;
  try {
    work_ = std::make_unique<StreamWork>(context, slots_->count());
  } catch (const cuda::Fault& fault) {
    return outcome_of(fault);
  }
  return {};
}

bool Ring::take(uint32_t slot, uint64_t generation) {
  const std::lock_guard lock(mutex_);
  if (holds_[slot].state != State::kFree) return false;
  holds_[slot].state.change(State::kHeld);
  holds_[slot].generation = generation;
  taker_.store(::gettid(), std::memory_order_relaxed);
  return true;
}

void Ring::note_taken() {
  taken_.fetch_add(1, std::memory_order_relaxed);
  waited_us_.store(connection_->waited_us() - waited_before_us_, std::memory_order_relaxed);
}

void Ring::release(uint32_t slot, uint64_t generation) {
  connection_->release({attachment_, slot, generation, taken_.load(std::memory_order_relaxed),
                        waited_us_.load(std::memory_order_relaxed)});
}

bool Ring::has_room() const {
  const auto kept = std::count_if(holds_.begin(), holds_.end(), [](const Hold& hold) {
    return hold.state == State::kHeld || hold.state == State::kPutOff;
  });
  return static_cast<size_t>(kept) < terms_.leases_max;
}

CallOutcome Ring::room() const {
  size_t put_off = 0;
  {
    const std::lock_guard lock(mutex_);
    if (has_room()) return {};
    for (const Hold& hold : holds_) put_off += hold.state == State::kPutOff ? 1 : 0;
  }
  std::string text = "all " + std::to_string(terms_.leases_max) +
                     " batches that this loader may hold at once are held by this process";
  if (put_off > 0) text += " (" + std::to_string(put_off) + " until the capture of a stream that used them has ended)";
  return failure(SPDLD_LIMIT,
                 text +
                     ", so that no further batch can be filled: release one first (in Python, drop the batch and every "
                     "tensor made of it, or keep batch.copy() in its place), or raise held_max or prefetch_depth under "
                     "[batch] in the pipeline, whose sum this is");
}

uint32_t Ring::held_count() const {
  const std::lock_guard lock(mutex_);
  return static_cast<uint32_t>(std::count_if(holds_.begin(), holds_.end(), [](const Hold& hold) {
    return hold.state == State::kHeld || hold.state == State::kPutOff;
  }));
}

Wake Ring::wait_for_room(Deadline deadline) {
  {
    const std::lock_guard lock(mutex_);
    if (has_room()) return Wake::kReady;
    if (!freed_) freed_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    room_awaited_ = true;
    eventfd_t none = 0;
    if (freed_) ::eventfd_read(freed_.get(), &none);
  }
  // Without a descriptor nothing ends the wait early, so that it is a short one.
  const Wake wake =
      wait_for(freed_.get(), POLLIN, freed_ ? deadline : deadline.or_earlier(Deadline::after_ms(kRoomLook_ms)));
  const std::lock_guard lock(mutex_);
  room_awaited_ = false;
  return wake;
}

void Ring::set_free(uint32_t slot) {
  holds_[slot].state.change(State::kFree);
  if (room_awaited_ && freed_) ::eventfd_write(freed_.get(), 1);
}

std::vector<proto::LeaseId> Ring::held() const {
  const std::lock_guard lock(mutex_);
  std::vector<proto::LeaseId> held;
  for (uint32_t slot = 0; slot < holds_.size(); ++slot) {
    if (holds_[slot].state != State::kFree) held.emplace_back(holds_[slot].generation, slot);
  }
  return held;
}

void Ring::detach() {
  {
    const std::lock_guard lock(mutex_);
    detached_ = true;
  }
  if (work_) wait_for_streams();
  const std::vector<proto::LeaseId> kept = held();
  const auto is_kept = [&](uint32_t slot) {
    return std::any_of(kept.begin(), kept.end(), [slot](const proto::LeaseId& lease) { return lease.slot() == slot; });
  };
  // The daemon may free them as soon as it reads DETACH; without one it keeps them until this process has ended.
  for (uint32_t slot = 0; slot < slots_->count(); ++slot) {
    if (!is_kept(slot) && !slots_->close(slot)) return connection_->close();
  }
  flatbuffers::FlatBufferBuilder builder;
  const auto keeps = builder.CreateVectorOfStructs(kept);
  const auto body = proto::CreateDetach(builder, attachment_, keeps);
  if (!connection_->send(proto::finish(builder, proto::Body::Detach, body))) connection_->close();
}

}  // namespace spdld::client
