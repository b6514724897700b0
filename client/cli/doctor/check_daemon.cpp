// The daemon that runs: what its status says.
#include "client/cli/doctor/checks.h"
#include "client/cli/format.h"
#include "client/cli/query.h"

namespace spdld::cli::doctor {
namespace {

using config::Json;

constexpr double kFailingFailS = 60;
constexpr size_t kShownMax = 20;  // of a list in the status

Finding check_presence(const Facts& facts) {
  const Daemon& daemon = facts.daemon;
  if (daemon.answered) {
    const std::string found = text_or_empty(daemon.status, "daemon") + ", pid " +
                              std::to_string(count_or_zero(daemon.status, "pid")) + ", up " +
                              duration_text(number_or_zero(daemon.status, "uptime_s"));
    return {Level::kOk, "daemon", found + (flag_or_false(daemon.status, "private") ? ", private" : ""), ""};
  }
  if (daemon.is_denied)
    return {Level::kFail, "daemon", "it refuses " + facts.user + ": " + safe_text(daemon.trouble),
            "ask the operator for the socket's group"};
  if (daemon.is_silent)
    return {Level::kFail, "daemon", "it does not answer: " + safe_text(daemon.trouble),
            "journalctl -u spdld; systemctl restart spdld.service"};
  if (facts.service.is_installed)
    return {Level::kWarn, "daemon", "none answers: " + safe_text(daemon.trouble),
            "systemctl status spdld.socket spdld.service"};
  return {Level::kNote, "daemon", "none runs now: attach starts one", ""};
}

Finding check_version(const Facts& facts) {
  const std::string version = text_or_empty(facts.daemon.status, "daemon"), own = "spdld " + facts.version;
  if (version == own) return {Level::kOk, "version", "the daemon and spdlctl have the same", ""};
  return {Level::kWarn, "version", "the daemon is " + version + ", and spdlctl is of " + own,
          flag_or_false(facts.daemon.status, "private")
              ? "it ends by itself after its last trainer; end it with: kill " +
                    std::to_string(count_or_zero(facts.daemon.status, "pid"))
              : "systemctl restart spdld.service"};
}

void check_stores(const Json& status, Findings& findings) {
  size_t shown = 0;
  for (const Json& store : list_or_empty(status, "stores")) {
    const double failing_s = number_or_zero(store, "failing_s");
    if (failing_s <= 0 || shown++ >= kShownMax) continue;
    findings.push_back({failing_s >= kFailingFailS ? Level::kFail : Level::kWarn, "store in use",
                        text_or_empty(store, "uri") + " fails for " + duration_text(failing_s) + ": " +
                            text_or_empty(store, "last_trouble"),
                        "see to the store; samples wait for it, and none is replaced"});
  }
}

void check_memory(const Json& status, Findings& findings) {
  const Json& memory = table_or_empty(status, "memory");
  const uint64_t shortages = count_or_zero(memory, "shortages"), waits = count_or_zero(memory, "waits");
  if (shortages > 0)
    findings.push_back({Level::kWarn, "daemon's memory", counted(shortages, "allocation") + " failed",
                        "raise MemoryMax= of the service, or lower limits.slot_bytes_max and cache.ram_bytes_max"});
  else if (waits > 0)
    findings.push_back({Level::kNote, "daemon's memory", "samples have waited for memory " + counted(waits, "time"),
                        "raise limits.slot_bytes_max or limits.inflight_bytes_max if trainers wait for batches"});
  else
    findings.push_back({Level::kOk, "daemon's memory", "no allocation failed", ""});
}

void check_cache(const Json& status, Findings& findings) {
  const Json& cache = table_or_empty(status, "cache");
  const std::string trouble = text_or_empty(cache, "disk_trouble");
  if (!trouble.empty())
    findings.push_back({Level::kWarn, "cache", "its folder is not used: " + trouble,
                        "see to the folder, then systemctl restart spdld.service"});
  if (const uint64_t damaged = count_or_zero(cache, "damaged"); damaged > 0)
    findings.push_back({Level::kWarn, "cache",
                        counted(damaged, "entry", "entries") + " on the disk had other bytes than were written",
                        "test the disk: smartctl -a"});
}

void check_gpus(const Facts& facts, Findings& findings) {
  const Json& gpus = table_or_empty(facts.daemon.status, "gpus");
  const std::string reason = text_or_empty(gpus, "reason");
  if (!facts.gpus.names.empty() && !reason.empty())
    findings.push_back({Level::kWarn, "daemon's gpus", "the node has GPUs, and the daemon sees none: " + reason,
                        "install the drop-in spdld-gpu.conf (its first lines say how)"});
  for (const Json& gpu : list_or_empty(gpus, "devices"))
    if (text_or_empty(gpu, "state") == "failed")
      findings.push_back({Level::kFail, "daemon's gpus",
                          text_or_empty(gpu, "uuid") + " failed: " + text_or_empty(gpu, "reason"),
                          "nvidia-smi; the next attach opens it afresh"});
}

void check_pipelines(const Json& status, Findings& findings) {
  size_t shown = 0;
  for (const Json& pipeline : list_or_empty(status, "pipelines")) {
    const std::string state = text_or_empty(pipeline, "state");
    if ((state != "failed" && state != "degraded") || shown++ >= kShownMax) continue;
    findings.push_back({Level::kWarn, "pipeline",
                        text_or_empty(pipeline, "name") + " is " + state + ": " + text_or_empty(pipeline, "reason"),
                        "spdlctl describe " + text_or_empty(pipeline, "name")});
  }
}

void check_users(const Json& status, Findings& findings) {
  uint64_t refused = 0, unlogged = 0;
  for (const Json& user : list_or_empty(status, "users")) {
    refused += count_or_zero(user, "refused");
    unlogged += count_or_zero(user, "unlogged");
  }
  if (refused > 0)
    findings.push_back({Level::kWarn, "clients", counted(refused, "connection") + " were turned away",
                        "spdlctl status shows whose; raise limits.sessions_max or limits.sessions_per_user_max"});
  if (unlogged > 0)
    findings.push_back(
        {Level::kNote, "clients", counted(unlogged, "line") + " of the log about odd clients were left out", ""});
}

}  // namespace

Findings check_daemon(const Facts& facts) {
  Findings findings = {check_presence(facts)};
  const Json& status = facts.daemon.status;
  if (!facts.daemon.answered) return findings;
  findings.push_back(check_version(facts));
  if (text_or_empty(status, "state") == "draining")
    findings.push_back(
        {Level::kWarn, "daemon", "it is stopping, and takes no trainer", "systemctl status spdld.service"});
  if (!facts.process.is_daemons)
    findings.push_back({Level::kNote, "daemon", facts.user + " can't look at its limits", "sudo spdlctl doctor"});
  check_memory(status, findings);
  check_cache(status, findings);
  check_stores(status, findings);
  check_gpus(facts, findings);
  check_pipelines(status, findings);
  check_users(status, findings);
  return findings;
}

Findings examine(const Facts& facts) {
  Findings findings;
  for (const Findings& some : {check_node(facts), check_settings(facts), check_endpoints(facts), check_daemon(facts)})
    findings.insert(findings.end(), some.begin(), some.end());
  return findings;
}

}  // namespace spdld::cli::doctor
