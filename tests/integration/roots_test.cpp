// Whom the operator lets send specs, over which data, and how much of the node they get; and what becomes of the
// others. Users and groups are real ones: the tests that need another uid run as root alone.
#include <grp.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/control/raw_client.h"
#include "tests/integration/other_user.h"
#include "tests/support/daemon_process.h"
#include "tests/support/makers/photos.h"

namespace spdld::roots_test {

using namespace spdld;
using namespace spdld::test;
using Catch::Contains;
using Json = nlohmann::json;

namespace {

constexpr uid_t kStranger = 12345;
constexpr gid_t kTeam = 4242;

std::string attach_as_stranger(const std::vector<gid_t>& groups, const Job& job) {
  return as_user(
      kStranger,
      [&] {
        const AttachOutcome outcome = try_attach(job);
        return outcome.result == SPDLD_OK ? "" : std::string(spdld_result_name(outcome.result)) + ": " + outcome.text;
      },
      groups);
}

// open/ and closed/, each with photos and a list; a link in open/ that leads to closed/. Anybody may look in.
class Folders {
 public:
  Folders() {
    chmod(dir_.path().c_str(), 0755);
    for (const char* name : {"open", "closed"}) {
      make_photos(dir_.path() / name / "photos", 12, 2);
      dir_.write(std::string(name) + "/list", "0\n1\n2\n3\n");
      dir_.write(std::string(name) + "/weights", "0,1\n");
    }
    std::filesystem::create_directory_symlink(path("closed"), path("open/link"));
  }
  std::string path(const std::string& name) const { return (dir_.path() / name).string(); }
  std::string root(const std::string& name, const std::string& more) const {
    return "[[data.roots]]\npath = \"" + path(name) + "\"\n" + more + "\n";
  }
  // The plain pipeline over `folder`, with a line in [order].
  std::string spec(const std::string& folder, const std::string& order = "") const {
    PhotoSpec spec;
    spec.extra_order = order;
    return spec.toml(path(folder));
  }

