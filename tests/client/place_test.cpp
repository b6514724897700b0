// Where the client looks for the program that it starts as a private daemon.
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "client/program/daemon_binary.h"
#include "tests/client/session.h"

using namespace spdld;
using namespace spdld::test;
using client::find_daemon_binary;
using client::program_of_installation;

namespace {

std::string make_program(const std::string& path) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << "#!/bin/sh\n";
  ::chmod(path.c_str(), 0700);
  return path;
}

}  // namespace

TEST_CASE("the program of an installation is below the prefix that its library lies in") {
  const auto program = [](const std::string& folder, const std::string& library_folder) {
    return program_of_installation(folder, library_folder, "lib/python3/dist-packages/spdld", "bin");
  };
  SECTION("as Debian lays it out, wherever the prefix went") {
    const std::string libdir = "lib/x86_64-linux-gnu";
    CHECK(program("/usr/lib/x86_64-linux-gnu", libdir) == "/usr/bin/spdld");
    CHECK(program("/lib/x86_64-linux-gnu", libdir) == "/bin/spdld");  // where /lib is a link to /usr/lib
    CHECK(program("/tmp/moved/usr/local/lib/x86_64-linux-gnu", libdir) == "/tmp/moved/usr/local/bin/spdld");
    CHECK(program("/usr/lib/python3/dist-packages/spdld", libdir) == "/usr/bin/spdld");
    CHECK(program("/usr/lib", libdir).empty());
  }
  SECTION("with a plain lib") {
    CHECK(program("/opt/spdld/lib", "lib") == "/opt/spdld/bin/spdld");
    CHECK(program("/opt/spdld/mylib", "lib").empty());
    CHECK(program("/home/ann/tree/build/client/src", "lib").empty());
  }
  SECTION("with folders outside of the prefix") {
    CHECK(program_of_installation("/srv/libs", "/srv/libs", "", "/srv/programs") == "/srv/programs/spdld");
    CHECK(program_of_installation("/else/srv/libs", "/srv/libs", "", "/srv/programs").empty());
  }
  SECTION("without a Python package") { CHECK(program_of_installation("/usr/lib/x", "lib", "", "bin").empty()); }
}

TEST_CASE("the daemon's program is looked for beside this code, then in PATH, and SPDLD_DAEMON comes before") {
  const Folder folder;
  const std::string in_path = make_program(folder.path() + "/path/spdld");
  const std::string named = make_program(folder.path() + "/named");
  const Variable path("PATH", ("/nowhere::relative:" + folder.path() + "/path:/bin").c_str());
  std::string looked_at;
  // This code is a part of the test program.
  const std::string own_folder = std::filesystem::canonical("/proc/self/exe").parent_path();
  REQUIRE_FALSE(std::filesystem::exists(own_folder + "/bin/spdld"));

  SECTION("named") {
    const Variable daemon("SPDLD_DAEMON", named.c_str());
    CHECK(find_daemon_binary(looked_at) == named);
  }
  SECTION("named from the current folder: the daemon is started in another one") {
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(folder.path());
    const Variable daemon("SPDLD_DAEMON", "./named");
    const std::string found = find_daemon_binary(looked_at);
    std::filesystem::current_path(before);
    CHECK(found.front() == '/');
    CHECK(std::filesystem::equivalent(found, named));
  }
  SECTION("named, and not there: nowhere else") {
    const Variable daemon("SPDLD_DAEMON", "/nowhere/spdld");
    CHECK(find_daemon_binary(looked_at).empty());
    CHECK(looked_at == "$SPDLD_DAEMON: /nowhere/spdld");
  }
  SECTION("in PATH") {
    const Variable daemon("SPDLD_DAEMON", nullptr);
    CHECK(find_daemon_binary(looked_at) == in_path);
  }
  SECTION("in the first 256 folders of PATH, and no further") {
    const Variable daemon("SPDLD_DAEMON", nullptr);
    const auto behind = [&](int folders) {
      std::string text;
      for (int i = 0; i < folders; ++i) text += "/nowhere:";
      return text + folder.path() + "/path";
    };
    {
      const Variable near("PATH", behind(255).c_str());
      CHECK(find_daemon_binary(looked_at) == in_path);
    }
    const Variable far("PATH", behind(256).c_str());
    CHECK(find_daemon_binary(looked_at).empty());
  }
  SECTION("beside, before PATH") {
    const Variable daemon("SPDLD_DAEMON", nullptr);
    const std::string beside = make_program(own_folder + "/bin/spdld");
    const std::string found = find_daemon_binary(looked_at);
    std::filesystem::remove(beside);
    std::filesystem::remove(own_folder + "/bin");
    CHECK(found == beside);
  }
  SECTION("nowhere: all places are named") {
    const Variable daemon("SPDLD_DAEMON", nullptr);
    const Variable empty("PATH", "/nowhere");
    CHECK(find_daemon_binary(looked_at).empty());
    CHECK(looked_at == own_folder + "/spdld, " + own_folder + "/bin/spdld, and in the folders of PATH (/nowhere)");
  }
}
