#include "client/src/job_names.h"

#include <functional>
#include <map>
#include <mutex>

#include "client/src/calls/per_process.h"

namespace spdld::client {

namespace {

struct Used {
  std::mutex mutex;
  uint64_t own = 0;
  std::map<uint64_t, uint64_t> launched;  // names that are used, by JobName::loader
};

std::string numbered(const std::string& name, uint64_t number) {
  return number == 1 ? name : name + "#" + std::to_string(number);
}

}  // namespace

std::string JobName::next() const {
  Used& used = of_this_process<Used>();
  const std::lock_guard lock(used.mutex);
  const auto at = used.launched.find(loader);
  return numbered(launched, at == used.launched.end() ? 1 : at->second + 1);
}

void JobName::note_used() const {
  Used& used = of_this_process<Used>();
  const std::lock_guard lock(used.mutex);
  ++used.launched[loader];
}

std::string next_own_job(const std::string& process) {
  Used& used = of_this_process<Used>();
  const std::lock_guard lock(used.mutex);
  return numbered(process, ++used.own);
}

}  // namespace spdld::client
