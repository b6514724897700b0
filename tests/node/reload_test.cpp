// What of a settings file that is read anew holds at once, and what waits for a restart.
#include "daemon/node/settings/reload.h"

#include <catch2/catch.hpp>

#include "config/checks/load.h"

namespace spdld::node::reload_test {
namespace {

config::DaemonSettings read(const std::string& text) {
  const auto loaded = config::load_daemon_toml(text, "spdld.toml");
  INFO(loaded.sentences());
  REQUIRE(loaded);
  return *loaded.value;
}

using Keys = std::vector<std::string>;

}  // namespace

TEST_CASE("only the keys that changed and wait for a restart are named", "[node]") {
  const auto started = read("[limits]\ncpu_budget = 3\n[cache]\nfolder = \"/c\"\n");
  const auto waiting = [&](const std::string& text) { return keys_that_wait(started, read(text)); };
  CHECK(waiting("[limits]\ncpu_budget = 3\n[cache]\nfolder = \"/c\"\n").empty());
  CHECK(waiting("[limits]\ncpu_budget = 3\nsessions_max = 9\n[cache]\nfolder = \"/c\"\n[log]\nlevel = \"warn\"\n"
                "[data]\nroots = [\"/a\"]\n[pipelines]\ndir = \"/p\"\n[tuning]\nfetch = 2\n")
            .empty());
  CHECK(waiting(
            "[limits]\ncpu_budget = 3\nsessions_per_user_max = 9\nsessions_reserve = 9\nrings_per_user_max = 9\n"
            "slots_per_user_max = 9\ninflight_bytes_per_user_max = 9000000\ninflight_bytes_max = 9000000\n"
            "inflight_bytes_per_pipeline_max = 9000000\nlistings_per_user_max = 9\nside_bytes_per_user_max = 9000000\n"
            "listing_bytes_max = 9000000\nlisting_bytes_per_user_max = 9000000\nlisting_s_max = 9\n"
            "queries_per_user_s_max = 9\nsilent_ms_max = 9\n[cache]\nfolder = \"/c\"\n")
            .empty());
  CHECK(waiting("[limits]\ncpu_budget = 3\nsample_ms_max = 9\nsample_bytes_max = 9000000\n[decode]\njpeg = "
                "\"libjpeg-turbo\"\n[cache]\nfolder = \"/c\"\n") ==
        Keys{"limits.sample_ms_max", "limits.sample_bytes_max", "decode.jpeg"});
  CHECK(waiting("[limits]\ncpu_budget = 4\n") == Keys{"limits.cpu_budget", "cache.folder"});
  CHECK(waiting("[limits]\ncpu_budget = 3\n[cache]\nfolder = \"/c\"\n[state]\nfolder = \"/s\"\n") ==
        Keys{"state.folder"});
  CHECK(waiting("[limits]\ncpu_budget = 3\n[cache]\nfolder = \"/c\"\n[state]\nfolder = \"off\"\n") ==
        Keys{"state.folder"});
  CHECK(waiting("[socket]\nmode = \"0600\"\ngroup = \"g\"\n[limits]\ncpu_budget = 3\n[cache]\nfolder = \"/c\"\n"
                "[gpu]\nenabled = false\n") == Keys{"socket.mode", "socket.group", "gpu.enabled"});
  CHECK(waiting("[limits]\ncpu_budget = 3\n[cache]\nfolder = \"/c\"\n[http]\nlisten = \"127.0.0.1:1\"\n"
                "socket_mode = \"0660\"\ntoken_file = \"/t\"\npage = true\n") ==
        Keys{"http.listen", "http.socket_mode", "http.token_file", "http.page"});
}

TEST_CASE("what waits stays as it runs, everything else is as the file says", "[node]") {
  auto running = read("[socket]\npath = \"/file\"\n[limits]\ncpu_budget = 3\nsessions_max = 4\n");
  running.socket_path = "/command-line";
  const auto now = reloaded(running, read("[limits]\ncpu_budget = 5\nsessions_max = 6\n[data]\nroots = [\"/a\"]\n"));
  CHECK(now.socket_path == "/command-line");
  CHECK(now.cpu_budget == 3);
  CHECK(now.sessions_max == 6);
  CHECK(now.data_roots == std::vector<config::DataRoot>{{"/a", {}}});
}

}  // namespace spdld::node::reload_test
