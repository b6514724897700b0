#include "client/src/ring.h"

namespace spdld::client {

namespace {

constexpr size_t kNameBytesMax = 4096;

Place place_of(const proto::Position* position) {
  return position ? Place{position->epoch(), position->step()} : Place{};
}

}  // namespace

Outcome Ring::adopt(std::shared_ptr<Connection> connection, const proto::Attached& answer,
                    std::vector<UniqueFd>& memory) {
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
  terms_.writable = answer.access() == proto::Access::writable;
  if (answer.memory() != proto::MemoryKind::host) {
    return failure(SPDLD_UNSUPPORTED,
                   "the daemon offers batches in GPU memory, which this library cannot take: use "
                   "device = \"cpu\" in the pipeline, or a newer libspdld");
  }
  if (answer.access() > proto::Access::MAX) return protocol_failure(*connection_, "an access it does not define");
  const bool counted = answer.slot_count() >= 1 && answer.slot_count() <= proto::kFdsMax;
  if (!counted || memory.size() != answer.slot_count() || answer.slot_bytes() == 0) {
    return protocol_failure(*connection_, "ATTACHED does not have one memfd a slot");
  }
  const bool finite = terms_.epochs == 0 || !(Place{terms_.epochs, 0} < first_);
  if (terms_.steps_per_epoch == 0 || first_.step >= terms_.steps_per_epoch || !finite) {
    return protocol_failure(*connection_, "ATTACHED names a position that its epochs do not have");
  }
  leases_.resize(answer.slot_count());
  const Outcome mapped = slots_.map(memory, answer.slot_bytes(), !terms_.writable);
  memory.clear();  // the mappings keep what they need
  return mapped;
}

bool Ring::take(uint32_t slot, uint64_t generation) {
  const std::lock_guard lock(mutex_);
  if (leases_[slot].held) return false;
  leases_[slot] = {true, generation};
  ++held_count_;
  return true;
}

void Ring::give_back(uint32_t slot, uint64_t generation) {
  {
    const std::lock_guard lock(mutex_);
    leases_[slot].held = false;
    --held_count_;
  }
  release(slot, generation);
}

void Ring::note_taken() {
  taken_.fetch_add(1, std::memory_order_relaxed);
  waited_us_.store(connection_->waited_us() - waited_before_us_, std::memory_order_relaxed);
}

void Ring::release(uint32_t slot, uint64_t generation) {
  connection_->release({attachment_, slot, generation, taken_.load(std::memory_order_relaxed),
                        waited_us_.load(std::memory_order_relaxed)});
}

bool Ring::all_held() const {
  const std::lock_guard lock(mutex_);
  return held_count_ == leases_.size();
}

void Ring::detach() {
  std::vector<proto::LeaseId> kept;
  {
    const std::lock_guard lock(mutex_);
    for (uint32_t slot = 0; slot < leases_.size(); ++slot) {
      if (leases_[slot].held) kept.emplace_back(leases_[slot].generation, slot);
    }
  }
  flatbuffers::FlatBufferBuilder builder;
  const auto keeps = builder.CreateVectorOfStructs(kept);
  const auto body = proto::CreateDetach(builder, attachment_, keeps);
  if (!connection_->send(proto::finish(builder, proto::Body::Detach, body))) connection_->close();
}

}  // namespace spdld::client
