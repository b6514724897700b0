#include "daemon/memory/cuda/gpus.h"

#include <utility>

#include "daemon/memory/cuda/setup.h"

namespace spdld::memory {

Gpus::Gpus(const Settings& settings) : setup_(std::make_unique<Setup>(settings)) {}

Gpus::~Gpus() { stop(); }

void Gpus::make_slots(const DeviceRing& ring, Done done) { setup_->make_slots(ring, std::move(done)); }

void Gpus::stop() { setup_->stop(); }

GpusReport Gpus::report() const { return setup_->report(); }

}  // namespace spdld::memory
