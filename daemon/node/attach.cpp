// How the node answers an attach: spec -> pipeline, which is listed once, and then a seat in a ring of it (seats.cpp).
#include <algorithm>
#include <filesystem>

#include "config/load.h"
#include "daemon/node/access.h"
#include "daemon/node/node.h"

namespace spdld::node {
namespace {

constexpr uint32_t kReadersMax = 64;
constexpr uint32_t kWorldSizeMax = 1u << 20;

void check_request(const control::AttachRequest& request) {
  const auto refuse = [](const std::string& what) { throw SetupError(Trouble::kUsage, what); };
  if (request.pipeline.empty() == request.spec.empty()) refuse("ATTACH needs a pipeline's name or a spec, not both");
  if (request.group.empty()) refuse("ATTACH needs a group: the id of the training job");
  if (request.world_size == 0 || request.world_size > kWorldSizeMax || request.rank >= request.world_size)
    refuse("rank " + std::to_string(request.rank) + " does not fit world_size " + std::to_string(request.world_size));
  if (request.readers == 0 || request.readers > kReadersMax || request.reader >= request.readers)
    refuse("reader " + std::to_string(request.reader) + " does not fit " + std::to_string(request.readers) +
           " readers (at most " + std::to_string(kReadersMax) + ")");
}

}  // namespace

void Node::attach(const control::Client& client, control::AttachRequest request,
                  std::shared_ptr<control::AttachReply> reply) {
  if (draining_) return reply->refused({Trouble::kStopping, "this spdld is stopping"});
  try {
    check_request(request);
  } catch (const SetupError& e) {
    return reply->refused(e.error());
  }
  const auto spec = resolve_spec(client, request);
  if (!spec) return reply->refused(spec.error());

  Opening opening;
  opening.on_progress = [reply](uint64_t done, uint64_t total) { reply->preparing("listing", done, total); };
  opening.on_open = [this, client, request, reply](const Result<std::shared_ptr<pipeline::Pipeline>>& opened) {
    if (!opened) return reply->refused(opened.error());
    try {
      take_seat(client, request, reply, *opened);
    } catch (const SetupError& e) {
      reply->refused(e.error());
    } catch (const std::exception& e) {
      reply->refused({Trouble::kInternal, e.what()});
    }
  };
  const size_t per_user_max = is_owner(client.uid) ? SIZE_MAX : options_.settings.pipelines_per_user_max;
  const Status status = pipelines_.open(*spec, client.uid, !request.pipeline.empty(), per_user_max, std::move(opening));
  if (!status) reply->refused(status.error());
}

Result<config::PipelineSpec> Node::resolve_spec(const control::Client& client,
                                                const control::AttachRequest& request) const {
  const auto& settings = options_.settings;
  config::Loaded<config::PipelineSpec> loaded;
  if (!request.spec.empty()) {
    if (!is_owner(client.uid))
      return Error{Trouble::kDenied, "user " + user_name(client.uid) +
                                         " may not send specs to this spdld, which runs as " + user_name(geteuid()) +
                                         ": use a named pipeline of the operator's (spdlctl ls)"};
    loaded = request.spec_is_json ? config::load_pipeline_json(request.spec, "spec", request.spec_folder)
                                  : config::load_pipeline_toml(request.spec, "spec", request.spec_folder);
  } else {
    const std::string& name = request.pipeline;
    const bool sound = name.find('/') == std::string::npos && name.front() != '.';
    const auto file = settings.pipelines_dir / (name + ".toml");
    std::error_code ignored;
    if (!sound || settings.pipelines_dir.empty() || !std::filesystem::exists(file, ignored))
      return Error{Trouble::kNotFound,
                   "there is no pipeline '" + name + "' here" +
                       (settings.pipelines_dir.empty() ? " (this spdld has no folder of named pipelines)"
                                                       : " (" + file.string() + ")")};
    if (!may_use(settings, name, client.uid, client.gid))
      return Error{Trouble::kDenied, "user " + user_name(client.uid) + " may not use pipeline '" + name +
                                         "': the operator allows it under [pipelines.access." + name + "]"};
    loaded = config::load_pipeline_file(file);
  }
  if (!loaded) return Error{Trouble::kUsage, loaded.sentences()};
  const auto outside = [](const std::string& path) {
    return Error{Trouble::kDenied, path + " lies outside the data roots that the operator allows"};
  };
  std::vector<std::string> lists = {loaded.value->order.include, loaded.value->order.exclude,
                                    loaded.value->order.weights};
  for (const auto& source : loaded.value->sources) {
    if (!in_data_roots(settings, source.uri)) return outside(source.uri);
    lists.insert(lists.end(), {source.include, source.exclude});
  }
  for (const std::string& list : lists) {
    if (list.empty() || list == config::kWeightsByClass || in_data_roots(settings, list)) continue;
    const bool named = request.spec.empty();  // a list may lie beside the operator's pipelines as well
    if (named && lies_in(settings.pipelines_dir, list)) continue;
    return outside(list);
  }
  return std::move(*loaded.value);
}

}  // namespace spdld::node
