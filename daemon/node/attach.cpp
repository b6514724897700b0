// How the node answers an attach: spec -> pipeline, which is listed once, and then a seat in a ring of it (seating.h).
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "config/checks/load.h"
#include "config/segments.h"
#include "config/side_paths.h"
#include "config/text/remote_uri.h"
#include "config/uri_pattern.h"
#include "daemon/base/system/log.h"
#include "daemon/node/access/access.h"
#include "daemon/node/node.h"
#include "daemon/node/reports/sight.h"

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

// The refusal of a spec that a user sent who is not the owner.
Error refuse_spec(uid_t uid, const std::string& why) {
  return {Trouble::kDenied,
          "user " + user_name(uid) + " may not send " + why +
              ": use a named pipeline of the operator's (spdlctl ls), or ask the operator to open the data "
              "to you (data.roots)"};
}

// Where a user may not send a spec, or the daemon may not read its data, a daemon of that user's own may take it.
void refuse(control::AttachReply& reply, const control::Client& client, const control::AttachRequest& request,
            const Error& error) {
  const bool is_spec_refused = error.trouble == Trouble::kDenied && !request.spec.empty() && !is_owner(client.uid);
  if (is_spec_refused) return reply.spec_refused(error.message);
  reply.refused(error);
}

// Adds to an error of the listing as which user the daemon reads.
Error with_reader(Error error) {
  if (error.trouble == Trouble::kDenied) error.message += " This spdld reads as user " + user_name(geteuid()) + ".";
  return error;
}

// The first of its remote uris that lies in none of the stores.
std::string uri_outside(const config::PipelineSpec& spec, const AllowedUris& stores) {
  if (!stores.is_bound) return "";
  for (const auto& source : spec.sources)
    for (const std::string& uri : source.uris)
      if (config::is_remote(uri) && !config::lies_below_any(uri, stores.beginnings)) return uri;
  return "";
}

// The first of its local paths that lies in none of the folders.
std::string path_outside(const config::PipelineSpec& spec, const Folders& folders) {
  Folders of_data = folders;
  std::erase_if(of_data, [](const Folder& folder) { return folder.lists_only; });
  for (const auto& source : spec.sources)
    for (const std::string& place : config::places_of(source))
      if (!config::is_remote(place) && !lies_in_any(of_data, place)) return place;
  for (const std::string& path : config::side_paths_of(spec))
    if (!lies_in_any(of_data, path)) return path;
  for (const config::ListPath& list : config::list_paths_of(spec))
    if (!lies_in_any(folders, list.path)) return list.path;
  return "";
}

// Other users than the owner get the same answer, whether there is such a pipeline or not.
Error no_pipeline(const config::DaemonSettings& settings, const control::Client& client, const std::string& name) {
  const std::string none = "there is no pipeline '" + name + "' here";
  if (!is_owner(client.uid))
    return {Trouble::kNotFound, none + " that user " + user_name(client.uid) +
                                    " may use: see spdlctl ls; the operator allows a pipeline under "
                                    "[pipelines.access." +
                                    name + "]"};
  if (settings.pipelines_dir.empty())
    return {Trouble::kNotFound, none + " (this spdld has no folder of named pipelines)"};
  return {Trouble::kNotFound, none + " (" + (settings.pipelines_dir / (name + ".toml")).string() + ")"};
}

// The operator's file can't be used; what it says is no other user's business.
Error unfit_pipeline(const control::Client& client, const std::string& name, Trouble trouble, const std::string& why) {
  if (is_owner(client.uid)) return {trouble, why};
  log::limited(log::Level::kWarn, {name}, "pipeline {}, which user {} may use: {}", name, user_name(client.uid),
               why.substr(0, why.find('\n')));
  return {trouble, "pipeline '" + name + "' can't be used now: the operator finds the reason in spdld's log"};
}

}  // namespace

