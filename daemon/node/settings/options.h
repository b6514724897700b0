// The options that a daemon is started with. Plain values.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/daemon_settings.h"
#include "daemon/pipeline/delegate.h"
#include "daemon/pipeline/executor.h"
#include "daemon/pipeline/stage.h"

namespace spdld::node {

struct Options {
  config::DaemonSettings settings;      // the settings in force
  config::DaemonSettings of_file = {};  // as the file was at the start, before the command line's words
  std::string log_level = {};           // the command line's level, which overrides the file's; empty: none
  std::filesystem::path config_file;    // read again on SIGHUP; empty: there is none
  bool is_private = false;              // ends itself `linger_ms` after its last trainer: queries alone don't keep it
  uint32_t linger_ms = 10'000;
  // Further stages of every pipeline, and the executors that work there. The node ends before the things that they use.
  std::vector<pipeline::StageMaker> more_stages = {};
  std::vector<pipeline::Executor> more_executors = {};
  // Of executors that have operations. As above.
  pipeline::DelegateMakers delegates = {};
};

}  // namespace spdld::node