 private:
  TempDir dir_;
};

void reload(DaemonProcess& daemon, const std::string& settings) {
  const size_t before = daemon.log().size();
  daemon.rewrite_settings(settings);
  kill(daemon.pid(), SIGHUP);
  REQUIRE(soon([&] { return daemon.log().find("was read anew", before) != std::string::npos; }));
}

}  // namespace

TEST_CASE("a member of a group sends specs over the roots that are open to it, and over no other data") {
  if (!is_root()) return;
  const Folders folders;
  const std::string settings = folders.root("open", "groups = [\"4242\"]") + folders.root("closed", "");
  const auto daemon = shared_daemon(settings);
  const auto member = [&](const std::string& spec) {
    return attach_as_stranger({1, kTeam}, {.socket = daemon->socket(), .spec = spec});
  };
  CHECK_THAT(attach_as_stranger({1}, {.socket = daemon->socket(), .spec = folders.spec("open/photos")}),
             Contains("SPDLD_DENIED") && Contains("may not send specs to this spdld") && Contains("data.roots"));
  CHECK(member(folders.spec("open/photos")) == "");
  CHECK(member(folders.spec("open/photos", "include = \"" + folders.path("open/list") + "\"")) == "");
  for (const char* folder : {"closed/photos", "open/link/photos", "open/../closed/photos", "nowhere"})
    CHECK_THAT(member(folders.spec(folder)), Contains("SPDLD_DENIED") && Contains("is open to that user"));
  for (const char* list : {"closed/list", "open/link/list", "open/../closed/list"})
    for (const char* key : {"include", "exclude", "weights"})
      CHECK_THAT(member(folders.spec("open/photos", key + (" = \"" + folders.path(list) + "\""))),
                 Contains("SPDLD_DENIED") && Contains(list));
  const std::string groups = "part = { fraction = 0.5, groups = \"" + folders.path("closed/list") + "\" }";
  CHECK_THAT(member(folders.spec("open/photos", groups)), Contains("SPDLD_DENIED") && Contains("closed/list"));
  // The owner may use every root.
  CHECK(try_attach({.socket = daemon->socket(), .spec = folders.spec("closed/photos")}).result == SPDLD_OK);
}

TEST_CASE("all pipelines that a user sends have one weight together, of at most 1") {
  if (!is_root()) return;
  const Folders folders;
  const auto daemon = shared_daemon(folders.root("open", "users = [\"12345\"]"));
  const auto job = [&](const std::string& name, const std::string& weight) {
    PhotoSpec spec;
    spec.name = name, spec.extra = "cpu_weight = " + weight + "\n";
    return Job{.socket = daemon->socket(), .spec = spec.toml(folders.path("open/photos"))};
  };
  const auto weights_of = [&](const std::string& name) {
    const auto cpu = nlohmann::json::parse(query("describe", name.c_str(), daemon->socket().c_str()))["cpu"];
    return std::pair<double, double>(cpu["weight"], cpu["user_weight"]);
  };
  REQUIRE(attach_as_stranger({}, job("light", "0.25")) == "");
  CHECK(weights_of("light") == std::pair(0.25, 0.25));
  REQUIRE(attach_as_stranger({}, job("greedy", "9")) == "");
  CHECK(weights_of("greedy") == std::pair(1.0, 1.0));
  CHECK(weights_of("light") == std::pair(0.25, 1.0));
  REQUIRE(try_attach(job("owned", "9")).result == SPDLD_OK);
  CHECK(weights_of("owned") == std::pair(9.0, 0.0));  // the owner's weights are the operator's
}

TEST_CASE("every source of a mix, and every list of each, must lie in an open root") {
  if (!is_root()) return;
  const Folders folders;
  const auto daemon = shared_daemon(folders.root("open", "users = [\"12345\"]"));
  const auto source = [&](const std::string& name, const std::string& uri, const std::string& more = "") {
    return "[[sources]]\nname = \"" + name + "\"\ntype = \"image-folder\"\nuri = \"" + folders.path(uri) + "\"\n" +
           more + "\n";
  };
  const std::string output = "[[output]]\nname = \"label\"\nfrom = \"class\"\n[batch]\nsize = 4\n";
  const auto sent = [&](const std::string& sources) {
    return attach_as_stranger({}, {.socket = daemon->socket(), .spec = "name = \"mix\"\n" + sources + output});
  };
  const std::string closed = folders.path("closed/list"), one = source("a", "open/photos");
  CHECK(sent(one + source("b", "open/photos")) == "");
  CHECK_THAT(sent(one + source("b", "closed/photos")), Contains("SPDLD_DENIED") && Contains("closed/photos"));
  for (const char* key : {"include", "exclude", "classes"})
    CHECK_THAT(sent(one + source("b", "open/photos", key + (" = \"" + closed + "\""))),
               Contains("SPDLD_DENIED") && Contains(closed));
  CHECK_THAT(sent(one + source("b", "open/photos", "part = { fraction = 0.5, groups = \"" + closed + "\" }")),
             Contains("SPDLD_DENIED") && Contains(closed));
}

TEST_CASE("a link in an open root leads no sender of specs out of it") {
  if (!is_root()) return;
  const Folders folders;
  const auto in = [&](const std::string& name) { return std::filesystem::path(folders.path(name)); };
  std::filesystem::create_directories(in("open/classes"));
  std::filesystem::create_directory_symlink(in("open/photos/class-0"), in("open/classes/a"));
  for (const char* set : {"open/linked", "open/picture"}) {
    std::filesystem::create_directories(in(set));
    std::filesystem::copy(in("open/photos/class-0"), in(set) / "a");
  }
  std::filesystem::create_directory_symlink(in("closed/photos/class-1"), in("open/linked/b"));
  std::filesystem::create_symlink(in("closed/photos/class-1/00001.jpg"), in("open/picture/a/00001.jpg"));
  const auto daemon = shared_daemon(folders.root("open", "users = [\"12345\"]") + folders.root("closed", ""));
  const auto job = [&](const std::string& folder) {
    PhotoSpec spec;
    spec.on_bad = "fail";
    return Job{.socket = daemon->socket(), .spec = spec.toml(folders.path(folder))};
  };
  const auto taken = [&](const std::string& folder) -> std::string {
    try {
      Loader loader = attach(job(folder));
      return std::to_string(take_all(loader).size());
    } catch (const Exception& e) {
      return e.what();
    }
  };
  const auto as_sender = [&](const std::string& folder) { return as_user(kStranger, [&] { return taken(folder); }); };
  CHECK(as_sender("open/classes") == "2");  // its link stays inside
  CHECK_THAT(as_sender("open/linked"), Contains("open/linked/b leads out of the folders"));
  CHECK_THAT(as_sender("open/picture"), Contains("open/picture/a/00001.jpg leads out of the folders"));
  // To the owner the other root is open too.
  CHECK(taken("open/linked") == "3");
  CHECK(taken("open/picture") == "2");
  CHECK_THAT(as_sender("open/picture"), Contains("leads out of the folders"));  // nor is what the cache has of it
}

TEST_CASE("a link out of all roots leads neither the owner nor a named pipeline, unless the operator follows links") {
  const Folders folders;
  const auto in = [&](const std::string& name) { return std::filesystem::path(folders.path(name)); };
  std::filesystem::create_directories(in("open/picture/a"));
  std::filesystem::create_directories(in("open/linked"));
  std::filesystem::create_symlink(in("closed/photos/class-1/00001.jpg"), in("open/picture/a/1.jpg"));
  std::filesystem::create_directory_symlink(in("closed/photos/class-1"), in("open/linked/a"));
  std::filesystem::create_directories(in("named"));
  const auto name_pipeline = [&](const std::string& name, const std::string& folder, const std::string& order) {
    std::ofstream(in("named") / (name + ".toml")) << folders.spec(folder, order);
  };
  std::ofstream(in("named/few")) << "0\n1\n2\n3\n";
  for (const char* name : {"picture", "linked"}) name_pipeline(name, std::string("open/") + name, "");
  name_pipeline("listed", "open/photos", "include = \"" + folders.path("named/few") + "\"");
  name_pipeline("link", "open/link/photos", "");
  const std::string named = "[pipelines]\ndir = \"" + folders.path("named") + "\"\n";
  const std::string socket = "[socket]\nmode = \"0666\"\n";
  const auto daemon = shared_daemon(named + folders.root("open", ""));
  const auto sent = [&](const std::string& folder) {
    return try_attach({.socket = daemon->socket(), .spec = folders.spec(folder)});
  };
  const auto opened = [&](const std::string& name) {
    return try_attach({.socket = daemon->socket(), .pipeline = name});
  };
  for (const char* name : {"picture", "linked"}) {
    CAPTURE(name);
    for (const AttachOutcome& outcome : {sent(std::string("open/") + name), opened(name)}) {
      CHECK(outcome.result == SPDLD_DENIED);
      CHECK_THAT(outcome.text, Contains("leads out of the folders") && Contains("follow_links = true"));
    }
  }
  CHECK(sent("open/link/photos").result == SPDLD_DENIED);
  CHECK(opened("link").result == SPDLD_DENIED);
  CHECK(opened("listed").text == "");
  reload(*daemon, socket + named + folders.root("open", "follow_links = true"));
  for (const char* name : {"picture", "linked"}) {
    CHECK(sent(std::string("open/") + name).text == "");
    CHECK(opened(name).text == "");
  }
  CHECK(sent("open/link/photos").text == "");
  CHECK(opened("link").text == "");
  CHECK(sent("open/../closed/photos").result == SPDLD_DENIED);
  CHECK(sent("closed/photos").result == SPDLD_DENIED);
}

TEST_CASE("a picture that becomes a link out of the roots during a run is bad, with the reason") {
  const Folders folders;
  const std::filesystem::path set = folders.path("open/many"), away = folders.path("closed/many");
  make_photos(set, 200, 2);  // many more than are read ahead
  std::filesystem::copy(set, away, std::filesystem::copy_options::recursive);
  const auto daemon = shared_daemon(folders.root("open", ""));
  PhotoSpec spec;
  spec.on_bad = "fail", spec.cache = "off";
  Loader loader = attach({.socket = daemon->socket(), .spec = spec.toml(set)});
  for (const auto& entry : std::filesystem::recursive_directory_iterator(away)) {
    if (!entry.is_regular_file()) continue;
    const std::filesystem::path picture = set / std::filesystem::relative(entry.path(), away);
    std::filesystem::remove(picture);
    std::filesystem::create_symlink(entry.path(), picture);
  }
  CHECK_THROWS_WITH(take_all(loader), Contains("leads out of the folders that the pipeline may read"));
}

TEST_CASE("a pipe, a device or a magic link in the data, and pipes among named pipelines, hold up nobody") {
  const Folders folders;
  const std::filesystem::path set = folders.path("open/photos"), named = folders.path("named");
  std::filesystem::create_directories(named);
  REQUIRE(mkfifo((named / "pipe.toml").c_str(), 0666) == 0);
  REQUIRE(mkfifo((set / "class-0/a-pipe.jpg").c_str(), 0666) == 0);
  mknod((set / "class-0/device.jpg").c_str(), S_IFCHR | 0666, makedev(1, 3));  // where root may
  DaemonProcess daemon("[pipelines]\ndir = \"" + named.string() + "\"\n" + folders.root("open", ""));
  const AttachOutcome pipe = try_attach({.socket = daemon.socket(), .pipeline = "pipe"});
  CHECK_THAT(pipe.text, Contains("not a regular file"));
  CHECK(query("list", "", daemon.socket().c_str()).find("\"pipe\"") == std::string::npos);
  PhotoSpec spec;
  {
    Loader loader = attach({.socket = daemon.socket(), .spec = spec.toml(set)});
    CHECK(take_all(loader).size() >= 3);
  }
  CHECK_THAT(query("errors", "", daemon.socket().c_str()), Contains("a-pipe.jpg is not a regular file"));
  std::filesystem::create_symlink("/proc/self/fd/1", set / "class-0/magic.jpg");
  CHECK_THAT(try_attach({.socket = daemon.socket(), .spec = spec.toml(set)}).text,
             Contains("class-0/magic.jpg leads out of the folders"));
}

TEST_CASE("SIGHUP opens a root and closes it again; who is attached stays") {
  if (!is_root()) return;
  const Folders folders;
  const std::string socket = "[socket]\nmode = \"0666\"\n";
  const auto daemon = shared_daemon(folders.root("open", ""));
  const Job job{.socket = daemon->socket(), .spec = folders.spec("open/photos")};
  CHECK_THAT(attach_as_stranger({}, job), Contains("SPDLD_DENIED"));
  reload(*daemon, socket + folders.root("open", "users = [\"12345\"]"));
  Pipe attached, closed;
  const pid_t trainer = in_child([&] {
    if (!become(kStranger)) return 50;
    Loader loader = attach(job);
    attached.write("x");
    closed.close_writer();
    closed.read_byte();
    return take_all(loader).size() == 3 && try_attach(job).result == SPDLD_DENIED ? 0 : 1;
  });
  attached.close_writer();
  CHECK(attached.read_byte());
  reload(*daemon, socket + folders.root("open", ""));
  closed.close_writer();
  CHECK(wait_for(trainer) == 0);
}

TEST_CASE("who sends specs is held to a number of pipelines, to slot bytes, and to the weight of one") {
  if (!is_root()) return;
  const Folders folders;
  const auto daemon = shared_daemon(
      "[limits]\npipelines_per_user_max = 1\nslot_bytes_max = \"2 MiB\"\nslot_bytes_per_user_max = \"1 MiB\"\n" +
      folders.root("open", "users = [\"12345\"]"));
  const auto job = [&](int seed, int batch_size = 4) {
    PhotoSpec spec;
    spec.seed = seed, spec.batch_size = batch_size;
    return Job{.socket = daemon->socket(), .spec = "cpu_weight = 50\n" + spec.toml(folders.path("open/photos"))};
  };
  CHECK(as_user(kStranger, [&]() -> std::string {
          std::optional<Loader> first = attach(job(1));
          const Json cpu = Json::parse(query("describe", "photos", daemon->socket().c_str()))["cpu"];
          if (cpu["weight"] != 1 || cpu["own_weight"] != 50) return "it weighs " + cpu.dump();
          const AttachOutcome second = try_attach(job(2));
          if (second.text.find("limits.pipelines_per_user_max") == std::string::npos) return "two: " + second.text;
          first.reset();
          std::optional<Loader> other;
          const bool freed = soon([&] {  // the daemon hears of the end in its turn
            try {
              other = attach(job(2));
            } catch (const Exception&) {
            }
            return other.has_value();
          });
          if (!freed) return "the first one's place was not given back";
          const AttachOutcome back = try_attach(job(1));  // it is still open, but nobody uses it
          if (back.text.find("limits.pipelines_per_user_max") == std::string::npos) return "an idle one: " + back.text;
          other.reset();
          AttachOutcome large;
          const bool refused = soon([&] {
            large = try_attach(job(2, 40));
            return large.text.find("limits.slot_bytes") != std::string::npos;
          });
          return refused && large.result == SPDLD_LIMIT ? "" : "large: " + large.text;
        }) == "");
}

TEST_CASE("the folder of a spec is a path without control characters") {
  const Folders folders;
  DaemonProcess daemon(folders.root("open", ""));
  RawClient client(daemon.socket());
  client.hello();
  PhotoSpec spec;
  for (const std::string& folder : {folders.path("open") + std::string("\0x", 2), folders.path("open") + "\n"}) {
    client.send_spec(1, spec.toml("photos"), folder);
    const auto [code, text] = client.hear_error();
    CHECK(code == proto::ErrorCode::malformed);
    CHECK_THAT(text, Contains("the spec's folder") && Contains("without control characters"));
  }
}

TEST_CASE("groups of access are those of the process as well as the database's") {
  if (!is_root()) return;
  const Folders folders;
  TempDir pipelines;
  pipelines.write("train.toml", folders.spec("open/photos"));
  const auto daemon = shared_daemon("[pipelines]\ndir = \"" + pipelines.path().string() +
                                    "\"\n[pipelines.access.train]\ngroups = [\"daemon\", \"4242\"]\n");
  const Job job{.socket = daemon->socket(), .pipeline = "train"};
  CHECK_THAT(attach_as_stranger({7}, job), Contains("SPDLD_NOT_FOUND") && Contains("pipelines.access.train"));
  CHECK(attach_as_stranger({7, kTeam}, job) == "");
  const group* named = getgrnam("daemon");
  REQUIRE(named);
  CHECK(attach_as_stranger({named->gr_gid}, job) == "");
  std::vector<gid_t> many(1000);
  for (size_t i = 0; i < many.size(); i++) many[i] = static_cast<gid_t>(100'000 + i);
  CHECK_THAT(attach_as_stranger(many, job), Contains("SPDLD_NOT_FOUND"));
  many.push_back(kTeam);
  CHECK(attach_as_stranger(many, job) == "");
  CHECK_THAT(attach_as_stranger({65534}, job), Contains("SPDLD_NOT_FOUND"));
}

TEST_CASE("data that the daemon itself may not read are its refusal of the spec") {
  if (!is_root()) return;
  const Folders folders;
  constexpr uid_t kService = 23456;
  TempDir home;  // of the service
  chmod(home.path().c_str(), 0755);
  REQUIRE(chown(home.path().c_str(), kService, kService) == 0);
  const std::string photos = folders.path("open/photos"), binary = (home.path() / "spdld").string();
  std::filesystem::copy_file(SPDLD_DAEMON_BUILT, binary);  // where it was built may be closed to others
  REQUIRE(chown(photos.c_str(), kStranger, kStranger) == 0);
  chmod(photos.c_str(), 0700);
  Pipe told, until;
  const pid_t service = in_child([&] {
    if (!become(kService)) return 50;
    setenv("TMPDIR", home.path().c_str(), 1);
    setenv("SPDLD_DAEMON", binary.c_str(), 1);
    until.close_writer();
    const auto daemon = shared_daemon(folders.root("open", "users = [\"12345\"]"));
    told.write(daemon->socket() + "\n");
    until.read_byte();
    return 0;
  });
  told.close_writer();
  const std::string socket = told.read_line();
  REQUIRE(socket != "");
  CHECK_THAT(attach_as_stranger({}, {.socket = socket, .spec = folders.spec("open/photos")}),
             Contains("SPDLD_DENIED") && Contains("This spdld reads as user 23456"));
  until.close_writer();
  CHECK(wait_for(service) == 0);
}

}  // namespace spdld::roots_test
