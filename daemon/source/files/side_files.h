// Side files (daemon/base/side_files.h) of a data set: they lie where its own files may lie.
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "daemon/base/side_files.h"
#include "daemon/source/files/bounds.h"
#include "daemon/source/files/folder.h"
#include "daemon/source/fingerprint.h"
#include "daemon/source/stamps.h"

namespace spdld::source {

inline constexpr uint64_t kSideFileBytesMax = uint64_t{1} << 30;  // of one file
inline constexpr size_t kSideFilesMax = 1'000'000;                // of one call

// One thread.
class BoundedSideFiles final : public SideFiles {
 public:
  // `bounds`: where they must lie; null: anywhere.
  explicit BoundedSideFiles(std::shared_ptr<const Bounds> bounds, std::stop_token stop = {})
      : bounds_(std::move(bounds)), stop_(std::move(stop)) {}

  void read(const std::string& path, const std::string& endings, const See& see) override;

  // Whether anything was read.
  bool is_used() const { return is_used_; }
  // Of all that was read: 32 hexadecimal digits of the files' names below the path, and their bytes, in their order.
  std::string digits() const { return fingerprint_.digits(); }
  // The state of every file and folder that was read.
  const Stamps& stamps() const { return stamps_; }

 private:
  std::string names_below(const std::string& folder, const std::string& within, const Endings& endings, int depth);
  void read_one(const std::string& path, const std::string& name, const See& see);

  const std::shared_ptr<const Bounds> bounds_;
  const std::stop_token stop_;
  Fingerprint fingerprint_;
  Stamps stamps_;
  bool is_used_ = false;
};

}  // namespace spdld::source
