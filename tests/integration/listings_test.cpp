// Listings of users who wish the daemon ill, or know no better: their memory and their time are bounded, and a listing
// that nobody waits for ends. The tests that need another uid run as root alone.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "daemon/base/system/memory_charge.h"
#include "tests/integration/other_user.h"
#include "tests/support/temp_dir.h"

namespace spdld::listings_integration_test {

using namespace spdld;
using namespace spdld::test;
using nlohmann::json;

namespace {

constexpr uid_t kStranger = 12345;
constexpr int kRows = 400'000;  // about 12 MB of listing

// A manifest of many rows, which anybody may read.
class Manifest {
 public:
  explicit Manifest(int rows = kRows) {
    chmod(dir_.path().c_str(), 0755);
    std::ofstream file(path());
    file << "id,text\n";
    for (int row = 0; row < rows; ++row) file << "this-is-row-number-" << row << ",x\n";
  }
  std::string folder() const { return dir_.path().string(); }
  std::string path() const { return (dir_.path() / "m.csv").string(); }
  std::string root() const { return "[[data.roots]]\npath = \"" + folder() + "\"\nusers = [\"12345\"]\n"; }
  // Keys are held in memory.
  std::string spec(int seed = 1) const {
    return "name = \"table\"\nseed = " + std::to_string(seed) + "\n[source]\ntype = \"manifest\"\nuri = \"" + path() +
           "\"\nkey = \"id\"\n[[output]]\nname = \"text\"\nfrom = \"text\"\nops = [{ op = \"pad-bytes\", length = 4 "
           "}]\n[batch]\nsize = 1\n";
  }

 private:
  const TempDir dir_;
};

// A web server that takes connections and never answers.
class SilentServer {
 public:
  SilentServer() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(bind(socket_.get(), any, bytes) == 0);
    REQUIRE(listen(socket_.get(), 16) == 0);
    REQUIRE(getsockname(socket_.get(), any, &bytes) == 0);
    port_ = ntohs(address.sin_port);
  }
  std::string uri() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::string store() const { return "[[data.stores]]\nuri = \"" + uri() + "\"\nusers = [\"12345\"]\n"; }
  std::string spec() const {
    return "name = \"slow\"\nseed = 1\n[source]\ntype = \"manifest\"\nuri = \"" + uri() +
           "/m.csv\"\n[[output]]\nname = \"text\"\nfrom = \"text\"\nops = [{ op = \"pad-bytes\", length = 4 }]\n"
           "[batch]\nsize = 1\n";
  }

 private:
  UniqueFd socket_;
  int port_ = 0;
};

json status_of(const DaemonProcess& daemon) { return json::parse(query("status", "", daemon.socket().c_str())); }

std::string told(const AttachOutcome& outcome) {
  return outcome.result == SPDLD_OK ? "" : std::string(spdld_result_name(outcome.result)) + ": " + outcome.text;
}

}  // namespace

TEST_CASE("the memory of a user's listings is bounded, and the daemon's owner has all of the node's") {
  if (!is_root() || !MemoryCharge::is_counting()) return;
  const Manifest large, small(1000);
  const auto daemon =
      shared_daemon("[limits]\nlisting_bytes_max = \"64 MiB\"\nlisting_bytes_per_user_max = \"8 MiB\"\n" +
                    large.root() + small.root());
  const auto attached = [&](const Manifest& manifest, int seed) {
    return as_user(kStranger,
                   [&] { return told(try_attach({.socket = daemon->socket(), .spec = manifest.spec(seed)})); });
  };
  for (int seed = 0; seed < 3; ++seed)
    CHECK_THAT(attached(large, seed),
               Catch::Contains("SPDLD_LIMIT") && Catch::Contains("limits.listing_bytes_per_user_max"));
  CHECK(attached(small, 1) == "");
  CHECK(told(try_attach({.socket = daemon->socket(), .spec = large.spec()})) == "");
  CHECK(status_of(*daemon)["memory"]["listing_bytes"] > 8 << 20);
}

TEST_CASE("a pipeline that nobody uses gives its listing's memory to the next one") {
  if (!MemoryCharge::is_counting()) return;
  const Manifest large;
  DaemonProcess daemon("[limits]\nlisting_bytes_max = \"48 MiB\"\n");
  for (int seed = 0; seed < 6; ++seed) {
    const Job job{.socket = daemon.socket(), .spec = large.spec(seed)};
    CHECK(soon([&] { return told(try_attach(job)) == ""; }));
  }
  std::vector<Loader> held;
  std::string refused;
  for (int seed = 0; seed < 6 && refused.empty(); ++seed) try {
      held.push_back(attach({.socket = daemon.socket(), .spec = large.spec(seed)}));
    } catch (const Exception& error) {
      refused = error.what();
    }
  CHECK_THAT(refused, Catch::Contains("limits.listing_bytes_max"));
  CHECK_FALSE(held.empty());
}

TEST_CASE("a listing that nobody waits for ends, and makes room for others") {
  if (!is_root()) return;
  const SilentServer server;
  const Manifest small(1000);
  const auto daemon = shared_daemon("[limits]\nlistings_per_user_max = 1\n" + server.store() + small.root());
  const auto listings = [&] {
    const json status = status_of(*daemon);
    return std::count_if(status["pipelines"].begin(), status["pipelines"].end(),
                         [](const json& pipeline) { return pipeline["state"] == "listing"; });
  };
  {
    const OtherUser user(kStranger, [&](Pipe& pipe) {
      pipe.write("begins\n");
      return told(try_attach({.socket = daemon->socket(), .spec = server.spec(), .timeout_ms = 60'000}));
    });
    CHECK(soon([&] { return listings() == 1; }));
  }  // killed
  CHECK(as_user(kStranger, [&] {
          return told(try_attach({.socket = daemon->socket(), .spec = small.spec(), .timeout_ms = 20'000}));
        }) == "");
  CHECK(soon([&] { return listings() == 0; }));
}

TEST_CASE("a listing of what a user sent may take so long and no longer") {
  if (!is_root()) return;
  const SilentServer server;
  const auto daemon = shared_daemon("[limits]\nlisting_s_max = 1\n" + server.store());
  CHECK_THAT(
      as_user(
          kStranger,
          [&] { return told(try_attach({.socket = daemon->socket(), .spec = server.spec(), .timeout_ms = 40'000})); }),
      Catch::Contains("SPDLD_LIMIT") && Catch::Contains("limits.listing_s_max"));
}

}  // namespace spdld::listings_integration_test
