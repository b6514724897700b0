#include "daemon/node/seats/seat_rules.h"

#include "daemon/node/access/access.h"

namespace spdld::node {
namespace {

std::string holder_of(const Feed::Seat& seat) {
  const auto& client = seat.client;
  if (!is_same_user(client, client.uid)) return "another client";  // perhaps another user with the overflow uid
  return client.name + ", pid " + std::to_string(client.pid) + " of user " + user_name(client.uid);
}

std::string replicas(uint32_t count) { return std::to_string(count) + (count == 1 ? " replica" : " replicas"); }

// A seat that is taken, or one of another number of replicas.
void check_seat(const Feed& feed, const Feed::Seat& seat, const control::AttachRequest& request,
                const control::Client& client) {
  if (feed.setting().readers != request.readers)
    refuse_seat(request, "has " + replicas(feed.setting().readers) + " on this node, as " + holder_of(seat) +
                             " said, and not " + std::to_string(request.readers) +
                             ": give the same number of replicas in every process of this rank, and another group to "
                             "another job");
  if (seat.replica != request.reader) return;
  if (request.readers == 1 && seat.client.pid == client.pid && client.pid != 0)
    refuse_seat(request, "is held by another loader of this same process (pid " + std::to_string(client.pid) +
                             "): close that loader, or name no group, since loaders without one are jobs of their own");
  if (request.readers == 1)
    refuse_seat(request, "is held by " + holder_of(seat) +
                             ": give this job another group, or end that process; processes that must see the same "
                             "batches attach as replicas of the rank");
  refuse_seat(request, "has a replica " + std::to_string(request.reader) + " of " + std::to_string(request.readers) +
                           " already: it is held by " + holder_of(seat) +
                           ": give every replica a number of its own, or end that process");
}

}  // namespace

sampler::Sharding sharding_for(const pipeline::Pipeline& pipeline, const control::AttachRequest& request) {
  const config::PipelineSpec& spec = pipeline.spec();
  config::BatchSpec batch = spec.batch;
  if (request.batch_size) {
    batch.size = request.batch_size;
    batch.global_size = 0;
  }
  if (request.batch_size && spec.batch.cost)
    throw SetupError(Trouble::kUsage,
                     "batch_size can't be given: the pipeline's batches are bounded by batch.cost_max and size_max, "
                     "so that each has as many samples as these allow; leave batch_size out");
  const sampler::Sharding sharding = pipeline.sharding(batch, request.rank, request.world_size);
  if (spec.order.shuffle != config::Shuffle::kClient) return sharding;
  const auto refuse = [](Trouble trouble, const std::string& what) {
    throw SetupError(trouble, "order.shuffle is \"client\", and " + what);
  };
  if (request.readers > 1)
    refuse(Trouble::kUsage, "each rank's samples are pushed by its one reader, not by " +
                                std::to_string(request.readers) + ": attach the replicas as ranks of their own");
  if (sharding.batch_size() > sampler::Pushed::kBatchSizeMax)
    refuse(Trouble::kUsage, "a step of a rank may then have " + std::to_string(sampler::Pushed::kBatchSizeMax) +
                                " samples, not " + std::to_string(sharding.batch_size()) + ": make the batch smaller");
  return sharding.without_steps();
}

sampler::Position start_of(const pipeline::Pipeline& pipeline, const sampler::Sharding& sharding,
                           const control::AttachRequest& request) {
  const uint64_t epochs = pipeline.spec().order.epochs;
  const sampler::Position start = sharding.by_one_name(request.position);
  if (!sharding.has(start) || (epochs && start.epoch > epochs))
    throw SetupError(Trouble::kUsage, "epoch " + std::to_string(start.epoch) + ", step " + std::to_string(start.step) +
                                          " is past the end: an epoch has " + std::to_string(sharding.steps()) +
                                          " steps" + (epochs ? ", the run " + std::to_string(epochs) + " epochs" : ""));
  return start;
}

void refuse_seat(const control::AttachRequest& request, const std::string& what) {
  throw SetupError(Trouble::kConflict,
                   "rank " + std::to_string(request.rank) + " of group '" + request.group + "' " + what);
}

std::string misplaced(const Feed& feed, const Placement& wanted) {
  if (!wanted.is_at(feed.kind(), feed.setting().gpu))
    return "has replicas elsewhere: all replicas of a rank share the memory of one device: give them all device = "
           "\"cpu\"";
  if (memory::on_gpu(feed.kind()) && wanted.ring.ready_early != feed.setting().ready_early)
    return "has replicas that disagree on ready_early";
  if (feed.kind() == memory::MemoryKind::kCudaVmm && !wanted.ring.client_shares_fds)
    return "has its batches on the GPU by file descriptors, which this replica can't take: use transport \"handle\"";
  return "";
}

void check_beside(const Feed& feed, const Feed::Seat& seat, const control::AttachRequest& request,
                  const control::Client& client, const sampler::Sharding& sharding) {
  const FeedKey& key = feed.setting().key;
  const std::string is_here = "rank " + std::to_string(key.rank) + " of group '" + request.group + "' is here with ";
  if (key.world_size != request.world_size)
    throw SetupError(Trouble::kConflict, is_here + "world_size " + std::to_string(key.world_size) + ", not " +
                                             std::to_string(request.world_size));
  if (feed.sharding().global_size() != sharding.global_size())
    throw SetupError(Trouble::kConflict,
                     is_here + "a global batch of " + std::to_string(feed.sharding().global_size()) + " samples, not " +
                         std::to_string(sharding.global_size()) +
                         ": give all ranks of a job the same batch_size, and another group to another job");
  if (key.rank == request.rank) check_seat(feed, seat, request, client);
}

}  // namespace spdld::node
