// The interface through which the control room uses the node behind it. Control thread only; nothing here blocks.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/control/crew.h"
#include "daemon/control/hidden_paths.h"
#include "daemon/delivery/ring.h"
#include "daemon/memory/cuda/gpus.h"
#include "daemon/sampler/pushed.h"
#include "daemon/sampler/sharding.h"
#include "proto/unique_fd.h"

namespace spdld::control {

// The process at the other end of a session, as the kernel identifies it.
struct Client {
  uint64_t session = 0;
  pid_t pid = 0;
  uid_t uid = 65534;
  gid_t gid = 65534;
  std::string name;                         // its own name for itself
  std::vector<gid_t> groups;                // supplementary groups of its process
  std::shared_ptr<const UniqueFd> process;  // its pidfd; none before HELLO
};

// A GPU that the client's process sees.
struct ClientGpu {
  memory::GpuUuid uuid = {};
  bool shares_fds = false;
};

// Where a job joins a shared stream (share = "stream"), if it can't have the place that it asks for.
enum class Join : uint8_t {
  kNow,    // at the oldest batch still in the ring
  kExact,  // nowhere: the job gets a ring of its own
  kEpoch,  // with the next epoch
  kAlone   // the job wants a ring of its own in any case
};

struct AttachRequest {
  std::string pipeline;  // the name of a pipeline, where there is no spec
  std::string spec;
  bool spec_is_json = false;
  std::string spec_folder;
  std::string group;
  uint32_t rank = 0, world_size = 1, local_rank = 0;
  uint32_t reader = 0, readers = 1;
  sampler::Position position;
  // Of a replica that has lost its daemon: where its last seek led, if it has taken one batch since.
  std::optional<sampler::Position> sought = {};
  Join join = Join::kNow;
  std::string fingerprint;  // empty: not compared
  std::string
      key_digests;  // of the training run of this fingerprint (proto/key_digests.h); not trusted; empty: not known
  uint32_t held_max = 0;    // 0: as the pipeline says
  uint64_t batch_size = 0;  // of this rank; 0: as the pipeline says
  std::string device;       // empty: as the pipeline says
  bool looks = false;       // a person looks at samples: what is done for this client counts in no statistic
  std::vector<ClientGpu> gpus;
  memory::Transport transport = memory::Transport::kAuto;
  bool ready_early = false;
  bool starts_crews = false;  // the client starts a crew where CREW_WANTED asks for one
};

struct SeekRequest {
  uint32_t request = 0;  // the client's number of this request, for seek_refused()
  uint32_t run = 0;      // the client's number of the run, larger than any before
  sampler::Position to;
  std::optional<std::vector<delivery::LeaseId>> keeps = {};  // leases that go on; its other leases end. None: all go on
  bool stays = false;  // it stands there already, and has taken no batch from there on
  bool waits = false;  // it waits for its next batch and seeks no more before; true also in a second message of a run
  bool again = false;  // an earlier daemon got it, and nothing came of it
};

// A session's hold on a ring; ending it gives all its leases back.
class Attachment {
 public:
  virtual ~Attachment() = default;
  // false: there is no such lease.
  virtual bool release(const delivery::LeaseId& lease, uint64_t taken, uint64_t waited_us) = 0;
  // No further batch comes, and another reader may take the rank; the leases in `keeps` go on.
  virtual void dismiss(std::span<const delivery::LeaseId> keeps) = 0;
  virtual bool holds_leases() const = 0;
  // Takes effect when all replicas of the rank have sought the place; no batch comes until then. An error: nothing has
  // changed.
  virtual Status seek(const SeekRequest& seek) = 0;
  virtual Status push(const sampler::PushedSteps& steps) = 0;
};

// The content of ATTACHED. The node owns the descriptors; they are sent as copies.
struct AttachedInfo {
  std::string pipeline;
  memory::MemoryKind memory = memory::MemoryKind::kHost;
  memory::Access access = memory::Access::kWritable;
  std::vector<memory::Shared> slots;
  memory::GpuUuid gpu = {};
  bool ready_early = false;
  uint64_t slot_bytes = 0;
  const batch::Layout* layout = nullptr;  // lives as long as the attachment
  uint64_t global_size = 0, samples = 0, steps_per_epoch = 0, epochs = 0, seed = 0;
  sampler::Position position;
  std::string fingerprint;
  std::string key_digests;      // proto/key_digests.h
  bool shared = false;          // with other jobs
  uint32_t leases_max = 0;      // batches that the client may hold at once; 0: all slots
  uint32_t push_steps_max = 0;  // 0: the order is not pushed
  uint64_t push_ids_max = 0;
  std::vector<std::string> sources;      // of a mix: the sources' names; else none
  std::span<const std::string> classes;  // names by number; live as long as the attachment; empty: none
  std::vector<std::string> missing;      // the first sentences on data that is missing
  uint64_t missing_count = 0;
  uint64_t last_samples = 0, empty_steps = 0;  // of an epoch, as sampler::Sharding has them
};

// The node's answer to an attach, given once, after any number of preparing(). The session may have ended meanwhile:
// then attached() drops the attachment.
class AttachReply {
 public:
  virtual ~AttachReply() = default;
  // For all sentences that the client gets from now on. Called at most once, first.
  virtual void hide(HiddenPaths /*paths*/) {}  // NOLINT(performance-unnecessary-value-param): overriders keep them
  virtual void preparing(std::string_view what, uint64_t done, uint64_t total) = 0;
  virtual void attached(std::unique_ptr<Attachment> attachment, const AttachedInfo& info) = 0;
  virtual void refused(const Error& error) = 0;
  // The daemon does not take the spec from this user, or not over these data; another daemon may take it.
  virtual void spec_refused(const std::string& message) { refused({Trouble::kDenied, message}); }
  // Receives the ring's batches; valid as long as the attachment.
  virtual delivery::Reader& reader() = 0;
  // The ring gives no further batch. Told behind ATTACHED, where it comes before.
  virtual void failed(const Error& error) = 0;
  // After attached: a seek that was accepted at first has failed; another seek may follow.
  virtual void seek_refused(uint32_t request, const Error& error) = 0;
  // Whether the client has gone, even where the news of it is still on its way. Its last messages are taken before this
  // returns, and may end the attachment.
  virtual bool client_gone() const = 0;
  // Asks the client to start a crew; at any time.
  virtual void want_crew(std::string_view /*token*/) {}
};

class Service {
 public:
  virtual void attach(const Client& client, AttachRequest request, std::shared_ptr<AttachReply> reply) = 0;
  // A JSON document (PROTOCOL.md, "Documents").
  virtual Result<std::string> query(const Client& client, std::string_view topic, std::string_view argument) = 0;
  virtual std::string_view daemon_id() const = 0;
  // The session is of a crew that was asked for with this token. Its work is told to `reply`.
  virtual Result<std::unique_ptr<CrewSeat>> join_crew(const Client& client, std::string_view token,
                                                      std::shared_ptr<CrewReply> reply) = 0;

 protected:
  ~Service() = default;
};

}  // namespace spdld::control
