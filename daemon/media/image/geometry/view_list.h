// Lists of numbers that belong to a view, such as boxes and their classes: read from the value that a chain starts
// from. One decode thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "daemon/media/image/geometry/view.h"
#include "daemon/media/node.h"

namespace spdld::image {

// The error of a follower whose leader has not run: a fault of the daemon.
Error no_view(const media::Call& call);

// The error of a list whose `listed` elements belong to the rows of another list, which has more or less of them.
Error other_length(uint64_t listed, const View::Kept& kept);

// The node of a list of boxes or of points. The node moves each row of the list as the view's geometry says, and may
// drop the row. It writes a tensor [n, columns] of float32, and tells the view which rows were kept.
class ViewListNode : public media::Node {
 public:
  bool reads_json() const override { return reads_json_; }
  Status run(media::Value& value, const media::Call& call) const override;

 protected:
  ViewListNode(const media::PlacedOperation& placed, uint64_t columns);

  const std::string& output() const { return output_; }
  // All rows of the list, in the thread's ListWork. kContent: it is no such list; the error names the output.
  Result<std::span<float>> read(const media::Value& value, const media::Call& call) const;

  // Moves row `place` of the list, which has `columns` numbers, in its place. False: the row is dropped; its numbers
  // mean nothing then. kContent: the row makes no sense.
  virtual Result<bool> move(float* row, uint64_t place, View& view) const = 0;

 private:
  Status move_all(std::span<float> numbers, const media::Call& call) const;

  std::string output_;
  uint64_t columns_;
  bool reads_json_;
};

}  // namespace spdld::image
