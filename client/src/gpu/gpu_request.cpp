#include "client/src/gpu/gpu_request.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "client/src/gpu/gpu_fault.h"

namespace spdld::client {

namespace {

constexpr std::string_view kOrdinalPrefix = "cuda:";
constexpr size_t kOrdinalDigitsMax = 4;

bool read_ordinal(std::string_view device, size_t& ordinal) {
  if (device.substr(0, kOrdinalPrefix.size()) != kOrdinalPrefix) return false;
  const std::string_view digits = device.substr(kOrdinalPrefix.size());
  if (digits.empty() || digits.size() > kOrdinalDigitsMax) return false;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
  return error == std::errc() && end == digits.data() + digits.size();
}

CallOutcome read_words(const spdld_attach_options& options, GpuRequest& request) {
  const std::string_view device = options.device ? options.device : "";
  const std::string_view transport = options.transport ? options.transport : "";
  size_t ordinal = 0;
  const bool known = device.empty() || device == "cpu" || device == "pinned" || device == "cuda" || device == "auto" ||
                     read_ordinal(device, ordinal);
  if (!known) {
    return failure(SPDLD_INVALID, "device is \"" + std::string(device.substr(0, 32)) +
                                      "\": it must be \"cpu\", \"pinned\", \"cuda\", \"cuda:N\" or \"auto\"");
  }
  request.device = device;
  if (transport.empty() || transport == "auto") {
    request.transport = proto::Transport::automatic;
  } else if (transport == "handle") {
    request.transport = proto::Transport::handle;
  } else if (transport == "fd") {
    request.transport = proto::Transport::fd;
  } else {
    return failure(SPDLD_INVALID, "transport is \"" + std::string(transport.substr(0, 32)) +
                                      "\": it must be \"fd\", \"handle\" or \"auto\"");
  }
  // A copy's event crosses as a handle does. File descriptors may go where no handle can be opened.
  request.ready_early = options.experimental_ready_early != 0 && request.transport == proto::Transport::handle;
  return {};
}

CallOutcome not_visible(const GpuRequest& request, const std::string& wanted) {
  const size_t count = request.driver->devices().size();
  return outcome_of(cuda::Fault(cuda::Cause::kGpuNotVisible, wanted + " is not among the " + std::to_string(count) +
                                                                 " GPUs that this process sees"));
}

}  // namespace

CallOutcome read_gpu_request(const spdld_attach_options& options, uint32_t local_rank, GpuRequest& request) {
  request.local_rank = local_rank;
  const CallOutcome outcome = read_words(options, request);
  if (!outcome.ok() || request.device == "cpu") return outcome;
  const bool demanded = !request.device.empty() && request.device != "auto";
  try {
    request.driver = &cuda::Driver::get();
  } catch (const cuda::Fault& fault) {
    if (demanded || fault.cause() == cuda::Cause::kForked) return outcome_of(fault);
    request.why_none = fault.what();
    return {};
  }
  if (!demanded) return {};
  size_t ordinal = 0;
  if (read_ordinal(request.device, ordinal)) {
    return ordinal < std::min(kGpusMax, request.driver->devices().size())
               ? CallOutcome{}
               : not_visible(request, "GPU " + std::to_string(ordinal));
  }
  const cuda::Device* own = nullptr;
  return find_own_gpu(request, own);
}

CallOutcome find_own_gpu(const GpuRequest& request, const cuda::Device*& device) {
  const auto& devices = request.driver->devices();
  const size_t ordinal = devices.size() == 1 ? 0 : request.local_rank;
  if (ordinal >= std::min(kGpusMax, devices.size())) {
    return not_visible(request, "the GPU of local_rank " + std::to_string(request.local_rank));
  }
  device = &devices[ordinal];
  return {};
}

const cuda::Device* find_gpu(const GpuRequest& request, const cuda::abi::Uuid& uuid) {
  for (const cuda::Device& device : request.driver->devices()) {
    if (device.uuid.bytes == uuid.bytes) return &device;
  }
  return nullptr;
}

}  // namespace spdld::client