void Node::attach(const control::Client& client, control::AttachRequest request,
                  std::shared_ptr<control::AttachReply> reply) {
  if (draining_) return reply->refused({Trouble::kStopping, "this spdld is stopping"});
  has_served_ = true;
  try {
    check_request(request);
  } catch (const SetupError& e) {
    return reply->refused(e.error());
  }
  const auto resolved = resolve_spec(client, request);
  if (!resolved) return refuse(*reply, client, request, resolved.error());

  Opening opening;
  opening.on_progress = [reply](std::string_view what, uint64_t done, uint64_t total) {
    reply->preparing("listing " + std::string(what), done, total);
  };
  // The data of a named pipeline are the operator's: other users do not hear where they lie.
  if (!request.pipeline.empty() && !is_owner(client.uid)) reply->hide(hidden_paths(resolved->spec));
  opening.on_open = [this, client, request, reply](const Result<std::shared_ptr<pipeline::Pipeline>>& opened) {
    if (!opened) return refuse(*reply, client, request, with_reader(opened.error()));
    if (const Status attended = crews_.attend(**opened, client, request.starts_crews, reply); !attended)
      return refuse(*reply, client, request, attended.error());
    try {
      seating_.seat(client, request, reply, *opened);
    } catch (const SetupError& e) {
      reply->refused(e.error());
    } catch (const std::bad_alloc&) {
      reply->refused({Trouble::kMemory, "spdld is short of memory: try again later"});
    } catch (const std::exception& e) {
      reply->refused({Trouble::kInternal, e.what()});
    }
  };
  opening.is_wanted = [reply] { return !reply->client_gone(); };
  const size_t per_user_max = is_owner(client.uid) ? SIZE_MAX : options_.settings.pipelines_per_user_max;
  const uint64_t side_bytes_max = is_owner(client.uid) ? UINT64_MAX : options_.settings.side_bytes_per_user_max;
  const Opener opener{client.uid,       request.pipeline, per_user_max, side_bytes_max,
                      resolved->within, resolved->stores, request.looks};
  const Status status = pipelines_.open(resolved->spec, opener, std::move(opening));
  if (!status) reply->refused(status.error());
}

Result<Node::Resolved> Node::resolve_spec(const control::Client& client, const control::AttachRequest& request) const {
  return request.spec.empty() ? resolve_named(client, request.pipeline) : resolve_sent(client, request);
}

Result<Node::Resolved> Node::resolve_sent(const control::Client& client, const control::AttachRequest& request) const {
  const bool owns = is_owner(client.uid);
  const Folders folders = owns ? data_roots(options_.settings) : open_roots(options_.settings, client);
  const AllowedUris stores = owns ? data_stores(options_.settings) : open_stores(options_.settings, client);
  if (!owns && folders.empty() && stores.beginnings.empty())
    return refuse_spec(client.uid, "specs to this spdld, which runs as " + user_name(geteuid()));
  auto loaded = request.spec_is_json ? config::load_pipeline_json(request.spec, "spec", request.spec_folder)
                                     : config::load_pipeline_toml(request.spec, "spec", request.spec_folder);
  if (!loaded) return Error{Trouble::kUsage, loaded.sentences()};
  std::string outside = uri_outside(*loaded.value, stores);
  if (outside.empty() && (!owns || !folders.empty())) outside = path_outside(*loaded.value, folders);
  if (outside.empty()) return Resolved{std::move(*loaded.value), folders, stores};
  if (owns)
    return Error{Trouble::kDenied, outside + " lies outside the data roots and stores that the operator allows"};
  std::string open;
  for (const auto& folder : folders) open += (open.empty() ? "" : ", ") + folder.path.string();
  for (const auto& beginning : stores.beginnings) open += (open.empty() ? "" : ", ") + beginning;
  return refuse_spec(client.uid, "specs over " + outside + " to this spdld, where " + open + " is open to that user");
}

Result<Node::Resolved> Node::resolve_named(const control::Client& client, const std::string& name) const {
  const auto& settings = options_.settings;
  const auto file = settings.pipelines_dir / (name + ".toml");
  std::error_code ignored;
  const bool may = may_use(settings, name, client);  // asked first, so that nothing else depends on the file
  if (!may || settings.pipelines_dir.empty() || !std::filesystem::exists(file, ignored))
    return no_pipeline(settings, client, name);
  auto loaded = config::load_pipeline_file(file);
  if (!loaded) return unfit_pipeline(client, name, Trouble::kUsage, loaded.sentences());
  if (config::uses_executor(*loaded.value, config::kUserExecutor))
    return unfit_pipeline(client, name, Trouble::kUnsupported,
                          "pipeline '" + name + "' of the operator's can't call functions of users: send such a spec");
  Folders folders = data_roots(settings);
  const AllowedUris stores = data_stores(settings);
  if (!folders.empty()) folders.push_back({.path = settings.pipelines_dir, .lists_only = true});
  std::string outside = uri_outside(*loaded.value, stores);
  if (outside.empty() && !folders.empty()) outside = path_outside(*loaded.value, folders);
  if (outside.empty()) return Resolved{std::move(*loaded.value), folders, stores};
  return unfit_pipeline(client, name, Trouble::kDenied,
                        outside + " lies outside the data roots and stores that the operator allows");
}

}  // namespace spdld::node
