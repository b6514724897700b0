// A small image folder for tests: photos/<class>/<index>.jpg, the same every time.
#pragma once

#include <filesystem>
#include <string>

namespace spdld::test {

// Writes `count` pictures in `classes` classes below `folder`; every second one is 4:4:4.
void make_photos(const std::filesystem::path& folder, int count, int classes, int width = 96, int height = 72);

// The spec of a pipeline over it, with a random resized crop to 32 x 32 as float32 and the label.
struct PhotoSpec {
  std::string name = "photos";
  int batch_size = 4;
  int epochs = 1;
  std::string last = "short";
  std::string on_bad = "substitute";
  int seed = 11;
  int prefetch_depth = 3;
  std::string cache = "auto", share = "cache";
  std::string extra_batch = {}, extra_order = {};  // further lines of [batch] and [order]
  std::string extra = {}, extra_source = {};       // ... of the top and of [source]
  int global_size = 0;                             // in the place of batch_size
  int cost_max = 0;                                // pixels; the same
  std::string toml(const std::filesystem::path& folder) const;
};

}  // namespace spdld::test
