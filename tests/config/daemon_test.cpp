#include "config/daemon_settings.h"

#include "tests/config/expect.h"

namespace spdld::config::daemon_test {
namespace {

Loaded<DaemonSettings> load(std::string_view text) { return load_daemon_toml(text, "spdld.toml"); }

}  // namespace

TEST_CASE("an empty daemon file gives the defaults", "[config]") {
  const auto loaded = load("");
  INFO(loaded.sentences());
  REQUIRE(loaded);
  const auto& settings = *loaded.value;
  CHECK(settings.socket_path == "/run/spdld/spdld.sock");
  CHECK(settings.socket_mode == 0660);
  CHECK(settings.socket_group.empty());
  CHECK(settings.cpu_budget == 0);
  CHECK(settings.fetch_concurrency == 16);
  CHECK(settings.slot_bytes_max == 8ull << 30);
  CHECK(settings.slot_bytes_per_user_max == 4ull << 30);
  CHECK(settings.pipelines_per_user_max == 16);
  CHECK(settings.sessions_max == 256);
  CHECK(settings.sessions_per_user_max == 128);
  CHECK(settings.sessions_reserve == 16);
  CHECK(settings.rings_per_user_max == 64);
  CHECK(settings.slots_per_user_max == 512);
  CHECK_FALSE(settings.inflight_bytes_max.has_value());
  CHECK_FALSE(settings.inflight_bytes_per_pipeline_max.has_value());
  CHECK(settings.inflight_bytes_per_user_max == 1ull << 30);
  CHECK_FALSE(settings.decode_bytes_max.has_value());
  CHECK_FALSE(settings.decode_bytes_per_pipeline_max.has_value());
  CHECK_FALSE(settings.decode_bytes_per_user_max.has_value());
  CHECK(settings.side_bytes_per_user_max == 4ull << 30);
  CHECK(settings.listings_per_user_max == 2);
  CHECK(settings.listing_bytes_max == std::nullopt);
  CHECK(settings.listing_bytes_per_user_max == std::nullopt);
  CHECK(settings.listing_s_max == 3'600);
  CHECK(settings.queries_per_user_s_max == 100);
  CHECK(settings.silent_ms_max == 0);
  CHECK(settings.sample_ms_max == 10'000);
  CHECK(settings.sample_bytes_max == 2ull << 30);
  CHECK_FALSE(settings.jpeg_by_libjpeg);
  CHECK_FALSE(settings.cache_ram_bytes_max.has_value());
  CHECK(settings.cache_folder.empty());
  CHECK(settings.cache_disk_bytes_max == 64ull << 30);
  CHECK(settings.state_kept);
  CHECK(settings.state_folder.empty());
  CHECK(settings.tuning_enabled);
  CHECK(settings.tuning_decode == 0);
  CHECK(settings.tuning_fetch == 0);
  CHECK(settings.tuning_depth == 0);
  CHECK(settings.gpu_enabled);
  CHECK(settings.gpu_slot_bytes_max == 4ull << 30);
  CHECK(settings.gpu_staging_bytes_max == 1ull << 30);
  CHECK(settings.data_roots.empty());
  CHECK(settings.pipelines_dir.empty());
  CHECK(settings.access.empty());
  CHECK(settings.http_listen.empty());
  CHECK(settings.http_socket_mode == 0600);
  CHECK(settings.http_token_file.empty());
  CHECK_FALSE(settings.http_page);
  CHECK(settings.log_level == "info");
}

TEST_CASE("every key of a daemon file is taken", "[config]") {
  const auto loaded = load(R"([socket]
path = "/tmp/s"
mode = 0o600
group = "trainers"
[limits]
cpu_budget = 12
fetch_concurrency = 64
slot_bytes_max = "1.5 GiB"
slot_bytes_per_user_max = 1048576
pipelines_per_user_max = 2
sessions_max = 3
sessions_per_user_max = 2
sessions_reserve = 0
rings_per_user_max = 5
slots_per_user_max = 40
inflight_bytes_max = "5 MiB"
inflight_bytes_per_pipeline_max = "4 MiB"
inflight_bytes_per_user_max = "3 MiB"
decode_bytes_max = "96 MiB"
decode_bytes_per_pipeline_max = "7 MiB"
decode_bytes_per_user_max = "8 MiB"
side_bytes_per_user_max = "5 MiB"
listings_per_user_max = 1
listing_bytes_max = "3 GiB"
listing_bytes_per_user_max = "9 MiB"
listing_s_max = 60
queries_per_user_s_max = 7
silent_ms_max = 60000
sample_ms_max = 250
sample_bytes_max = "64 MiB"
[decode]
jpeg = "libjpeg-turbo"
[cache]
ram_bytes_max = "20 GiB"
folder = "/mnt/ssd"
disk_bytes_max = "1 TB"
[state]
folder = "/var/lib/x"
[tuning]
enabled = false
decode = 12
fetch = 63
depth = 16
[gpu]
enabled = false
slot_bytes_max = "16 GiB"
staging_bytes_max = 2097152
[data]
roots = ["/data", "/mnt"]
[pipelines]
dir = "/etc/spdld/pipelines"
[pipelines.access.train]
users = ["alice", "1007"]
groups = ["vision"]
[pipelines.access."*"]
users = ["*"]
[http]
listen = "127.0.0.1:9464"
socket_mode = "0660"
token_file = "/etc/spdld/http-token"
page = true
[log]
level = "debug"
)");
  INFO(loaded.sentences());
  REQUIRE(loaded);
  const auto& settings = *loaded.value;
  CHECK(settings.socket_path == "/tmp/s");
  CHECK(settings.socket_mode == 0600);
  CHECK(settings.socket_group == "trainers");
  CHECK(settings.cpu_budget == 12);
  CHECK(settings.fetch_concurrency == 64);
  CHECK(settings.slot_bytes_max == 3ull << 29);
  CHECK(settings.slot_bytes_per_user_max == 1048576);
  CHECK(settings.pipelines_per_user_max == 2);
  CHECK(settings.sessions_max == 3);
  CHECK(settings.sessions_per_user_max == 2);
  CHECK(settings.sessions_reserve == 0);
  CHECK(settings.rings_per_user_max == 5);
  CHECK(settings.slots_per_user_max == 40);
  CHECK(settings.inflight_bytes_max == 5ull << 20);
  CHECK(settings.inflight_bytes_per_pipeline_max == 4ull << 20);
  CHECK(settings.inflight_bytes_per_user_max == 3ull << 20);
  CHECK(settings.decode_bytes_max == 96ull << 20);
  CHECK(settings.decode_bytes_per_pipeline_max == 7ull << 20);
  CHECK(settings.decode_bytes_per_user_max == 8ull << 20);
  CHECK(settings.side_bytes_per_user_max == 5ull << 20);
  CHECK(settings.listings_per_user_max == 1);
  CHECK(settings.listing_bytes_max == 3ull << 30);
  CHECK(settings.listing_bytes_per_user_max == 9ull << 20);
  CHECK(settings.listing_s_max == 60);
  CHECK(settings.queries_per_user_s_max == 7);
  CHECK(settings.silent_ms_max == 60'000);
  CHECK(settings.sample_ms_max == 250);
  CHECK(settings.sample_bytes_max == 64ull << 20);
  CHECK(settings.jpeg_by_libjpeg);
  CHECK(settings.cache_ram_bytes_max == 20ull << 30);
  CHECK(settings.cache_folder == "/mnt/ssd");
  CHECK(settings.cache_disk_bytes_max == 1000000000000);
  CHECK(settings.state_kept);
  CHECK(settings.state_folder == "/var/lib/x");
  CHECK_FALSE(settings.tuning_enabled);
  CHECK(settings.tuning_decode == 12);
  CHECK(settings.tuning_fetch == 63);
  CHECK(settings.tuning_depth == 16);
  CHECK_FALSE(settings.gpu_enabled);
  CHECK(settings.gpu_slot_bytes_max == 16ull << 30);
  CHECK(settings.gpu_staging_bytes_max == 2097152);
  CHECK(settings.data_roots == std::vector<DataRoot>{{"/data"}, {"/mnt"}});
  CHECK(settings.pipelines_dir == "/etc/spdld/pipelines");
  REQUIRE(settings.access.size() == 2);
  CHECK(settings.access.at("train").users == std::vector<std::string>{"alice", "1007"});
  CHECK(settings.access.at("train").groups == std::vector<std::string>{"vision"});
  CHECK(settings.access.at("*").users == std::vector<std::string>{"*"});
  CHECK(settings.http_listen == "127.0.0.1:9464");
  CHECK(settings.http_socket_mode == 0660);
  CHECK(settings.http_token_file == "/etc/spdld/http-token");
  CHECK(settings.http_page);
  CHECK(settings.log_level == "debug");
}

TEST_CASE("a root is a path, or a table that opens it to users and groups", "[config]") {
  const auto roots = [](std::string_view text) {
    const auto loaded = load(text);
    INFO(loaded.sentences());
    REQUIRE(loaded);
    return loaded.value->data_roots;
  };
  const std::vector<DataRoot> expected = {{"/a", {}}, {"/b", {{"alice", "*"}, {"vision"}}}, {"/c", {}, true}};
  CHECK(roots("data.roots = [\"/a\", { path = \"/b\", users = [\"alice\", \"*\"], groups = [\"vision\"] }, "
              "{ path = \"/c\", follow_links = true }]") == expected);
  CHECK(roots("[[data.roots]]\npath = \"/a\"\n[[data.roots]]\npath = \"/b\"\nusers = [\"alice\", \"*\"]\n"
              "groups = [\"vision\"]\n[[data.roots]]\npath = \"/c\"\nfollow_links = true\n") == expected);
  CHECK(roots("data.roots = []").empty());
  CHECK(roots("data.roots = [\"/\"]") == std::vector<DataRoot>{{"/", {}}});
}

TEST_CASE("a key at the wrong place is told where it belongs", "[config]") {
  expect_complaints(load("cpu_budget = 3"), {{1, "cpu_budget", "does not belong here, but in [limits]; known are"}});
  expect_complaints(load("[limits]\nram_bytes_max = 0"),
                    {{2, "limits.ram_bytes_max", "does not belong here, but in [cache]"}});
  expect_complaints(load("[cache]\nslot_bytes_max = \"1 GiB\""),
                    {{2, "cache.slot_bytes_max", "but in [limits] or in [gpu]"}});
  expect_complaints(load("[limits]\nprefetch_depth = 3"),
                    {{2, "limits.prefetch_depth", "but in [batch] of a pipeline's file"}});
  expect_complaints(load("[limits]\nuri = \"/a\""), {{2, "limits.uri", "does not belong here, but in [data.stores]"}});
}

TEST_CASE("sizes are bytes or texts with a unit", "[config]") {
  const auto bytes = [](const std::string& value) {
    return load("limits.slot_bytes_max = " + value).value->slot_bytes_max;
  };
  CHECK(bytes("1048576") == 1048576);
  CHECK(bytes("\"2097152\"") == 2097152);
  CHECK(bytes("\"2097152 B\"") == 2097152);
  CHECK(bytes("\"1024 KiB\"") == 1048576);
  CHECK(bytes("\"3MiB\"") == 3u << 20);
  CHECK(bytes("\"2 TiB\"") == 2ull << 40);
  CHECK(bytes("\"2000 kB\"") == 2000000);
  CHECK(bytes("\"8 GB\"") == 8000000000);
  // The limit of one user, where it is not written, follows the limit of all.
  CHECK(load("limits.slot_bytes_max = \"1 GiB\"").value->slot_bytes_per_user_max == 1ull << 30);
}

TEST_CASE("auto, off and 0 in a daemon file", "[config]") {
  const auto loaded = load(R"([cache]
ram_bytes_max = "auto"
folder = ""
[state]
folder = "off"
[tuning]
decode = "auto"
fetch = "auto"
depth = "auto"
)");
  INFO(loaded.sentences());
  REQUIRE(loaded);
  CHECK_FALSE(loaded.value->cache_ram_bytes_max.has_value());
  CHECK(loaded.value->cache_folder.empty());
  CHECK_FALSE(loaded.value->state_kept);
  CHECK(loaded.value->state_folder.empty());
  CHECK(loaded.value->tuning_decode == 0);
  CHECK(loaded.value->tuning_fetch == 0);
  CHECK(loaded.value->tuning_depth == 0);
  CHECK(load("cache.ram_bytes_max = 0").value->cache_ram_bytes_max == 0u);
  CHECK(load("cache.ram_bytes_max = \"512 MiB\"").value->cache_ram_bytes_max == 512ull << 20);
  const auto settled = load("state.folder = \"auto\"");
  CHECK(settled.value->state_kept);
  CHECK(settled.value->state_folder.empty());
}

TEST_CASE("what is pinned stays within the limits", "[config]") {
  CHECK(load("tuning.decode = 1024").value->tuning_decode == 1024);  // a budget of 0 is known only where it runs
  CHECK(load("limits.cpu_budget = 3\ntuning.decode = 3").value->tuning_decode == 3);
  expect_complaints(load("limits.cpu_budget = 3\ntuning.decode = 4"),
                    {{2, "tuning.decode", "must not be above limits.cpu_budget, which is 3"}});
  CHECK(load("tuning.fetch = 16").value->tuning_fetch == 16);
  expect_complaints(load("tuning.fetch = 17"),
                    {{1, "tuning.fetch", "must not be above limits.fetch_concurrency, which is 16"}});
}

TEST_CASE("one error in a daemon file is found at its key and line", "[config]") {
  struct Case {
    std::string text;
    Expected expected;
  };
  const std::string long_path(110, 'a');
  const std::vector<Case> cases = {
      {"[sokcet]", {1, "sokcet", "did you mean \"socket\"?"}},
      {"socket = 3", {1, "socket", "must be a table, not an integer"}},
      {"[socket]\npath = \"spdld.sock\"", {2, "socket.path", "must be an absolute path"}},
      {"[socket]\npath = \"/" + long_path + "\"", {2, "socket.path", "at most 107 bytes"}},
      {"[socket]\nmode = 660", {2, "socket.mode", "\"0660\" or 0o660"}},
      {"[socket]\nmode = 432", {2, "socket.mode", "\"0660\" or 0o660"}},
      {"[socket]\nmode = 0o1660", {2, "socket.mode", "octal permissions"}},
      {"[socket]\nmode = \"0680\"", {2, "socket.mode", "octal permissions"}},
      {"[socket]\nmode = \"-660\"", {2, "socket.mode", "octal permissions"}},
      {"[socket]\nmode = \"0060\"", {2, "socket.mode", "the owner reads and writes"}},
      {"[socket]\nmode = \"77777777777777777777\"", {2, "socket.mode", "octal permissions"}},
      {"[socket]\nmode = true", {2, "socket.mode", "octal permissions"}},
      {"[socket]\ngroup = 7", {2, "socket.group", "must be a text"}},
      {"[limits]\ncpu_budget = -1", {2, "limits.cpu_budget", "an integer from 0 to 1024"}},
      {"[limits]\nfetch_concurrency = 65", {2, "limits.fetch_concurrency", "from 1 to 64"}},
      {"[limits]\nslot_bytes_max = \"8 gigs\"", {2, "limits.slot_bytes_max", "a size such as \"8 GiB\", or bytes,"}},
      {"[limits]\nslot_bytes_max = \"\"", {2, "limits.slot_bytes_max", "a size"}},
      {"[limits]\nslot_bytes_max = \"-8 GiB\"", {2, "limits.slot_bytes_max", "a size"}},
      {"[limits]\nslot_bytes_max = \"inf\"", {2, "limits.slot_bytes_max", "a size"}},
      {"[limits]\nslot_bytes_max = 1.5", {2, "limits.slot_bytes_max", "a size"}},
      {"[limits]\nslot_bytes_max = 8", {2, "limits.slot_bytes_max", "from 1048576 to 1125899906842624, not 8"}},
      {"[limits]\nslot_bytes_max = \"1 GiB\"\nslot_bytes_per_user_max = \"2 GiB\"",
       {3, "limits.slot_bytes_per_user_max", "must not be above slot_bytes_max"}},
      {"[limits]\npipelines_per_user_max = 0", {2, "limits.pipelines_per_user_max", "from 1"}},
      {"[limits]\nsessions_max = \"many\"", {2, "limits.sessions_max", "an integer"}},
      {"[limits]\nsessions_max = 8.0", {2, "limits.sessions_max", "an integer from 1 to 65536, not 8.0: write 8"}},
      {"[limits]\ndecode_bytes_max = \"20 MiB\"", {2, "limits.decode_bytes_max", "67108864"}},
      {"[limits]\nsample_bytes_max = 1000", {2, "limits.sample_bytes_max", "at least 1 MiB, or 0"}},
      {"[limits]\nsample_ms_max = -1", {2, "limits.sample_ms_max", "from 0"}},
      {"[limits]\nsession_max = 2", {2, "limits.session_max", "did you mean \"sessions_max\"?"}},
      {"cache = 1", {1, "cache", "must be a table, not an integer"}},
      {"[decode]\njpeg = \"fast\"", {2, "decode.jpeg", "\"auto\" or \"libjpeg-turbo\", not \"fast\""}},
      {"[cache]\nram_bytes_max = -1", {2, "cache.ram_bytes_max", "\"auto\" or a size such as \"8 GiB\", or bytes,"}},
      {"[cache]\nram_bytes_max = \"Auto\"", {2, "cache.ram_bytes_max", "not \"Auto\""}},
      {"[cache]\nram_bytes_max = true", {2, "cache.ram_bytes_max", "from 0 to 1125899906842624, not true"}},
      {"[cache]\nram_bytes_max = \"2000 TiB\"", {2, "cache.ram_bytes_max", "not \"2000 TiB\""}},
      {"[cache]\nram_byte_max = 1", {2, "cache.ram_byte_max", "did you mean \"ram_bytes_max\"?"}},
      {"[cache]\nfolder = \"cache\"", {2, "cache.folder", "must be an absolute path"}},
      {"[cache]\nfolder = false", {2, "cache.folder", "must be a text"}},
      {"[cache]\ndisk_bytes_max = 0", {2, "cache.disk_bytes_max", "from 1048576"}},
      {"[cache]\ndisk_bytes_max = \"auto\"", {2, "cache.disk_bytes_max", "a size"}},
      {"[state]\nfolder = \"\"", {2, "state.folder", "must be an absolute path, \"auto\" or \"off\", not \"\""}},
      {"[state]\nfolder = \"no\"", {2, "state.folder", "not \"no\""}},
      {"[state]\nfolder = 0", {2, "state.folder", "must be a text"}},
      {"[tuning]\nenabled = \"auto\"", {2, "tuning.enabled", "must be true or false"}},
      {"[tuning]\ndecode = 0", {2, "tuning.decode", "must be \"auto\" or an integer from 1 to 1024, not 0"}},
      {"[tuning]\ndecode = \"all\"", {2, "tuning.decode", "not \"all\""}},
      {"[tuning]\nfetch = 65", {2, "tuning.fetch", "\"auto\" or an integer from 1 to 64"}},
      {"[tuning]\ndepth = 17", {2, "tuning.depth", "\"auto\" or an integer from 1 to 16"}},
      {"[tuning]\ndepths = 1", {2, "tuning.depths", "did you mean \"depth\"?"}},
      {"[data]\nroots = \"/data\"", {2, "data.roots", "must be a list of paths, or tables"}},
      {"[data.roots]\npath = \"/data\"", {1, "data.roots", "each written [[data.roots]], not a table"}},
      {"[data]\nroots = [\"/data\",\n3]", {3, "data.roots[1]", "must be a path, or a table with path,"}},
      {"[data]\nroots = [\"data\"]", {2, "data.roots[0]", "must be an absolute path"}},
      {"[data]\nroots = [\"/da\\nta\"]", {2, "data.roots[0]", "without control characters"}},
      {"[data]\nroots = [\"/da\\u0000ta\"]", {2, "data.roots[0]", "without control characters"}},
      {"[[data.roots]]\npath = \"/a\"\n[[data.roots]]\nusers = [\"x\"]", {3, "data.roots[1].path", "is missing"}},
      {"[[data.roots]]\npath = \"a\"", {2, "data.roots[0].path", "must be an absolute path, not \"a\""}},
      {"[[data.roots]]\npath = \"/a\"\ngroups = [\"*\"]", {3, "data.roots[0].groups", "users = [\"*\"]"}},
      {"[[data.roots]]\npath = \"/a\"\nfollow_links = 1", {3, "data.roots[0].follow_links", "must be true or false"}},
      {"[[data.roots]]\npath = \"/a\"\ngroup = [\"x\"]", {3, "data.roots[0].group", "did you mean \"groups\"?"}},
      {"[[data.roots]]\npath = \"//.\"\nusers = [\"x\"]", {2, "data.roots[0].path", "must not be \"/\" beside"}},
      {"[pipelines]\ndir = \"pipelines\"", {2, "pipelines.dir", "must be an absolute path"}},
      {"[pipelines]\ncpu_weight = 3", {2, "pipelines.cpu_weight", "table"}},
      {"[pipelines.cpu_weight]\na = 0", {2, "pipelines.cpu_weight.a", "0.01"}},
      {"[pipelines.cpu_weight]\na = \"x\"", {2, "pipelines.cpu_weight.a", "number"}},
      {"[pipelines.cpu_weight]\n\"*\" = 2", {2, "pipelines.cpu_weight.*", "a pipeline's name"}},
      {"[pipelines]\naccess = 3", {2, "pipelines.access", "[pipelines.access.NAME]"}},
      {"[pipelines.access.a]\nuser = [\"b\"]", {2, "pipelines.access.a.user", "did you mean \"users\"?"}},
      {"[pipelines.access.a]\nusers = [7]", {2, "pipelines.access.a.users[0]", "must be a text"}},
      {"[pipelines.access.a]\nusers = [\"\"]", {2, "pipelines.access.a.users[0]", "not empty"}},
      {"[pipelines.access.a]\ngroups = [\"*\"]", {2, "pipelines.access.a.groups", "users = [\"*\"]"}},
      {"[pipelines.access.\"a b\"]", {1, "pipelines.access.a b", "must be a pipeline's name"}},
      {"[pipelines.access]\na = 1", {2, "pipelines.access.a", "must be a table, not an integer"}},
      {"[log]\nlevel = \"verbose\"", {2, "log.level", "\"warn\" or \"error\", not \"verbose\""}},
  };
  for (const auto& one : cases) {
    INFO(one.text);
    expect_complaints(load(one.text), {one.expected});
  }
}

TEST_CASE("all errors of a daemon file come at once", "[config]") {
  expect_complaints(
      load("[log]\nlevel = 1\n[limits]\ncpu = 1\nsessions_max = 0\n[socket]\nmode = 660\n[extra]\n"),
      {{2, "log.level", "not 1"},
       {4, "limits.cpu", "not a key that is known here"},
       {5, "limits.sessions_max", "from 1"},
       {7, "socket.mode", "octal"},
       {8, "extra", "known are socket, limits, decode, cache, state, tuning, gpu, data, pipelines, http, log"}});
}

TEST_CASE("every key that is listed is a key that is known", "[config]") {
  for (const auto& key : daemon_keys()) {
    INFO(key);
    const auto loaded = load(key + " = { }");
    REQUIRE(loaded.complaints.size() == 1);
    CHECK(loaded.complaints[0].key == key);
    CHECK_THAT(loaded.complaints[0].text, Catch::StartsWith("must be "));
  }
}

}  // namespace spdld::config::daemon_test
