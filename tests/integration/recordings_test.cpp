// Recordings beside the data set, such as noises: where they may lie, who sees where, and how much memory they may
// take. The tests that need another uid run as root alone.
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "tests/control/raw_client.h"
#include "tests/integration/other_user.h"
#include "tests/media/audio/sounds.h"
#include "tests/support/daemon_process.h"

namespace spdld::recordings_roots_test {

using namespace spdld;
using namespace spdld::test;
using Catch::Contains;

namespace {

constexpr uid_t kStranger = 12345;

std::string attach_as_stranger(const Job& job) {
  return as_user(kStranger, [&] {
    const AttachOutcome outcome = try_attach(job);
    return outcome.result == SPDLD_OK ? "" : std::string(spdld_result_name(outcome.result)) + ": " + outcome.text;
  });
}

// open/sounds/a, open/noise and closed/noise, each with a sound; a link in open/linked that leads to closed/. Anybody
// may look in.
class Sounds {
 public:
  Sounds() {
    chmod(dir_.path().c_str(), 0755);
    for (const char* name : {"open/sounds/a", "open/noise", "closed/noise"}) {
      std::filesystem::create_directories(path(name));
      std::ofstream(path(name) + "/x.wav", std::ios::binary) << wav_of(std::vector<float>(400, 0.25f), 8000, 1);
    }
    std::filesystem::create_directories(path("open/linked"));
    std::filesystem::create_directory_symlink(path("closed"), path("open/link"));
    std::filesystem::create_symlink(path("closed/noise/x.wav"), path("open/linked/x.wav"));
  }
  std::string path(const std::string& name) const { return (dir_.path() / name).string(); }
  std::string root(const std::string& name, const std::string& more) const {
    return "[[data.roots]]\npath = \"" + path(name) + "\"\n" + more + "\n";
  }
  std::string noisy(const std::string& noises, const std::string& memory_max = "1 MiB", int seed = 1) const {
    return "name = \"sounds\"\nseed = " + std::to_string(seed) + "\n[source]\ntype = \"image-folder\"\nuri = \"" +
           path("open/sounds") + "\"\nextensions = \"wav\"\n[[output]]\nname = \"wave\"\nfrom = \"image\"\n" +
           "ops = [{ op = \"decode-audio\", rate = 8000, samples = 100 }, { op = \"mix-noise\", noises = \"" +
           path(noises) + "\", memory_max = \"" + memory_max + "\" }]\n[batch]\nsize = 1\n";
  }

 private:
  const TempDir dir_;
};

}  // namespace

TEST_CASE("the recordings of operations must lie in an open root, and no link leads out of it") {
  if (!is_root()) return;
  const Sounds sounds;
  const auto daemon = shared_daemon(sounds.root("open", "users = [\"12345\"]") + sounds.root("closed", ""));
  const auto sent = [&](const std::string& noises) {
    return attach_as_stranger({.socket = daemon->socket(), .spec = sounds.noisy(noises)});
  };
  CHECK(sent("open/noise") == "");
  CHECK(sent("open/noise/x.wav") == "");
  for (const char* noises : {"closed/noise", "closed/noise/x.wav", "open/link/noise", "open/../closed/noise"})
    CHECK_THAT(sent(noises), Contains("SPDLD_DENIED") && Contains("is open to that user"));
  CHECK_THAT(sent("open/linked"), Contains("SPDLD_DENIED") && Contains("open/linked/x.wav leads out of the folders"));
  CHECK_THAT(sent("open/none"), Contains("open/none can't be read"));
  // The owner may use every root.
  CHECK(try_attach({.socket = daemon->socket(), .spec = sounds.noisy("closed/noise")}).text == "");
}

TEST_CASE("the recordings of a named pipeline are the operator's, whose paths other users do not see") {
  if (!is_root()) return;
  const Sounds sounds;
  std::filesystem::create_directories(sounds.path("pipelines"));
  std::ofstream(sounds.path("pipelines/sounds.toml")) << sounds.noisy("open/noise");
  const auto daemon = shared_daemon("[pipelines]\ndir = \"" + sounds.path("pipelines") +
                                    "\"\n[pipelines.access.sounds]\nusers = [\"12345\"]\n");
  const std::string described = as_user(kStranger, [&] {
    const Loader loader = attach({.socket = daemon->socket(), .pipeline = "sounds"});
    return query("describe", "sounds", daemon->socket().c_str());
  });
  CHECK_THAT(described, Contains("mix-noise") && Contains("\"...\"") && !Contains(sounds.path("open/noise")));
  const Loader owner = attach({.socket = daemon->socket(), .pipeline = "sounds"});
  CHECK_THAT(query("describe", "sounds", daemon->socket().c_str()), Contains(sounds.path("open/noise")));
}

TEST_CASE("the memory for recordings is bounded for each user, and idle pipelines give theirs back") {
  if (!is_root()) return;
  const Sounds sounds;
  const auto daemon =
      shared_daemon("[limits]\nside_bytes_per_user_max = \"4 MiB\"\n" + sounds.root("open", "users = [\"12345\"]"));
  const auto job = [&](const std::string& memory_max, int seed) {
    return Job{.socket = daemon->socket(), .spec = sounds.noisy("open/noise", memory_max, seed)};
  };
  CHECK(as_user(kStranger, [&]() -> std::string {
          const AttachOutcome large = try_attach(job("5 MiB", 1));
          if (large.result != SPDLD_LIMIT || large.text.find("limits.side_bytes_per_user_max") == std::string::npos)
            return "large: " + large.text;
          std::optional<Loader> first = attach(job("3 MiB", 1));
          if (try_attach(job("2 MiB", 2)).result != SPDLD_LIMIT) return "two have more than the limit";
          if (const AttachOutcome small = try_attach(job("1 MiB", 2)); !small.text.empty())
            return "small: " + small.text;
          first.reset();
          const bool freed = soon([&] { return try_attach(job("4 MiB", 3)).text.empty(); });
          return freed ? "" : "an idle pipeline keeps its memory";
        }) == "");
  CHECK(try_attach(job("5 MiB", 1)).text == "");  // the owner is not bound
}

}  // namespace spdld::recordings_roots_test
