// Every check of `spdlctl doctor`, at each of its levels: a sound node with one thing changed.
#include <catch2/catch.hpp>

#include "client/cli/doctor/checks.h"
#include "client/cli/doctor/report.h"

namespace spdld::cli::doctor::checks_test {

using config::Json;

Folder folder_at(const std::string& path) {
  Folder folder;
  folder.path = path;
  folder.exists = folder.is_folder = folder.may_read = folder.may_write = true;
  folder.mode = 0755;
  folder.free_bytes = uint64_t{1} << 40;
  return folder;
}

Json sound_status() {
  return {{"daemon", "spdld 1.2.3"},
          {"pid", 77},
          {"uptime_s", 60.0},
          {"private", false},
          {"state", "running"},
          {"memory", {{"shortages", 0}, {"waits", 0}}},
          {"cache", {{"disk_trouble", ""}, {"damaged", 0}, {"disk_bytes", 0}}},
          {"gpus", {{"driver", "12.4"}, {"reason", ""}, {"devices", Json::array()}}}};
}

constexpr size_t kChecks = 19;  // of a sound node with one data root and one store

// A node on which every check is fine.
Facts sound() {
  Facts facts;
  facts.version = "1.2.3", facts.user = facts.reader = facts.daemon_user = "ann";
  facts.kernel = "6.1.0-18-amd64", facts.huge_pages = "advise", facts.is_clock_synchronised = true;
  facts.memory_bytes = uint64_t{256} << 30;
  facts.file = {"/etc/spdld/spdld.toml", true, true, {}};
  facts.process.is_daemons = true, facts.process.files_max = 65'536, facts.process.files_open = 100;
  facts.process.shares_network = true;
  facts.gpus.has_device = true, facts.gpus.driver_version = 12'040, facts.gpus.names = {"H100"};
  facts.socket.path = "/run/spdld/spdld.sock", facts.socket.folder = folder_at("/run/spdld");
  facts.socket.exists = facts.socket.may_connect = true, facts.socket.mode = 0660, facts.socket.group = "spdld";
  facts.service = {true, true};
  facts.daemon.answered = true, facts.daemon.status = sound_status();
  facts.roots = {folder_at("/data")};
  facts.cache = folder_at("/mnt/ssd"), facts.state = folder_at("/var/cache/spdld");
  facts.settings.cache_ram_bytes_max = uint64_t{8} << 30;
  Endpoint endpoint;
  endpoint.server = "s3.example.org:443", endpoint.uri = "s3://bucket", endpoint.is_s3 = endpoint.answered = true;
  facts.endpoints = {endpoint};
  return facts;
}

template <typename Change>
Facts with(const Change& change) {
  Facts facts = sound();
  change(facts);
  return facts;
}

template <typename Change>
Facts with_status(const std::string& key, const Change& change) {
  Facts facts = sound();
  change(facts.daemon.status[key]);
  return facts;
}

// What is no longer OK: the facts have one thing changed, so there is one such finding.
Finding only_trouble(const Facts& facts) {
  Findings troubles;
  for (const Finding& finding : examine(facts))
    if (finding.level != Level::kOk) troubles.push_back(finding);
  INFO(report_text(troubles, {}));
  REQUIRE(troubles.size() == 1);
  return troubles.front();
}

void expect(const Facts& facts, Level level, const std::string& check, const std::string& found,
            const std::string& advice = "") {
  const Finding trouble = only_trouble(facts);
  INFO(trouble.found << " -> " << trouble.advice);
  CHECK(trouble.level == level);
  CHECK(trouble.check == check);
  CHECK(trouble.found.find(found) != std::string::npos);
  if (advice.empty())
    CHECK(trouble.advice.empty());
  else
    CHECK(trouble.advice.find(advice) != std::string::npos);
}

TEST_CASE("a sound node has nothing to do") {
  for (const Finding& finding : examine(sound())) {
    INFO(finding.check << ": " << finding.found);
    CHECK(finding.level == Level::kOk);
    CHECK(finding.advice.empty());
    CHECK_FALSE(finding.found.empty());
  }
  CHECK(examine(sound()).size() == kChecks);
}

TEST_CASE("the kernel") {
  expect(with([](Facts& f) { f.kernel = "5.2.21"; }), Level::kFail, "kernel", "pidfd_open", "Linux 5.6");
  expect(with([](Facts& f) { f.kernel = "5.5.0"; }), Level::kNote, "kernel", "openat2", "Linux 5.6");
  expect(with([](Facts& f) { f.kernel = "strange"; }), Level::kNote, "kernel", "not known: strange");
}

TEST_CASE("open files") {
  expect(with([](Facts& f) { f.process.files_max = 200; }), Level::kFail, "open files", "too few", "LimitNOFILE=65536");
  expect(with([](Facts& f) { f.process.files_max = 512; }), Level::kWarn, "open files", "enough for 192 clients of 272",
         "LimitNOFILE=65536");
  expect(with([](Facts& f) { f.process.files_max = 1000, f.process.files_open = 801; }), Level::kWarn, "open files",
         "801 are open", "LimitNOFILE");
  CHECK(with([](Facts& f) { f.process.files_max = kUnlimited; }).process.files_max == kUnlimited);
  Facts own = sound();
  own.service.is_installed = false, own.process.is_daemons = false, own.process.files_max = 64;
  const Findings findings = check_node(own);
  CHECK(findings[1].found.starts_with("this user's limit of open files is 64"));
  CHECK(findings[1].advice.starts_with("run ulimit -n 65536"));
}

TEST_CASE("locked memory") {
  expect(with([](Facts& f) { f.process.memlock_bytes_max = 8 << 20; }), Level::kWarn, "memlock",
         "8.0 MiB; copies to 1 GPU may take 1.0 GiB", "LimitMEMLOCK=infinity");
  Facts without = sound();
  without.process.memlock_bytes_max = 8 << 20, without.gpus.names.clear(), without.gpus.has_device = false;
  CHECK(check_node(without)[2].level == Level::kOk);
}

TEST_CASE("the CPU quota") {
  const auto quota = [](uint64_t periods, uint64_t throttled) {
    return with([&](Facts& f) {
      f.process.cpu_quota = 1.5, f.process.cpu_periods = periods, f.process.cpu_throttled = throttled;
    });
  };
  expect(quota(1000, 50), Level::kWarn, "cpu quota", "1.5 cores; the kernel held it back in 5 %", "CPUQuota=");
  CHECK(check_node(quota(1000, 49))[3].level == Level::kOk);
  CHECK(check_node(quota(99, 99))[3].level == Level::kOk);
}

TEST_CASE("huge pages") {
  for (const char* off : {"never", "deny"})
    expect(with([&](Facts& f) { f.huge_pages = off; }), Level::kNote, "huge pages", off, "echo advise >");
  expect(with([](Facts& f) { f.huge_pages = ""; }), Level::kNote, "huge pages", "has none");
}

TEST_CASE("the clock") {
  expect(with([](Facts& f) { f.is_clock_synchronised.reset(); }), Level::kNote, "clock", "does not say", "timedatectl");
  expect(with([](Facts& f) { f.is_clock_synchronised = false; }), Level::kNote, "clock", "not synchronised",
         "timedatectl set-ntp true");
  config::StoreSettings store;
  store.uri = "s3://bucket";
  expect(with([&](Facts& f) { f.is_clock_synchronised = false, f.settings.data_stores = {store}; }), Level::kWarn,
         "clock", "15 minutes", "timedatectl set-ntp true");
}

TEST_CASE("memory") {
  expect(with([](Facts& f) { f.process.memory_bytes_max = uint64_t{16} << 30; }), Level::kWarn, "memory",
         "16.0 GiB (the control group's limit); batches, spare batches and the cache may take 17.0 GiB", "MemoryMax=");
  expect(with([](Facts& f) { f.memory_bytes = uint64_t{10} << 30, f.settings.cache_ram_bytes_max.reset(); }),
         Level::kWarn, "memory", "10.0 GiB; batches, spare batches and the cache may take 11.5 GiB",
         "limits.slot_bytes_max");
  expect(with([](Facts& f) { f.process.oom_kills = 2; }), Level::kWarn, "memory", "has ended 2 processes",
         "MemoryMax=");
}

TEST_CASE("GPUs") {
  expect(with([](Facts& f) { f.settings.gpu_enabled = false; }), Level::kNote, "gpus", "gpu.enabled");
  expect(with([](Facts& f) { f.gpus.answered = false; }), Level::kFail, "gpus", "does not answer", "nvidia-smi");
  const auto without = [](bool has_device) {
    return with([&](Facts& f) {
      f.gpus.has_device = has_device, f.gpus.driver_version = 0, f.gpus.names.clear(),
      f.gpus.reason = "no-driver: \033x";
    });
  };
  expect(without(false), Level::kNote, "gpus", "none");
  expect(without(true), Level::kWarn, "gpus", "no driver can be used: no-driver: ?x", "modprobe nvidia-uvm");
  CHECK(check_node(sound()).back().found == "1 GPU (H100), driver for CUDA 12.4");
}

TEST_CASE("the settings file") {
  expect(with([](Facts& f) { f.file.exists = false; }), Level::kNote, "settings", "the defaults hold");
  expect(with([](Facts& f) { f.file.is_readable = false; }), Level::kNote, "settings", "ann can't read",
         "sudo spdlctl doctor");
  expect(with([](Facts& f) { f.file.complaints = {"spdld.toml:3: limits.x: no such key\n"}; }), Level::kFail,
         "settings", "spdld.toml:3: limits.x: no such key?", "spdlctl check /etc/spdld/spdld.toml");
  const Facts many = with([](Facts& f) { f.file.complaints.assign(100, "wrong"); });
  CHECK(count_of(examine(many), Level::kFail) == 5);
}

TEST_CASE("data roots") {
  const auto root = [](const auto& change) { return with([&](Facts& f) { change(f.roots[0]); }); };
  expect(root([](Folder& r) { r.answered = false; }), Level::kFail, "data root", "/data does not answer", "findmnt");
  expect(root([](Folder& r) { r.exists = false; }), Level::kFail, "data root", "does not exist", "namei -l /data");
  expect(root([](Folder& r) { r.is_folder = false; }), Level::kFail, "data root", "is no folder", "name a folder");
  expect(root([](Folder& r) { r.may_read = false; }), Level::kFail, "data root", "can't be read by ann",
         "setfacl -m u:ann:rx /data");
  expect(with([](Facts& f) { f.roots.clear(); }), Level::kNote, "data roots", "none");
  CHECK(count_of(examine(root([](Folder& r) { r.may_write = false; })), Level::kOk) == kChecks);
}

TEST_CASE("the cache's folder") {
  const auto cache = [](const auto& change) { return with([&](Facts& f) { change(*f.cache); }); };
  expect(cache([](Folder& c) { c.exists = false; }), Level::kFail, "cache folder", "does not exist",
         "install -d -m 700 -o ann /mnt/ssd");
  expect(cache([](Folder& c) { c.may_write = false; }), Level::kFail, "cache folder", "can't be written to",
         "ReadWritePaths=/mnt/ssd");
  expect(cache([](Folder& c) { c.file_system = "nfs"; }), Level::kWarn, "cache folder", "network's file system (nfs)",
         "local disk");
  expect(cache([](Folder& c) { c.file_system = "tmpfs"; }), Level::kWarn, "cache folder", "in memory", "local disk");
  expect(cache([](Folder& c) { c.free_bytes = uint64_t{10} << 30; }), Level::kWarn, "cache folder",
         "10.0 GiB free, and cache.disk_bytes_max is 64.0 GiB", "lower cache.disk_bytes_max");
  Facts used = cache([](Folder& c) { c.free_bytes = uint64_t{10} << 30; });
  used.daemon.status["cache"]["disk_bytes"] = uint64_t{60} << 30;
  CHECK(count_of(examine(used), Level::kOk) == kChecks);
  CHECK(count_of(examine(with([](Facts& f) { f.cache.reset(); })), Level::kOk) == kChecks);
}

TEST_CASE("the state folder") {
  expect(with([](Facts& f) { f.state.reset(); }), Level::kNote, "state folder", "none", "state.folder");
  expect(with([](Facts& f) { f.state->exists = false; }), Level::kNote, "state folder", "the daemon makes it");
  expect(with([](Facts& f) { f.state->may_write = false; }), Level::kWarn, "state folder", "lists the data sets anew",
         "chown ann");
  expect(with([](Facts& f) { f.state->free_bytes = 1000; }), Level::kWarn, "state folder", "free", "make room");
}

TEST_CASE("the socket and its folder") {
  expect(with([](Facts& f) { f.socket.folder.mode = 0777; }), Level::kFail, "socket folder", "mode 0777",
         "chmod go-w /run/spdld");
  CHECK(count_of(examine(with([](Facts& f) { f.socket.folder.mode = 01777; })), Level::kOk) == kChecks);
  expect(with([](Facts& f) { f.socket.folder.exists = false; }), Level::kWarn, "socket folder", "does not exist",
         "systemd-tmpfiles");
  expect(with([](Facts& f) { f.socket.exists = false; }), Level::kWarn, "socket", "there is no",
         "systemctl enable --now spdld.socket");
  expect(with([](Facts& f) { f.socket.may_connect = false; }), Level::kFail, "socket", "ann may not connect",
         "usermod -aG spdld ann");
  const auto closed = [](uint32_t mode, const char* group) {
    return with([&](Facts& f) { f.socket.may_connect = false, f.socket.mode = mode, f.socket.group = group; });
  };
  expect(closed(0660, "root"), Level::kFail, "socket", "group root: ann may not connect", "socket.group");
  expect(closed(0600, "bob"), Level::kFail, "socket", "mode 0600", "SPDLD_SOCKET");
  expect(with([](Facts& f) { f.socket.mode = 0666; }), Level::kNote, "socket", "every user");
}

TEST_CASE("the service") {
  expect(with([](Facts& f) { f.service.is_installed = false; }), Level::kNote, "service", "private daemon");
  expect(with([](Facts& f) { f.service.has_user = false; }), Level::kFail, "service", "does not exist",
         "systemd-sysusers");
  Facts none = sound();
  none.service.is_installed = false, none.socket.exists = none.socket.folder.exists = false;
  for (const Finding& finding : check_settings(none)) CHECK(finding.level < Level::kWarn);
}

TEST_CASE("the servers of stores") {
  const auto endpoint = [](const auto& change) { return with([&](Facts& f) { change(f.endpoints[0]); }); };
  expect(endpoint([](Endpoint& e) { e.answered = false, e.trouble = "Connection\nrefused"; }), Level::kFail, "store",
         "s3.example.org:443 can't be reached: Connection?refused", "getent hosts s3.example.org");
  expect(endpoint([](Endpoint& e) { e.answered = false, e.is_proxy = true; }), Level::kFail, "store", "proxy",
         "`proxy`");
  expect(endpoint([](Endpoint& e) { e.clock_ahead_s = -900; }), Level::kFail, "store", "15 min 0 s behind",
         "timedatectl");
  expect(endpoint([](Endpoint& e) { e.clock_ahead_s = 900, e.is_s3 = false; }), Level::kWarn, "store", "ahead of",
         "timedatectl");
  expect(endpoint([](Endpoint& e) { e.clock_ahead_s = 60; }), Level::kWarn, "store", "60.0 s ahead of", "timedatectl");
  CHECK(count_of(examine(endpoint([](Endpoint& e) { e.clock_ahead_s = -59; })), Level::kOk) == kChecks);
  expect(with([](Facts& f) { f.process.shares_network = false; }), Level::kFail, "network", "network of its own",
         "spdld-stores.conf");
  expect(with([](Facts& f) { f.endpoints_left_out = 3; }), Level::kNote, "store", "3 servers more");
}

TEST_CASE("whether a daemon answers") {
  const auto silent = [](const auto& change) {
    return with([&](Facts& f) { f.daemon = {}, f.daemon.trouble = "no", change(f); });
  };
  expect(silent([](Facts&) {}), Level::kWarn, "daemon", "none answers", "systemctl status spdld.socket");
  expect(silent([](Facts& f) { f.daemon.is_denied = true; }), Level::kFail, "daemon", "refuses ann", "operator");
  expect(silent([](Facts& f) { f.daemon.is_silent = true; }), Level::kFail, "daemon", "does not answer",
         "journalctl -u spdld");
  Facts own = silent([](Facts& f) { f.service.is_installed = false; });
  CHECK(check_daemon(own).front().level == Level::kNote);
  CHECK(check_daemon(own).size() == 1);
}

TEST_CASE("the daemon's version, state and limits") {
  expect(with_status("daemon", [](Json& d) { d = "spdld 1.2.2"; }), Level::kWarn, "version",
         "the daemon is spdld 1.2.2", "systemctl restart spdld.service");
  Facts own = with_status("daemon", [](Json& d) { d = "spdld 1.2.2"; });
  own.daemon.status["private"] = true;
  expect(own, Level::kWarn, "version", "spdld 1.2.2", "kill 77");
  expect(with_status("state", [](Json& s) { s = "draining"; }), Level::kWarn, "daemon", "stopping", "systemctl status");
  expect(with([](Facts& f) { f.process.is_daemons = false; }), Level::kNote, "daemon", "ann can't look",
         "sudo spdlctl doctor");
}

TEST_CASE("the daemon's memory, cache and clients") {
  expect(with_status("memory", [](Json& m) { m["shortages"] = 4; }), Level::kWarn, "daemon's memory",
         "4 allocations failed", "MemoryMax=");
  expect(with_status("memory", [](Json& m) { m["waits"] = 9; }), Level::kNote, "daemon's memory", "9 times",
         "limits.slot_bytes_max");
  expect(with_status("cache", [](Json& c) { c["disk_trouble"] = "read-only"; }), Level::kWarn, "cache", "read-only",
         "restart");
  expect(with_status("cache", [](Json& c) { c["damaged"] = 1; }), Level::kWarn, "cache", "1 entry", "smartctl");
  const auto user = [](const char* key) {
    return with_status("users", [&](Json& users) {
      Json one = Json::object();
      one[key] = 5;
      users.push_back(one);
    });
  };
  expect(user("refused"), Level::kWarn, "clients", "5 connections were turned away", "limits.sessions_max");
  expect(user("unlogged"), Level::kNote, "clients", "5 lines");
}

TEST_CASE("the daemon's stores, GPUs and pipelines") {
  const auto store = [](double failing_s) {
    return with_status("stores", [&](Json& stores) {
      stores.push_back({{"uri", "s3://b"}, {"failing_s", failing_s}, {"last_trouble", "403 \033[2J"}});
    });
  };
  expect(store(59), Level::kWarn, "store in use", "s3://b fails for 59.0 s: 403 ?[2J", "see to the store");
  expect(store(60), Level::kFail, "store in use", "s3://b fails", "see to the store");
  CHECK(count_of(examine(store(0)), Level::kOk) == kChecks);
  expect(with_status("gpus", [](Json& g) { g["reason"] = "no-driver"; }), Level::kWarn, "daemon's gpus", "sees none",
         "spdld-gpu.conf");
  expect(with_status("gpus",
                     [](Json& g) {
                       g["devices"].push_back({{"uuid", "GPU-1"}, {"state", "failed"}, {"reason", "Xid 79"}});
                     }),
         Level::kFail, "daemon's gpus", "GPU-1 failed: Xid 79", "nvidia-smi");
  for (const char* state : {"failed", "degraded"})
    expect(with_status("pipelines",
                       [&](Json& p) {
                         p.push_back({{"name", "x"}, {"state", state}, {"reason", "why"}});
                       }),
           Level::kWarn, "pipeline", std::string("x is ") + state + ": why", "spdlctl describe x");
  const Facts many = with_status("pipelines", [](Json& p) {
    for (int i = 0; i < 1000; i++) p.push_back({{"name", "x"}, {"state", "failed"}, {"reason", "why"}});
  });
  CHECK(count_of(examine(many), Level::kWarn) == 20);
}

TEST_CASE("an odd answer of a daemon is no trouble of the checks") {
  CHECK_NOTHROW(examine(with([](Facts& f) { f.daemon.status = Json::object(); })));
  CHECK_NOTHROW(examine(with_status("stores", [](Json& stores) { stores = 7; })));
  CHECK_NOTHROW(examine(with_status("cache", [](Json& cache) { cache = "x"; })));
  CHECK_NOTHROW(examine(with_status("cache", [](Json& cache) { cache["disk_bytes"] = "x"; })));
}

TEST_CASE("the report has a line for each finding, and what to do below") {
  const Findings findings = {{Level::kOk, "kernel", "Linux 6.1", ""},
                             {Level::kFail, "socket", "a long sentence that does not fit the page at all",
                              "do this and that, and copy it whole"}};
  CHECK(report_text(findings, {false, 50}) ==
        "OK    kernel  Linux 6.1\n"
        "FAIL  socket  a long sentence that does not fit\n"
        "              the page at all\n"
        "              -> do this and that, and copy it whole\n"
        "\n2 checks: 1 failed, 0 warnings\n");
  const Json document = report_document(findings);
  CHECK(
      document.dump() ==
      R"({"checks":[{"advice":"","check":"kernel","found":"Linux 6.1","level":"OK"},{"advice":"do this and that, and copy )"
      R"(it whole","check":"socket","found":"a long sentence that does not fit the page at all","level":"FAIL"}],)"
      R"("failed":1,"warned":0})");
}

}  // namespace spdld::cli::doctor::checks_test
