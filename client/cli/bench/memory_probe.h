// The greatest memory that the daemon and the ranks took together. One thread.
#pragma once

#include <sys/types.h>

#include <vector>

namespace spdld::cli {

// Proportional set size of a process (/proc/PID/smaps_rollup, proc(5)); negative where it may not be read or is gone.
double pss_bytes(pid_t pid);

class MemoryProbe {
 public:
  // Looks once at all processes: their sums are compared, not each process's own peak. `daemon_bytes` negative: not
  // known.
  void look(double daemon_bytes, const std::vector<pid_t>& clients);

  double peak_bytes() const { return peak_; }
  double daemon_bytes() const { return daemon_; }    // when the peak was seen
  double clients_bytes() const { return clients_; }  // when the peak was seen

 private:
  double peak_ = 0, daemon_ = 0, clients_ = 0;
};

}  // namespace spdld::cli
