#include "daemon/source/files/file_identity.h"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>

#include "daemon/base/random.h"
#include "daemon/base/result.h"
#include "daemon/source/files/bounds.h"

namespace spdld::source {
namespace {

// Types of file systems that make numbers of files up, and may give a file another one: the user space's, FAT, exFAT,
// the shares of SMB whose server has none, VirtualBox's.
constexpr std::array<uint32_t, 7> kUnnumbered = {FUSE_SUPER_MAGIC, MSDOS_SUPER_MAGIC, 0x2011BAB0, SMB_SUPER_MAGIC,
                                                 0xFF534D42,       0xFE534D42,        0x786F4256};

constexpr uint64_t kOfNumber = 0x6e756d626572;  // so that no number mixes to 0

int64_t times_of(const KeptState& state) {
  const uint64_t changed = mix_bits(static_cast<uint64_t>(state.changed_ns));
  return static_cast<int64_t>(changed ^ static_cast<uint64_t>(state.status_changed_ns));
}

int64_t with_number(int64_t times, uint64_t inode) {
  return static_cast<int64_t>(static_cast<uint64_t>(times) ^ mix_bits(inode ^ kOfNumber));
}

}  // namespace

store::Identity identity_of(const KeptState& state) { return {state.size, times_of(state)}; }
store::Identity identity_of(const struct stat& status) { return identity_of(kept_state(status)); }

store::Identity listed_identity(const KeptState& state, bool is_numbered) {
  const int64_t times = times_of(state);
  return {state.size, is_numbered ? with_number(times, state.inode) : times};
}

bool is_listed(const struct stat& status, const store::Identity& listed) {
  const KeptState state = kept_state(status);
  if (!S_ISREG(status.st_mode) || state.size != listed.size) return false;
  const int64_t times = times_of(state);
  return listed.changed == with_number(times, state.inode) || listed.changed == times;
}

std::string changed_since(const std::string& what) {
  return what + " has changed since it was listed: was it replaced?";
}

void check_same_state(int fd, const KeptState& before, const std::string& what) {
  struct stat status;
  if (::fstat(fd, &status) != 0 || kept_state(status) != before)
    throw SetupError(Trouble::kTransient, what + " changed while it was listed: list it when it is whole.");
}

bool NumberedFiles::are_on(dev_t device, const Bounds* bounds, const std::string& path) {
  const std::scoped_lock lock(mutex_);
  const auto known = known_.find(device);
  if (known != known_.end()) return known->second;
  const UniqueFd fd(open_file(bounds, path.c_str()));
  struct statfs system {};
  if (!fd || ::fstatfs(fd.get(), &system) != 0) return true;  // such a file gives no bytes either
  const bool are_numbered =
      std::find(kUnnumbered.begin(), kUnnumbered.end(), static_cast<uint32_t>(system.f_type)) == kUnnumbered.end();
  known_.emplace(device, are_numbered);
  return are_numbered;
}

}  // namespace spdld::source
