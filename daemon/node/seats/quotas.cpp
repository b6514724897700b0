// Bounds of the memory, slots and open files of each user's rings.
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>

#include "daemon/node/access/access.h"
#include "daemon/node/seats/memory_room.h"
#include "daemon/node/seats/ring_use.h"
#include "daemon/node/seats/seating.h"

namespace spdld::node {
namespace {

// Each session has a socket and two descriptors of its process.
constexpr uint64_t kFilesPerSession = 3;

uint64_t open_files_max() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 1024;
}

// The bytes of host memory that a ring's slots have by now: pages come with the first write to them.
uint64_t written_bytes(const delivery::Ring& ring) {
  uint64_t bytes = 0;
  for (const auto& slot : ring.slots()) {
    struct stat status {};
    if (fstat(slot.memory->shared().fd, &status) == 0) bytes += static_cast<uint64_t>(status.st_blocks) * 512;
  }
  return bytes;
}

}  // namespace

uint64_t slot_files_max() { return open_files_max() / 2; }

control::UserLimits user_limits(const config::DaemonSettings& settings) {
  const uint64_t sessions_fit = std::max<uint64_t>(8, open_files_max() * 3 / 8 / kFilesPerSession);
  return {.sessions_max = static_cast<uint32_t>(std::min<uint64_t>(settings.sessions_max, sessions_fit)),
          .sessions_per_user_max = settings.sessions_per_user_max,
          .sessions_reserve = settings.sessions_reserve,
          .queries_per_user_s_max = settings.queries_per_user_s_max};
}

std::map<uid_t, RingUse> Seating::ring_use() const {
  std::set<const Feed*> feeds;
  for (Feed* feed : all_feeds()) feeds.insert(feed);
  for (const auto& feed : closing_) feeds.insert(feed.get());
  quarantine_.add_feeds(feeds);
  std::map<uid_t, RingUse> uses;
  for (const Feed* feed : feeds) {
    RingUse& use = uses[feed->setting().key.uid];
    use.rings++;
    use.slots += feed->ring().slots().size();
    use.host_bytes += feed->host_bytes();
  }
  for (const auto& [uid, slots] : making_) {
    RingUse& use = uses[uid];
    use.rings++;
    use.slots += slots;
  }
  return uses;
}

void Seating::check_quota(uid_t uid, size_t slots) const {
  const auto& settings = lent_.settings;
  const auto uses = ring_use();
  size_t in_all = 0;
  for (const auto& [user, use] : uses) in_all += use.slots;
  const uint64_t files_max = slot_files_max();
  if (in_all + slots > files_max)
    throw SetupError(Trouble::kLimit, "this ring has " + std::to_string(slots) + " slots, each an open file, and " +
                                          std::to_string(in_all) + " of " + std::to_string(files_max) +
                                          " are taken: half of this daemon's limit of open files (LimitNOFILE=, "
                                          "ulimit -n)");
  if (is_owner(uid)) return;
  const auto at = uses.find(uid);
  const RingUse use = at == uses.end() ? RingUse() : at->second;
  if (use.rings >= settings.rings_per_user_max)
    throw SetupError(Trouble::kLimit, "user " + user_name(uid) + " has " + std::to_string(use.rings) +
                                          " rings here already (limits.rings_per_user_max): end a job first");
  if (use.slots + slots > settings.slots_per_user_max)
    throw SetupError(Trouble::kLimit, "this ring has " + std::to_string(slots) + " slots, and user " + user_name(uid) +
                                          " has " + std::to_string(use.slots) + " of " +
                                          std::to_string(settings.slots_per_user_max) +
                                          " (limits.slots_per_user_max): end a job first");
}

uint64_t Seating::slot_bytes() const {
  uint64_t bytes = 0;
  for (const Feed* feed : all_feeds()) bytes += feed->host_bytes();
  for (const auto& feed : closing_) bytes += feed->host_bytes();
  return bytes;
}

uint64_t Seating::promised_bytes() const {
  uint64_t bytes = 0;
  const auto add = [&](const Feed& feed) {
    const uint64_t all = feed.host_bytes();
    if (all > 0) bytes += all - std::min(all, written_bytes(feed.ring()));
  };
  for (const Feed* feed : all_feeds()) add(*feed);
  for (const auto& feed : closing_) add(*feed);
  return bytes;
}

void Seating::make_room(uid_t uid, uint64_t bytes) {
  const auto& settings = lent_.settings;
  uint64_t of_user = 0;
  const uint64_t in_all = slot_bytes();
  for (const Feed* feed : all_feeds()) of_user += feed->setting().key.uid == uid ? feed->host_bytes() : 0;
  if (bytes > settings.slot_bytes_max - std::min(in_all, settings.slot_bytes_max))
    throw SetupError(Trouble::kLimit,
                     "this ring needs " + std::to_string(bytes) + " bytes of slot memory, and " +
                         std::to_string(in_all) + " of " + std::to_string(settings.slot_bytes_max) +
                         " are taken (limits.slot_bytes_max): lower batch.size or batch.prefetch_depth");
  const uint64_t user_max = settings.slot_bytes_per_user_max;
  if (uid != 0 && uid != geteuid() && bytes > user_max - std::min(of_user, user_max))
    throw SetupError(Trouble::kLimit, "this ring needs " + std::to_string(bytes) + " bytes of slot memory, and user " +
                                          user_name(uid) + " has " + std::to_string(of_user) + " of " +
                                          std::to_string(user_max) + " (limits.slot_bytes_per_user_max)");
  lent_.host_memory.keep_at_most(settings.slot_bytes_max - in_all - bytes);
  if (!lent_.memory_limits) return;
  const MemoryRoom room =
      memory_room(lent_.memory_limits(), {.wanted_bytes = bytes,
                                          .promised_bytes = promised_bytes(),
                                          .cache_bytes = lent_.cache_to_come ? lent_.cache_to_come() : 0,
                                          .decode_bytes = lent_.decoding_to_come ? lent_.decoding_to_come() : 0,
                                          .spare_bytes = lent_.host_memory.spare_bytes()});
  if (!room.refusal.empty()) throw SetupError(Trouble::kLimit, room.refusal);
  lent_.host_memory.keep_at_most(room.spare_bytes_max);
}

}  // namespace spdld::node
