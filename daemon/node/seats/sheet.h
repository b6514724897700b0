// A sheet of small pictures: the first samples of a batch as the model gets them, for the status page. A sheet is taken
// from a filled slot before the trainer has the batch, and only while somebody asks for sheets: at most one in a
// second, of at most 16 pictures of at most 128 x 128 pixels.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/spec.h"
#include "daemon/batch/layout.h"
#include "daemon/batch/slot.h"

namespace spdld::node {

struct Sheet {
  struct Picture {
    std::optional<uint64_t> sample;  // its id
    std::string label;               // the class or number of an output beside the pictures; empty: there is none
    std::string note;                // "replaced", "masked", or nothing
  };
  std::string output, dtype;
  std::vector<uint64_t> shape = {};  // of one sample
  uint64_t epoch = 0, step = 0;
  uint64_t samples = 0;  // of the batch
  uint32_t width = 0, height = 0;
  bool is_stretched = false;  // darkest and brightest values became black and white, since their meaning is not known
  uint64_t taken_ns = 0;
  std::vector<Picture> pictures = {};
  std::vector<uint8_t> rgb = {};  // of one picture after the other, row by row
};

// The tensor of a batch that holds pictures, and how its values become colours.
struct PictureTensor {
  size_t tensor = 0;
  bool channels_first = false;
  uint64_t height = 0, width = 0, channels = 0;  // of the largest shape
  std::vector<double> mean = {}, std = {};       // of its `normalize`; empty: there is none
};
// The first tensor of 8-bit or floating-point values whose samples are pictures of one or three channels, or begin with
// one. Where both ends of a shape may be channels, the last is. Nothing: the batch has no pictures.
std::optional<PictureTensor> picture_tensor(const batch::Layout& layout, std::span<const config::OutputSpec> outputs);

class SheetTaker {
 public:
  static constexpr uint64_t kWantedNs = 10ull * 1'000'000'000;  // after each wish
  static constexpr uint64_t kBetweenNs = 1'000'000'000;
  static constexpr uint64_t kPicturesMax = 16, kSideMax = 128;

  // The layout and the classes outlive the taker.
  SheetTaker(const batch::Layout& layout, std::span<const config::OutputSpec> outputs,
             std::span<const std::string> classes);

  bool has_pictures() const { return pictures_.has_value(); }
  // The following functions: any thread.
  void want(uint64_t now_ns) { wanted_until_ns_.store(now_ns + kWantedNs, std::memory_order_relaxed); }
  // The batch's slot is filled and not yet published. `valid`: its samples. Does nothing when no sheet is wanted, or
  // where there is no memory for one.
  void look(const batch::Batch& batch, uint64_t now_ns);
  // The last sheet that was taken; none: there is none, or nobody has wanted one for a while.
  std::shared_ptr<const Sheet> latest(uint64_t now_ns) const;
  void tick(uint64_t now_ns);  // forgets the sheet that nobody wants any more

 private:
  bool is_wanted(uint64_t now_ns) const { return now_ns < wanted_until_ns_.load(std::memory_order_relaxed); }
  std::shared_ptr<const Sheet> take(const batch::Batch& batch, uint64_t now_ns) const;
  void add_words(const batch::Batch& batch, Sheet& sheet) const;

  const batch::Layout& layout_;
  const std::optional<PictureTensor> pictures_;
  std::optional<size_t> ids_, label_;  // the tensors that ids and labels are taken from
  bool label_is_class_ = false;
  std::span<const std::string> classes_;
  std::atomic<uint64_t> wanted_until_ns_{0}, next_ns_{0};
  mutable std::mutex mutex_;
  std::shared_ptr<const Sheet> latest_;
};

}  // namespace spdld::node
