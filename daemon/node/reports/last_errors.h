// The file of errors that a private daemon leaves for `spdlctl errors --last`: a small file in its state folder,
// replaced whole. A daemon that meets no error leaves the last daemon's file. Control thread only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>

namespace spdld::node {

class LastErrors {
 public:
  static constexpr uint64_t kBetweenNsMin = 2'000'000'000;  // between two writes, but for the last one

  // Empty folder: no file is written.
  explicit LastErrors(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // `total`: the number of errors so far. Where it has grown, `document` is written. `now_ns`: monotonic; `last`: write
  // at once.
  void look(uint64_t total, uint64_t now_ns, bool last, const std::function<std::string()>& document);

 private:
  std::string write(const std::string& text) const;  // why it could not be written; empty: it is written

  const std::filesystem::path folder_;
  uint64_t written_total_ = 0, written_ns_ = 0;
  bool trouble_told_ = false;
};

}  // namespace spdld::node
