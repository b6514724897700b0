// The daemon's own file, spdld.toml, typed and checked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace spdld::config {

// The users and groups that may do something; the daemon's own uid and root always may. "*" in users: everybody.
struct Allowed {
  std::vector<std::string> users;   // names or numeric uids
  std::vector<std::string> groups;  // names or numeric gids (primary or supplementary)
  friend bool operator==(const Allowed&, const Allowed&) = default;
};

// A folder that sources may lie in. The users in `senders` may send specs of their own whose data lie there.
struct DataRoot {
  std::filesystem::path path;
  Allowed senders = {};
  bool follow_links = false;  // symlinks below it may lead out of the roots
  friend bool operator==(const DataRoot&, const DataRoot&) = default;
};

// How a store is asked: how often at once, how long, and how often again.
struct StoreLimits {
  uint32_t connections_max = 64;    // requests at once
  uint32_t requests_per_s_max = 0;  // 0: no limit
  uint64_t bytes_per_s_max = 0;     // of bodies; 0: no limit
  uint32_t connect_ms_max = 5'000;
  uint32_t attempt_ms_max = 60'000;  // of one attempt, from its start to the last byte
  uint32_t total_ms_max = 60'000;    // of all attempts of a request: none begins after that
  // A body that comes more slowly than this for so long is a fault; 0 bytes: never.
  uint64_t floor_bytes_per_s = 1'024;
  uint32_t floor_ms = 10'000;
  uint32_t attempts_max = 6;
  // Before the second attempt a request waits for a random time from 0 to `backoff_ms`; the bound doubles with each
  // attempt, up to `backoff_ms_max`.
  uint32_t backoff_ms = 50, backoff_ms_max = 5'000;
  // A read that takes longer than all but this share of the reads before is asked for a second time, and the answer
  // that ends first counts. In percent; 0: never.
  double hedge_percent = 0;
  friend bool operator==(const StoreLimits&, const StoreLimits&) = default;
};

// A remote store, or a part of one, and how it is asked. Of several that fit an object the one with the longest uri
// counts. The users in `senders` may send specs of their own whose data lie there.
struct StoreSettings {
  std::string uri;  // the beginning that its objects' uris have: "s3://bucket/folder", "https://data.example.org"
  Allowed senders = {};
  // Of S3. Empty: as the environment says (AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_REGION), else Amazon's own.
  std::string endpoint = {}, region = {};
  bool path_style = false;           // the bucket stands in the path, and not before the endpoint's name
  std::string credentials = "auto";  // "auto", "environment", "profile:NAME", "container", "instance", "anonymous", ...
  std::filesystem::path ca_file = {};  // authorities of its certificate; empty: the system's
  std::string proxy = {};              // "http://server:port", which connects to it; empty: none is used
  bool follows_redirects = false;      // of a web server
  bool link_local = false;             // its address may be link-local
  StoreLimits limits = {};
  friend bool operator==(const StoreSettings&, const StoreSettings&) = default;
};

struct DaemonSettings {
  std::filesystem::path socket_path = "/run/spdld/spdld.sock";
  uint32_t socket_mode = 0660;
  std::string socket_group;  // empty: the daemon's own

