#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <initializer_list>

#include "tests/client/session.h"

namespace spdld::launch_test {

using namespace spdld;
using namespace spdld::test;

namespace {

// No launcher's variable is set but these.
class Environment {
 public:
  Environment(std::initializer_list<std::pair<const char*, const char*>> set) {
    for (const char* name :
         {"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR",
          "MASTER_PORT", "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS",
          "SLURM_LOCALID", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
          "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}) {
      variables_.push_back(std::make_unique<Variable>(name, nullptr));
    }
    for (const auto& [name, value] : set) variables_.push_back(std::make_unique<Variable>(name, value));
  }
  ~Environment() {
    while (!variables_.empty()) variables_.pop_back();  // the last one first, so that each finds what it left
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::vector<std::unique_ptr<Variable>> variables_;
};

// What an attach that leaves group and ranks to the environment sends.
FakeCounts launched() {
  Folder folder;
  const FakeDaemon daemon(folder.socket(), {});
  const std::string socket = folder.socket();
  spdld_attach_options options = options_for(socket);
  options.group = nullptr;
  options.world_size = 0;
  const Loader loader = attach(options);
  return daemon.counts();
}

void check_ranks(const FakeCounts& counts, uint32_t rank, uint32_t world_size, uint32_t local_rank) {
  CHECK(counts.last_rank == rank);
  CHECK(counts.last_world_size == world_size);
  CHECK(counts.last_local_rank == local_rank);
}

// A stand-in for the daemon's binary.
std::string make_script(const Folder& folder, const std::string& body) {
  const std::string path = folder.path() + "/daemon";
  std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
  ::chmod(path.c_str(), 0700);
  return path;
}

}  // namespace

TEST_CASE("without a launcher a process is a job of its own") {
  const Environment environment({});
  const FakeCounts counts = launched();
  struct stat space = {};
  REQUIRE(::stat("/proc/self/ns/pid", &space) == 0);  // two containers' first processes are two jobs
  // With a number behind it where other loaders of this process were before.
  const std::string name = "pid:" + std::to_string(::getpid()) + "@" + std::to_string(space.st_ino);
  CHECK(counts.last_group.substr(0, counts.last_group.find('#')) == name);
  check_ranks(counts, 0, 1, 0);
}

TEST_CASE("torchrun's variables") {
  const Environment environment({{"TORCHELASTIC_RUN_ID", "run7"},
                                 {"TORCHELASTIC_RESTART_COUNT", "2"},
                                 {"RANK", "5"},
                                 {"WORLD_SIZE", "8"},
                                 {"LOCAL_RANK", "1"}});
  const FakeCounts counts = launched();
  CHECK(counts.last_group == "torchrun:run7");
  check_ranks(counts, 5, 8, 1);
}

TEST_CASE("torchrun's static rendezvous is told apart by its address") {
  const Environment environment({{"TORCHELASTIC_RUN_ID", "none"},
                                 {"MASTER_ADDR", "node1"},
                                 {"MASTER_PORT", "29500"},
                                 {"RANK", "0"},
                                 {"WORLD_SIZE", "2"}});
  CHECK(launched().last_group == "torchrun:none:node1:29500");
}

TEST_CASE("Slurm's variables, in a step alone") {
  const Environment environment(
      {{"SLURM_JOB_ID", "42"}, {"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "4"}, {"SLURM_LOCALID", "1"}});
  check_ranks(launched(), 0, 1, 0);
  const Variable step("SLURM_STEP_ID", "0");
  const FakeCounts counts = launched();
  CHECK(counts.last_group == "slurm:42.0");
  check_ranks(counts, 3, 4, 1);
}

TEST_CASE("Open MPI's variables") {
  const Environment environment({{"OMPI_COMM_WORLD_RANK", "1"},
                                 {"OMPI_COMM_WORLD_SIZE", "2"},
                                 {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                 {"PMIX_NAMESPACE", "job9"}});
  const FakeCounts counts = launched();
  CHECK(counts.last_group == "mpi:job9");
  check_ranks(counts, 1, 2, 1);
}

TEST_CASE("variables that make no sense are named") {
  const auto result = [] {
    spdld_attach_options options = options_for("/nowhere");
    options.world_size = 0;
    spdld_loader* loader = nullptr;
    return spdld_attach(&options, &loader);
  };
  {
    const Environment environment({{"RANK", "two"}, {"WORLD_SIZE", "2"}});
    CHECK(result() == SPDLD_INVALID);
    CHECK(std::string(spdld_last_error()).find("RANK") != std::string::npos);
  }
  const Environment environment({{"RANK", "2"}, {"WORLD_SIZE", "2"}});
  CHECK(result() == SPDLD_INVALID);
}

TEST_CASE("a private daemon is started where none runs") {
  if (proto::connect_to("/run/spdld/spdld.sock")) {
    WARN("not tried: this machine's own daemon answers, so that no private one is looked for");
    return;
  }
  const Folder folder;
  const Variable runtime("XDG_RUNTIME_DIR", folder.path().c_str());
  const Variable socket("SPDLD_SOCKET", nullptr);
  const std::string place = folder.path() + "/spdld-" + std::to_string(::geteuid());
  spdld_attach_options options = options_for("");
  options.socket = nullptr;
  options.no_private_daemon = 0;
  spdld_loader* loader = nullptr;

  SECTION("its binary is not there") {
    const Variable binary("SPDLD_DAEMON", "/nowhere/spdld");
    CHECK(spdld_attach(&options, &loader) == SPDLD_NO_DAEMON);
    CHECK(std::string(spdld_last_error()).find("/nowhere/spdld") != std::string::npos);
  }
  SECTION("its log's last line says why it ended") {
    const std::string script = make_script(folder, "echo first; echo the last word >&2; exit 3");
    const Variable binary("SPDLD_DAEMON", script.c_str());
    CHECK(spdld_attach(&options, &loader) == SPDLD_NO_DAEMON);
    CHECK(std::string(spdld_last_error()).find("the last word") != std::string::npos);
  }
  SECTION("it gets its socket, and nothing of this process") {
    const std::string script =
        make_script(folder,
                    "echo \"$@\"; ls /proc/self/fd | wc -w; cut -d' ' -f6 /proc/self/stat; pwd; "
                    "echo $$; echo \"[$NOTIFY_SOCKET$CUDA_VISIBLE_DEVICES]$CUDA_MPS_PIPE_DIRECTORY\"");
    const Variable binary("SPDLD_DAEMON", script.c_str());
    const Variable notify("NOTIFY_SOCKET", "/run/notify");
    const Variable devices("CUDA_VISIBLE_DEVICES", "1");  // this rank's alone
    const Variable mps("CUDA_MPS_PIPE_DIRECTORY", "/run/mps");
    CHECK(spdld_attach(&options, &loader) == SPDLD_NO_DAEMON);
    std::ifstream log(place + "/private.log");
    std::string arguments, fds, session, folder_of_daemon, pid, variables;
    std::getline(log, arguments);
    std::getline(log, fds);
    std::getline(log, session);
    std::getline(log, folder_of_daemon);
    std::getline(log, pid);
    std::getline(log, variables);
    CHECK(arguments == "--private --socket " + place + "/private.sock");
    CHECK(std::stoi(fds) == 4);  // the three of every process, and the folder that ls reads
    CHECK(session == pid);
    CHECK(folder_of_daemon == "/");
    CHECK(variables == "[]/run/mps");
  }
  SECTION("one that never answers is given up in time") {
    const std::string script = make_script(folder, "exec sleep 5");
    const Variable binary("SPDLD_DAEMON", script.c_str());
    options.timeout_ms = 200;
    const Stopwatch stopwatch;
    CHECK(spdld_attach(&options, &loader) == SPDLD_TIMEOUT);
    CHECK(stopwatch.ms() < 3000);
  }
  SECTION("one that another process starts is waited for") {
    ::mkdir(place.c_str(), 0700);
    const std::string script = make_script(folder, "exec sleep 5");
    const Variable binary("SPDLD_DAEMON", script.c_str());
    std::unique_ptr<FakeDaemon> daemon;
    std::thread other([&] { daemon = std::make_unique<FakeDaemon>(place + "/private.sock", FakeScript{}); });
    CHECK(spdld_attach(&options, &loader) == SPDLD_OK);
    spdld_detach(loader);
    other.join();
  }
  SECTION("not when it is not wanted") {
    options.no_private_daemon = 1;
    CHECK(spdld_attach(&options, &loader) == SPDLD_NO_DAEMON);
    CHECK_FALSE(std::filesystem::exists(place + "/private.log"));
  }
  SECTION("not in a folder that others may write") {
    ::mkdir(place.c_str(), 0700);
    ::chmod(place.c_str(), 0777);
    CHECK(spdld_attach(&options, &loader) == SPDLD_DENIED);
  }
}

}  // namespace spdld::launch_test
