// A daemon with one pipeline whose jobs share a stream, and the same with a stream for each job, to compare with.
#pragma once

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/integration/trainer.h"
#include "tests/support/daemon_process.h"
#include "tests/support/makers/photos.h"

namespace spdld::test {

class SharedNode {
 public:
  static constexpr int kPhotos = 120;

  explicit SharedNode(const std::string& settings = "[limits]\nshare_lag_ms_max = 300\n", int epochs = 0)
      : SharedNode(settings, spec_of(epochs)) {}
  SharedNode(const std::string& settings, PhotoSpec spec) : daemon(settings) {
    make_photos(daemon.dir() / "photos", kPhotos, 3);
    spec.share = "stream";
    toml_ = spec.toml(daemon.dir() / "photos");
    spec.name = "reference", spec.share = "cache";
    own_toml_ = spec.toml(daemon.dir() / "photos");
  }
  Job job(const std::string& group, const std::string& join = {}, uint64_t batch_size = 0) const {
    Job job{.socket = daemon.socket(), .spec = toml_, .group = group, .join = join};
    job.batch_size = batch_size;
    return job;
  }
  // What an undisturbed job with a stream of its own gets.
  std::vector<Seen> reference(size_t batches, uint64_t batch_size = 0) const {
    Job job{.socket = daemon.socket(), .spec = own_toml_, .group = "reference"};
    job.batch_size = batch_size;
    Loader loader = attach(job);
    return take_all(loader, batches);
  }
  nlohmann::json describe() const {
    return nlohmann::json::parse(query("describe", "photos", daemon.socket().c_str()));
  }
  uint64_t decoded() const { return describe()["stages"][1]["samples"]; }
  // The first, or that with batches of this size.
  nlohmann::json shared_ring(uint64_t batch_size = 0) const {
    const nlohmann::json described = describe();
    for (const auto& ring : described["rings"])
      if (ring["shared"] && (batch_size == 0 || ring["batch_size"] == batch_size)) return ring;
    return nullptr;
  }

  DaemonProcess daemon;

 private:
  static PhotoSpec spec_of(int epochs) {
    PhotoSpec spec;
    spec.epochs = epochs;
    return spec;
  }
  std::string toml_, own_toml_;
};

inline Seen take(Loader& loader) {
  const auto batches = take_all(loader, 1);
  REQUIRE(batches.size() == 1);
  return batches.front();
}

}  // namespace spdld::test
