// Runs decode-video with the operations behind it on one file, for tests. One thread.
#pragma once

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/checks/load.h"
#include "daemon/media/chain.h"
#include "daemon/media/node.h"
#include "daemon/media/video/video_node.h"

namespace spdld::test {

using Bytes = std::vector<uint8_t>;

inline config::OutputSpec output_of(const std::string& ops) {
  const auto spec = config::load_pipeline_toml(
      "name = \"t\"\n[source]\ntype = \"image-folder\"\nuri = \"/\"\n[batch]\nsize = 1\n[[output]]\nname = \"clip\"\n"
      "from = \"image\"\nops = [" +
          ops + "]\n",
      "test.toml");
  INFO(spec.sentences());
  REQUIRE(spec);
  return spec.value->outputs.front();
}

// A chain, and the tensors that it writes: the output's own and those of decode-video.
class Clips {
 public:
  explicit Clips(const std::string& ops)
      : output_(output_of(ops)),
        followed_(config::follow(output_.ops, config::start_of(output_.ops))),
        chain_(output_.ops, followed_, "clip") {
    size_t bytes = config::dtype_bytes(followed_.end().dtype());
    for (const int64_t side : followed_.end().shape()) bytes *= static_cast<size_t>(side);
    memory_.emplace_back(bytes);
    for (const auto& extra : config::extras_of(output_.ops)) {
      size_t size = config::dtype_bytes(extra.dtype);
      for (const int64_t side : extra.shape) size *= static_cast<size_t>(side);
      memory_.emplace_back(size);
    }
  }

  Status run(const Bytes& file, uint64_t sample = 0) {
    media::Field field{.bytes = file};
    return run(field, workspace_, sample);
  }
  Status run(media::Field& field, media::Workspace& workspace, uint64_t sample) {
    std::vector<media::TensorOut> out;
    for (Bytes& memory : memory_) out.push_back({.memory = memory.data()});
    const Draws draws{5, 0, sample};
    return chain_.run({.bytes = field.bytes}, {sample, draws, workspace, &field, out});
  }
  Status announce(media::Field& field, media::Workspace& workspace, uint64_t sample) const {
    const Draws draws{5, 0, sample};
    return chain_.announce({sample, draws, workspace, &field, {}});
  }
  std::string_view index_id() const { return chain_.index_id(); }
  const Bytes& tensor() const { return memory_.front(); }
  Bytes clip(const Bytes& file, uint64_t sample = 0) {
    const Status done = run(file, sample);
    INFO((done ? "" : done.error().message));
    REQUIRE(done);
    return memory_.front();
  }
  uint64_t packets_sent() { return workspace_.of<video::VideoWork>().decoder.packets_sent(); }
  const Bytes& further(size_t at) const { return memory_[at + 1]; }

 private:
  config::OutputSpec output_;
  config::Followed followed_;
  media::Chain chain_;
  std::vector<Bytes> memory_;
  media::Workspace workspace_;
};

inline double psnr(const Bytes& a, const Bytes& b) {
  REQUIRE(a.size() == b.size());
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (double{1} * a[i] - b[i]) * (double{1} * a[i] - b[i]);
  return sum == 0 ? 100 : 10 * std::log10(255.0 * 255.0 * static_cast<double>(a.size()) / sum);
}

}  // namespace spdld::test
