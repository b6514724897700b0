#include "daemon/node/seats/placement.h"

#include "config/text/device.h"

namespace spdld::node {
namespace {

using config::DeviceType;

// The local rank's GPU; where a launcher shows each rank its own alone, that one.
Result<size_t> choose(const config::DeviceChoice& choice, const control::AttachRequest& request) {
  const size_t count = request.gpus.size();
  const size_t wanted = choice.ordinal ? *choice.ordinal : count == 1 ? 0 : request.local_rank;
  if (wanted < count) return wanted;
  return Error{Trouble::kUnsupported, "gpu-not-visible: " +
                                          (choice.ordinal ? "device \"cuda:" + std::to_string(*choice.ordinal) + "\""
                                                          : "local rank " + std::to_string(request.local_rank)) +
                                          " needs " + std::to_string(wanted + 1) + " GPUs, and the trainer sees " +
                                          std::to_string(count) +
                                          ": look at its CUDA_VISIBLE_DEVICES and local_rank, or name another device"};
}

}  // namespace

Result<Placement> placement_for(const std::string& device, const control::AttachRequest& request) {
  const std::string& text = request.device.empty() ? device : request.device;
  const auto choice = config::parse_device(text);
  if (!choice)
    return Error{Trouble::kUsage, "device must be " + std::string(config::kDeviceSyntax) + ", not \"" + text + "\""};
  if (choice->type == DeviceType::kCpu || (choice->type == DeviceType::kAuto && request.gpus.empty()))
    return Placement{};
  if (request.gpus.empty())
    return Error{Trouble::kUnsupported, "no-gpu: device \"" + text +
                                            "\" needs a GPU, and the trainer told of none: give it one, or use device "
                                            "\"cpu\""};
  if (choice->type == DeviceType::kPinned) {
    if (request.readers > 1)
      return Error{Trouble::kUnsupported,
                   "device \"pinned\" takes one reader: a rank with several uses \"cuda\", or \"cpu\""};
    return Placement{Placement::Where::kPinned, {}};
  }
  const auto chosen = choose(*choice, request);
  if (!chosen) return chosen.error();
  const control::ClientGpu& gpu = request.gpus[*chosen];
  Placement placement{Placement::Where::kGpu, {}};
  placement.ring.gpu = gpu.uuid;
  placement.ring.client_shares_fds = gpu.shares_fds;
  placement.ring.transport = request.transport;
  placement.ring.ready_early = request.ready_early;
  return placement;
}

}  // namespace spdld::node
