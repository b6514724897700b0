// The line of progress on stderr, where that is a terminal; else nothing is drawn. One thread.
#pragma once

#include <chrono>

#include "client/text/progress.h"

namespace spdld::cli {

class StderrProgress {
 public:
  StderrProgress();
  ~StderrProgress() { clear(); }
  StderrProgress(const StderrProgress&) = delete;
  StderrProgress& operator=(const StderrProgress&) = delete;

  void show(const text::Progress& progress);
  // Makes the line empty, so that other text can stand there.
  void clear();

 private:
  const bool is_on_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  text::ProgressLine line_;
};

}  // namespace spdld::cli
