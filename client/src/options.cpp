#include "client/src/options.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>

#include "client/src/calls/environment.h"
#include "client/src/job_names.h"
#include "client/src/spec_file.h"
#include "proto/text.h"

namespace spdld::client {

namespace {

constexpr size_t kStructBytesMax = 4096;
constexpr int64_t kReconnectDefault_ms = 30'000;
constexpr int64_t kWaitMax_ms = int64_t{365} * 24 * 3600 * 1000;

// The daemon would refuse such a text, with the same words.
CallOutcome check_text(proto::TextKind kind, const std::string& text) {
  const std::string fault = proto::text_fault(kind, text);
  return fault.empty() ? CallOutcome{} : failure(SPDLD_INVALID, std::string(proto::rule_of(kind).what) + " " + fault);
}

// `launched`: the launcher's name for the run, where the group is to be made of it.
CallOutcome set_ranks(const spdld_attach_options& options, AttachRequest& request, uint32_t& local_rank,
                      std::string& launched) {
  Launch launch;
  const bool group_given = options.group && *options.group;
  const bool asked = options.world_size == 0 || !group_given;
  const CallOutcome outcome = asked ? read_launch(launch) : CallOutcome{};
  // With ranks given, variables that make no sense are no concern: only the group comes from there.
  if (options.world_size == 0 && !outcome.ok()) return outcome;
  if (options.world_size == 0) {
    if (options.rank != 0) return failure(SPDLD_INVALID, "rank is given without world_size: give both, or neither");
    request.rank = launch.rank;
    request.world_size = launch.world_size;
    local_rank = options.local_rank != 0 ? options.local_rank : launch.local_rank;
  } else {
    request.rank = options.rank;
    request.world_size = options.world_size;
    local_rank = options.local_rank;
  }
  request.reader = options.reader;
  request.readers = std::max<uint32_t>(1, options.readers);
  // Nobody else needs to know the group of a single rank, so that it is a job of its own under a launcher as well.
  const bool is_own = launch.is_alone || (options.world_size == 1 && request.readers == 1);
  if (group_given) {
    request.group = options.group;
  } else if (is_own) {
    request.group = next_own_job(process_group());
  } else {
    request.group = launched = launch.group;
  }
  if (request.readers > 1 && !group_given && launch.is_alone) {
    return failure(
        SPDLD_INVALID,
        "replicas find one another by their job's group, which no launcher's variables tell here: give all of "
        "them the same group");
  }
  if (const CallOutcome group = check_text(proto::TextKind::kGroup, request.group); !group.ok()) return group;
  if (request.rank >= request.world_size) {
    return failure(SPDLD_INVALID, "rank " + std::to_string(request.rank) + " is not below world_size " +
                                      std::to_string(request.world_size));
  }
  if (request.reader >= request.readers) {
    return failure(SPDLD_INVALID, "reader " + std::to_string(request.reader) + " is not below readers " +
                                      std::to_string(request.readers));
  }
  return {};
}

// Where to begin.
CallOutcome set_place(const spdld_attach_options& options, LoaderSettings& settings) {
  AttachRequest& request = settings.request;
  request.position = {options.epoch, options.step};
  if (options.fingerprint) request.fingerprint = options.fingerprint;
  if (!options.state) return check_text(proto::TextKind::kFingerprint, request.fingerprint);
  if (options.epoch != 0 || options.step != 0 || options.fingerprint) {
    return failure(SPDLD_INVALID, "a state says where to begin: give it, or epoch, step and fingerprint, not both");
  }
  State& state = settings.state.emplace();
  const CallOutcome outcome = read_state(options.state, state);
  request.position = state.position;
  request.fingerprint = state.fingerprint;
  request.key_digests = state.key_digests;
  return outcome.ok() ? check_text(proto::TextKind::kFingerprint, request.fingerprint) : outcome;
}

// The same in all ranks of a job.
uint64_t loader_key(const AttachRequest& request, const Endpoint& endpoint) {
  std::string key = request.group;
  for (const std::string& part : {endpoint.path, request.pipeline, request.spec, std::to_string(request.reader)})
    key.append(1, '\0').append(part);
  return std::hash<std::string>()(key);
}

CallOutcome set_join(const spdld_attach_options& options, AttachRequest& request) {
  const std::string_view join = options.join ? options.join : "";
  const bool has_place = options.state || options.epoch != 0 || options.step != 0;
  if (join.empty()) {
    request.join = has_place ? proto::Join::exact : proto::Join::now;
    return {};
  }
  for (const proto::Join known : proto::EnumValuesJoin()) {
    if (join != proto::EnumNameJoin(known)) continue;
    request.join = known;
    return {};
  }
  return failure(SPDLD_INVALID, "join is \"" + std::string(join.substr(0, 32)) +
                                    "\": it must be \"now\", \"exact\", \"epoch\" or \"alone\"");
}

CallOutcome set_crew(const spdld_attach_options& options, CrewCommand& crew) {
  for (const char* const* text = options.crew; text && *text; ++text) crew.arguments.emplace_back(*text);
  if (options.crew && (crew.arguments.empty() || crew.arguments[0].empty()))
    return failure(SPDLD_INVALID, "crew names no program: its first entry is the program's path");
  if (!options.crew && options.crew_input)
    return failure(SPDLD_INVALID, "crew_input is given without crew: give the program that reads it");
  if (!options.crew_input && options.crew_input_bytes > 0)
    return failure(SPDLD_INVALID, "crew_input_bytes is given without crew_input");
  if (options.crew_input)
    crew.input =
        std::make_shared<const std::string>(static_cast<const char*>(options.crew_input), options.crew_input_bytes);
  return {};
}

// A replay keeps its leases: it must hold no other job of a stream back.
CallOutcome set_replay(const spdld_attach_options& options, LoaderSettings& settings) {
  settings.replay = options.replay;
  settings.tells_pace = settings.replay == 0;
  CallOutcome outcome = settings.replay == 0 ? read_replay(settings.replay) : CallOutcome{};
  if (outcome.ok() && settings.replay > kReplayMax) {
    outcome = failure(SPDLD_INVALID, "a replay of " + std::to_string(settings.replay) + " batches is asked for, and " +
                                         std::to_string(kReplayMax) + " are the most");
  }
  if (!outcome.ok() || settings.replay == 0) return outcome;
  settings.request.join = proto::Join::alone;
  if (settings.replay > 1) settings.request.held_max = std::max(settings.request.held_max, settings.replay);
  return {};
}

}  // namespace

CallOutcome copy_options(const spdld_attach_options* given, spdld_attach_options& options) {
  options = {};
  if (!given) return failure(SPDLD_INVALID, "attach wants options");
  const size_t size = given->struct_size;
  if (size < offsetof(spdld_attach_options, spec) || size > kStructBytesMax) {
    return failure(SPDLD_INVALID, "struct_size is not set: it is sizeof(spdld_attach_options)");
  }
  const unsigned char* bytes = reinterpret_cast<const unsigned char*>(given);
  const auto is_set = [](unsigned char byte) { return byte != 0; };
  if (size > sizeof options && std::any_of(bytes + sizeof options, bytes + size, is_set)) {
    return failure(SPDLD_UNSUPPORTED, "an option is set that libspdld " SPDLD_VERSION_TEXT " does not know: update it");
  }
  std::memcpy(&options, given, std::min(size, sizeof options));
  return {};
}

CallOutcome settings_from(const spdld_attach_options& options, LoaderSettings& settings) {
  AttachRequest& request = settings.request;
  const std::string_view name = options.client_name && *options.client_name ? options.client_name : "c";
  request.client_name = "libspdld " SPDLD_VERSION_TEXT " (" + std::string(name) + ")";
  request.may_start = options.no_private_daemon == 0;
  settings.warn = {options.warn, options.warn_user};
  request.held_max = options.held_max;
  request.batch_size = options.batch_size;
  request.looks = options.looks != 0;
  settings.reconnect_ms = options.reconnect_ms == 0 ? kReconnectDefault_ms : std::max<int64_t>(0, options.reconnect_ms);
  if (options.held_wait_ms != 0) settings.held_wait_ms = std::clamp<int64_t>(options.held_wait_ms, 0, kWaitMax_ms);
  uint32_t local_rank = 0;
  CallOutcome outcome = check_text(proto::TextKind::kClient, request.client_name);
  if (outcome.ok()) outcome = set_place(options, settings);
  if (outcome.ok()) outcome = set_join(options, request);
  if (outcome.ok()) outcome = set_ranks(options, request, local_rank, settings.job.launched);
  if (outcome.ok()) outcome = read_pipeline(options, request);
  if (outcome.ok()) outcome = read_gpu_request(options, local_rank, request.gpus);
  if (outcome.ok()) outcome = find_endpoint(options.socket, settings.endpoint);
  if (outcome.ok()) outcome = set_crew(options, request.crew);
  if (outcome.ok()) outcome = set_replay(options, settings);
  settings.may_rest = !(options.group && *options.group) && request.readers == 1 && settings.replay == 0;
  if (outcome.ok() && !settings.job.launched.empty()) {
    settings.job.loader = loader_key(request, settings.endpoint);
    request.group = settings.job.next();
  }
  return outcome;
}

}  // namespace spdld::client
