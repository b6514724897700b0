#include "client/src/ring.h"

#include <algorithm>

#include "client/src/gpu_fault.h"
#include "client/src/returns.h"
#include "client/src/slot_import.h"

namespace spdld::client {

namespace {

constexpr size_t kNameBytesMax = 4096;
constexpr size_t kSourcesMax = 64, kSourceNameBytesMax = 64;

Place place_of(const proto::Position* position) {
  return position ? Place{position->epoch(), position->step()} : Place{};
}

// False: they are none, or too many.
bool read_sources(const proto::Attached& answer, Terms& terms) {
  std::vector<std::string> names;
  const auto* sources = answer.sources();
  if (sources && (sources->size() < 2 || sources->size() > kSourcesMax)) return false;
  for (flatbuffers::uoffset_t i = 0; sources && i < sources->size(); ++i) {
    names.emplace_back(proto::text_of(sources->Get(i), kSourceNameBytesMax));
    if (names.back().empty()) return false;
  }
  terms.sources = std::make_shared<const SourceNames>(std::move(names));
  return true;
}

}  // namespace

std::string text_of(const Place& place) {
  return "epoch " + std::to_string(place.epoch) + ", step " + std::to_string(place.step);
}

bool Placement::is_like(const Placement& other) const {
  const auto is_plain = [](spdld_memory kind) { return kind == SPDLD_HOST || kind == SPDLD_PINNED; };
  return gpu == other.gpu && (memory == other.memory || (!is_plain(memory) && !is_plain(other.memory)));
}

Outcome Ring::adopt(std::shared_ptr<Connection> connection, const proto::Attached& answer,
                    std::vector<UniqueFd>& memory, const GpuRequest& gpus) {
  connection_ = std::move(connection);
  waited_before_us_ = connection_->waited_us();
  attachment_ = answer.attachment();
  first_ = place_of(answer.position());
  terms_.pipeline = proto::text_of(answer.pipeline(), kNameBytesMax);
  terms_.fingerprint = proto::text_of(answer.fingerprint(), kNameBytesMax);
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
  if (!read_sources(answer, terms_)) return protocol_failure(*connection_, "ATTACHED with sources it can't have");
  const bool counted = answer.slot_count() >= 1 && answer.slot_count() <= proto::kFdsMax;
  if (!counted || answer.slot_bytes() == 0) return protocol_failure(*connection_, "ATTACHED without slots");
  const bool finite = terms_.epochs == 0 || !(Place{terms_.epochs, 0} < first_);
  const bool counted_steps = terms_.steps_per_epoch != 0 && first_.step < terms_.steps_per_epoch;
  const bool pushed = terms_.is_pushed() && terms_.steps_per_epoch == 0;
  if (!(terms_.is_pushed() ? pushed : counted_steps) || !finite) {
    return protocol_failure(*connection_, "ATTACHED names a position that its epochs do not have");
  }
  terms_.shared = answer.shared();
  terms_.leases_max = answer.leases_max() ? std::min(answer.leases_max(), answer.slot_count()) : answer.slot_count();
  holds_.resize(answer.slot_count());
  Outcome imported = import_slots(*connection_, answer, memory, gpus, slots_);
  memory.clear();  // the mappings keep what they need
  if (!imported.ok()) return imported;
  placement_.memory = slots_->memory();
  const std::shared_ptr<cuda::Context> context = slots_->context();
  if (!context) return {};
  placement_.device = context->device().ordinal;
  placement_.gpu = cuda::to_text(context->device().uuid);
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
  holds_[slot] = {State::kHeld, generation};
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

Outcome Ring::room() const {
  size_t held = 0, put_off = 0;
  {
    const std::lock_guard lock(mutex_);
    for (const Hold& hold : holds_) {
      held += hold.state == State::kHeld ? 1 : 0;
      put_off += hold.state == State::kPutOff ? 1 : 0;
    }
  }
  if (held + put_off < terms_.leases_max) return {};
  std::string text =
      "all " + std::to_string(terms_.leases_max) + " batches that it may hold at once are held by this process";
  if (put_off > 0) text += " (" + std::to_string(put_off) + " until the capture of a stream that used them has ended)";
  return failure(SPDLD_LIMIT, text +
                                  ", so that no further one can be filled: release one (in Python, drop it and every "
                                  "tensor made of it), or raise prefetch_depth or held_max");
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
