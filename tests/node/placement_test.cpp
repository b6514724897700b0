// Which memory a ring gets, of what the pipeline, the trainer and its launcher say.
#include "daemon/node/seats/placement.h"

#include <catch2/catch.hpp>

namespace spdld::node::placement_test {
namespace {

using Where = Placement::Where;

memory::GpuUuid uuid(uint8_t number) {
  memory::GpuUuid uuid{};
  uuid.fill(number);
  return uuid;
}

control::AttachRequest seen(size_t gpus, uint32_t local_rank = 0) {
  control::AttachRequest request;
  for (size_t i = 0; i < gpus; i++) request.gpus.push_back({uuid(static_cast<uint8_t>(i + 1)), i == 1});
  request.local_rank = local_rank;
  return request;
}

std::string refusal(const std::string& device, const control::AttachRequest& request) {
  const auto placed = placement_for(device, request);
  return placed ? "" : placed.error().message;
}

}  // namespace

TEST_CASE("auto means the trainer's GPU where it sees one, else host memory", "[node]") {
  CHECK(placement_for("auto", seen(0))->where == Where::kHost);
  CHECK(placement_for("auto", seen(1))->where == Where::kGpu);
  CHECK(placement_for("cpu", seen(2))->where == Where::kHost);
}

TEST_CASE("the local rank chooses, or the only GPU that a launcher shows", "[node]") {
  CHECK(placement_for("auto", seen(4, 2))->ring.gpu == uuid(3));
  CHECK(placement_for("cuda", seen(4, 3))->ring.gpu == uuid(4));
  CHECK(placement_for("cuda", seen(1, 3))->ring.gpu == uuid(1));
  CHECK(placement_for("cuda:1", seen(4, 3))->ring.gpu == uuid(2));
  CHECK(placement_for("cuda:1", seen(4, 3))->ring.client_shares_fds);
  CHECK_FALSE(placement_for("cuda:0", seen(4, 3))->ring.client_shares_fds);
}

TEST_CASE("what the trainer asks for goes before what the pipeline says", "[node]") {
  control::AttachRequest request = seen(2);
  request.device = "cpu";
  CHECK(placement_for("cuda:1", request)->where == Where::kHost);
  request.device = "cuda:1";
  request.transport = memory::Transport::kHandle;
  request.ready_early = true;
  const auto placed = placement_for("cpu", request);
  CHECK(placed->ring.gpu == uuid(2));
  CHECK(placed->ring.transport == memory::Transport::kHandle);
  CHECK(placed->ring.ready_early);
}

TEST_CASE("what can't be had is refused with its name and what to do", "[node]") {
  CHECK(refusal("cuda", seen(0)).starts_with("no-gpu: device \"cuda\" needs a GPU"));
  CHECK(refusal("pinned", seen(0)).starts_with("no-gpu: device \"pinned\""));
  CHECK(refusal("cuda:2", seen(2))
            .starts_with("gpu-not-visible: device \"cuda:2\" needs 3 GPUs, and the trainer sees 2"));
  CHECK(refusal("auto", seen(2, 5)).starts_with("gpu-not-visible: local rank 5 needs 6 GPUs"));
  control::AttachRequest request = seen(1);
  request.device = "gpu";
  CHECK(refusal("cpu", request).find("\"cuda:N\" (N from 0 to 99), not \"gpu\"") != std::string::npos);
  request.device = "pinned";
  CHECK(placement_for("cpu", request)->where == Where::kPinned);
  request.readers = 2;
  CHECK(refusal("cpu", request).find("takes one reader") != std::string::npos);
}

}  // namespace spdld::node::placement_test
