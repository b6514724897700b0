// Kernel, limits, memory, clock, GPUs.
#include <algorithm>
#include <charconv>

#include "client/cli/doctor/checks.h"
#include "client/cli/format.h"

namespace spdld::cli::doctor {
namespace {

constexpr uint64_t kFilesMin = 256;
constexpr double kThrottledPart = 0.05;
constexpr uint64_t kPeriodsMin = 100;  // of a tenth of a second, usually

// {6, 1} of "6.1.0-18-amd64"; {0, 0}: it can't be read.
std::pair<unsigned, unsigned> version_of(const std::string& release) {
  unsigned major = 0, minor = 0;
  const char* const end = release.data() + release.size();
  const auto first = std::from_chars(release.data(), end, major);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return {0, 0};
  if (std::from_chars(first.ptr + 1, end, minor).ec != std::errc()) return {0, 0};
  return {major, minor};
}

std::string whose(const Facts& facts) { return facts.process.is_daemons ? "the daemon's" : "this user's"; }

std::string how_to_raise(const Facts& facts, const std::string& setting, const std::string& shell) {
  if (facts.service.is_installed)
    return "systemctl edit spdld.service: [Service] " + setting + "; then systemctl restart spdld.service";
  return "run " + shell + " before the daemon is started, or raise the limit in /etc/security/limits.conf";
}

Finding check_kernel(const Facts& facts) {
  const auto version = version_of(facts.kernel);
  if (version == std::pair(0U, 0U)) return {Level::kNote, "kernel", "its version is not known: " + facts.kernel, ""};
  if (version < std::pair(5U, 3U))
    return {Level::kFail, "kernel", "Linux " + facts.kernel + " has no pidfd_open, so that nobody can attach",
            "install Linux 5.6 or later"};
  if (version < std::pair(5U, 6U))
    return {Level::kNote, "kernel",
            "Linux " + facts.kernel + " has no openat2: files below data roots are opened in steps",
            "install Linux 5.6 or later"};
  return {Level::kOk, "kernel", "Linux " + facts.kernel, ""};
}

Finding check_files(const Facts& facts) {
  const Process& process = facts.process;
  const std::string limit = whose(facts) + " limit of open files is " +
                            (process.files_max == kUnlimited ? "none" : count_text(process.files_max));
  const std::string raise = how_to_raise(facts, "LimitNOFILE=65536", "ulimit -n 65536");
  if (process.files_max < kFilesMin)
    return {Level::kFail, "open files", limit + ": too few for batches and clients", raise};
  const uint64_t clients = uint64_t{facts.settings.sessions_max} + facts.settings.sessions_reserve;
  if (process.files_max / 8 * 3 < clients)
    return {
        Level::kWarn, "open files",
        limit + ", which is enough for " + count_text(process.files_max / 8 * 3) + " clients of " + count_text(clients),
        raise};
  if (process.files_open && process.files_max != kUnlimited && *process.files_open > process.files_max / 10 * 8)
    return {Level::kWarn, "open files", limit + ", and " + count_text(*process.files_open) + " are open", raise};
  std::string open = process.files_open ? ", and " + count_text(*process.files_open) + " are open" : "";
  return {Level::kOk, "open files", limit + open, ""};
}

Finding check_memlock(const Facts& facts) {
  const uint64_t bytes_max = facts.process.memlock_bytes_max;
  const std::string limit = whose(facts) + " limit of locked memory is " +
                            (bytes_max == kUnlimited ? "none" : bytes_text(static_cast<double>(bytes_max)));
  const bool wants = !facts.gpus.names.empty() && facts.settings.gpu_enabled;
  if (!wants) return {Level::kOk, "memlock", limit + "; only copies to GPUs need locked memory", ""};
  const uint64_t wanted = facts.settings.gpu_staging_bytes_max * facts.gpus.names.size();
  if (bytes_max >= wanted) return {Level::kOk, "memlock", limit, ""};
  return {Level::kWarn, "memlock",
          limit + "; copies to " + counted(facts.gpus.names.size(), "GPU") + " may take " +
              bytes_text(static_cast<double>(wanted)) + " (gpu.staging_bytes_max)",
          how_to_raise(facts, "LimitMEMLOCK=infinity", "ulimit -l unlimited")};
}

Finding check_huge_pages(const Facts& facts) {
  constexpr const char* kFile = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";
  if (facts.huge_pages.empty())
    return {Level::kNote, "huge pages", "this kernel has none for shared memory: batches have small pages", ""};
  if (facts.huge_pages == "never" || facts.huge_pages == "deny")
    return {Level::kNote, "huge pages", "off for shared memory (" + facts.huge_pages + "): batches have small pages",
            std::string("echo advise > ") + kFile};
  return {Level::kOk, "huge pages", "for shared memory: " + facts.huge_pages, ""};
}

Finding check_cpu(const Facts& facts) {
  const Process& process = facts.process;
  if (process.cpu_quota <= 0) return {Level::kOk, "cpu quota", "none", ""};
  const std::string quota = decimal_text(process.cpu_quota, 1) + " cores";
  if (process.cpu_periods < kPeriodsMin) return {Level::kOk, "cpu quota", quota, ""};
  const double part = static_cast<double>(process.cpu_throttled) / static_cast<double>(process.cpu_periods);
  const std::string found = quota + "; the kernel held it back in " + percent_text(part) + " of the time's slices";
  if (part < kThrottledPart) return {Level::kOk, "cpu quota", found, ""};
  return {Level::kWarn, "cpu quota", found,
          "raise the quota (CPUQuota= of the service, or the container's limit of CPUs), or set limits.cpu_budget "
          "below it"};
}

// The cache's "auto" is a quarter of the memory.
uint64_t memory_wanted(const config::DaemonSettings& settings, uint64_t bytes_max) {
  return settings.slot_bytes_max + settings.spare_slot_bytes_max + settings.cache_ram_bytes_max.value_or(bytes_max / 4);
}

Findings check_memory(const Facts& facts) {
  Findings findings;
  const Process& process = facts.process;
  const uint64_t bytes_max = std::min(process.memory_bytes_max, facts.memory_bytes);
  const std::string limit = bytes_text(static_cast<double>(bytes_max)) +
                            (process.memory_bytes_max < facts.memory_bytes ? " (the control group's limit)" : "");
  const uint64_t wanted = memory_wanted(facts.settings, bytes_max);
  if (bytes_max > 0 && wanted > bytes_max)
    findings.push_back(
        {Level::kWarn, "memory",
         limit + "; batches, spare batches and the cache may take " + bytes_text(static_cast<double>(wanted)),
         "lower limits.slot_bytes_max, limits.spare_slot_bytes_max or cache.ram_bytes_max, or raise "
         "MemoryMax= of the service"});
  else
    findings.push_back({Level::kOk, "memory", limit, ""});
  if (process.oom_kills > 0)
    findings.push_back({Level::kWarn, "memory",
                        "the kernel has ended " + counted(process.oom_kills, "process", "processes") +
                            " of the control group for want of memory",
                        "raise MemoryMax= of the service, or lower limits.slot_bytes_max and cache.ram_bytes_max"});
  return findings;
}

Finding check_clock(const Facts& facts) {
  if (!facts.is_clock_synchronised)
    return {Level::kNote, "clock", "the kernel does not say whether it is synchronised", "timedatectl status"};
  if (*facts.is_clock_synchronised) return {Level::kOk, "clock", "synchronised", ""};
  const bool has_s3 = std::any_of(facts.settings.data_stores.begin(), facts.settings.data_stores.end(),
                                  [](const auto& store) { return store.uri.starts_with("s3://"); });
  return {has_s3 ? Level::kWarn : Level::kNote, "clock",
          has_s3 ? "not synchronised: S3 refuses requests from a clock that is 15 minutes off" : "not synchronised",
          "timedatectl set-ntp true"};
}

std::string cuda_version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Finding check_gpus(const Facts& facts) {
  const Gpus& gpus = facts.gpus;
  if (!facts.settings.gpu_enabled) return {Level::kNote, "gpus", "the settings turn them off (gpu.enabled)", ""};
  if (!gpus.answered)
    return {Level::kFail, "gpus", "the driver does not answer", "nvidia-smi; where it hangs too, restart the node"};
  if (gpus.driver_version > 0 && !gpus.names.empty()) {
    std::string names = gpus.names.front() + (gpus.names.size() > 1 ? " and more" : "");
    return {Level::kOk, "gpus",
            counted(gpus.names.size(), "GPU") + " (" + safe_text(names) + "), driver for CUDA " +
                cuda_version(gpus.driver_version),
            ""};
  }
  if (!gpus.has_device) return {Level::kNote, "gpus", "none: batches are for host memory", ""};
  return {Level::kWarn, "gpus", "the node has a GPU, and no driver can be used: " + safe_text(gpus.reason),
          "nvidia-smi; install the driver (libcuda.so.1), and load its modules with modprobe nvidia-uvm"};
}

}  // namespace

Findings check_node(const Facts& facts) {
  Findings findings = {check_kernel(facts), check_files(facts),      check_memlock(facts),
                       check_cpu(facts),    check_huge_pages(facts), check_clock(facts)};
  for (Finding& finding : check_memory(facts)) findings.push_back(std::move(finding));
  findings.push_back(check_gpus(facts));
  return findings;
}

}  // namespace spdld::cli::doctor