  uint32_t cpu_budget = 0;               // decode threads of the node; 0: the cores this process may use
  uint32_t fetch_concurrency = 16;       // the most local reads at once
  uint64_t slot_bytes_max = 8ull << 30;  // of all rings together
  // The most slot bytes of one uid's rings; only slot_bytes_max limits the daemon's own uid and root. Never above
  // slot_bytes_max.
  uint64_t slot_bytes_per_user_max = 4ull << 30;
  // The most slot bytes that ended rings leave for later rings of the same users, for half a minute; 0: none.
  uint64_t spare_slot_bytes_max = 1ull << 30;
  uint32_t pipelines_per_user_max = 16;  // open at once, of one uid
  uint32_t sessions_max = 256;
  // Of one uid, at most; the daemon's own uid and root have no such limits.
  uint32_t sessions_per_user_max = 128;
  uint32_t rings_per_user_max = 64;
  uint32_t slots_per_user_max = 512;  // of all its rings, in host memory and on GPUs
  // Of samples that are read and not decoded yet; further reads wait. Of the node (nothing: a sixteenth of the memory
  // this daemon may use, from 256 MiB to 16 GiB), of each pipeline (nothing: half of the node's), and of each uid.
  std::optional<uint64_t> inflight_bytes_max;
  std::optional<uint64_t> inflight_bytes_per_pipeline_max;
  uint64_t inflight_bytes_per_user_max = 1ull << 30;
  // Of memory that decoding and operations take, by the sizes that samples claim; further samples wait. Of the node
  // (nothing: an eighth of the memory this daemon may use, and no more than batches and the cache leave of it), of each
  // pipeline and of each uid (nothing: half of the node's).
  std::optional<uint64_t> decode_bytes_max;
  std::optional<uint64_t> decode_bytes_per_pipeline_max;
  std::optional<uint64_t> decode_bytes_per_user_max;
  // Of memory in which operations of pipelines that one uid sent may keep files beside the data set.
  uint64_t side_bytes_per_user_max = 4ull << 30;
  uint32_t listings_per_user_max = 2;  // at the same time; further ones wait
  // Of memory that listings take, while they are made and as long as they are held. Of the node (nothing: an eighth of
  // the memory this daemon may use, 256 MiB at least), and of what each uid sent (nothing: half of the node's).
  std::optional<uint64_t> listing_bytes_max;
  std::optional<uint64_t> listing_bytes_per_user_max;
  // How long a dataset that a uid sent may be listed; 0: as long as it takes.
  uint32_t listing_s_max = 3'600;
  uint32_t queries_per_user_s_max = 100;  // further ones wait
  uint32_t sessions_reserve = 16;         // beyond sessions_max, for the daemon's own uid and root
  // How long a trainer that holds batches may send nothing, before its session ends; 0: as long as it likes.
  uint32_t silent_ms_max = 0;
  // For jobs that share a stream: how long one job may hold the others back, and how many jobs may hold its batches.
  uint32_t share_lag_ms_max = 10'000;
  uint32_t share_jobs_max = 8;
  // Limits of decoding one picture. A picture that costs more is bad content. 0: no limit.
  uint32_t sample_ms_max = 10'000;         // of CPU time
  uint64_t sample_bytes_max = 2ull << 30;  // of memory, with the decoded samples

  bool jpeg_by_libjpeg = false;  // alone; else plain JPEGs are decoded by the daemon's own code

  // The node's cache of samples that were read.
  std::optional<uint64_t> cache_ram_bytes_max;  // 0: none; nothing: a quarter of the memory this daemon may use
  std::filesystem::path cache_folder;           // on a local disk; empty: memory alone
  uint64_t cache_disk_bytes_max = 64ull << 30;  // limit of cache_folder; no effect without a folder

  // The folder where listings are kept over restarts. Empty: the daemon looks for a place, $CACHE_DIRECTORY
  // (systemd's), else $XDG_CACHE_HOME/spdld, else ~/.cache/spdld.
  bool state_kept = true;
  std::filesystem::path state_folder;

  // Whether concurrency and prefetching follow measurements, up to cpu_budget, fetch_concurrency and a pipeline's
  // prefetch_depth; false: they stay at these numbers. A pinned number holds in either case.
  bool tuning_enabled = true;
  uint32_t tuning_decode = 0;  // decode threads, never above a cpu_budget that is given; 0: not pinned
  uint32_t tuning_fetch = 0;   // reads at once, never above fetch_concurrency; 0: not pinned
  uint32_t tuning_depth = 0;   // batches ahead of a trainer, as far as its prefetch_depth allows; 0: not pinned

  bool gpu_enabled = true;
  uint64_t gpu_slot_bytes_max = 4ull << 30;     // of one GPU's memory, for the slots of all rings on it
  uint64_t gpu_staging_bytes_max = 1ull << 30;  // of pinned host memory, for the copies to one GPU

  std::vector<DataRoot> data_roots;  // a source must lie in one of them; empty: anywhere the daemon can read
  // Without roots and stores a source may lie anywhere. With either, a remote source must lie in one of the stores.
  std::vector<StoreSettings> data_stores;
  std::filesystem::path pipelines_dir;    // NAME.toml is the named pipeline NAME; empty: none
  std::map<std::string, Allowed> access;  // by pipeline name; "*": all others. Without an entry: daemon's uid and root
  std::map<std::string, double> cpu_weights;  // by the name of a named pipeline, in place of what its own file says

  // The HTTP server for monitoring: where it listens (config/text/http_address.h; empty: nowhere), what it asks its
  // clients for, and whether it shows the status page.
  std::string http_listen;
  uint32_t http_socket_mode = 0600;  // of a Unix socket
  std::filesystem::path http_token_file;
  bool http_page = false;

  std::string log_level = "info";  // trace, debug, info, warn, error
};

}  // namespace spdld::config
