// Lists of numbers that belong to a view, such as boxes and their classes: read from the value that a chain starts
// from. One decode thread.
#pragma once

#include <cstdint>
#include <string>

#include "config/dtype.h"
#include "daemon/base/byte_buffer.h"
#include "daemon/media/image/view.h"
#include "daemon/media/node.h"

namespace spdld::image {

inline constexpr uint64_t kElementsMax = 65'536;  // of one sample's list; a longer list is bad content

// The list that is read now.
struct ListWork {
  explicit ListWork(const media::DecodeLimits&) {}
  void shrink(size_t bytes_max) { memory.shrink(bytes_max); }
  const float* floats() const { return reinterpret_cast<const float*>(memory.data()); }

  ByteBuffer memory;
};

// How a list is written and what it holds.
struct ListKind {
  config::DType dtype;
  uint64_t width;   // numbers of an element; 0: an element is one number
  bool reads_json;  // the value is one inside of JSON
};
// Reads the value into the thread's ListWork, and returns how many elements it has. kContent: it is no such list.
Result<uint64_t> read_view_list(const media::Value& value, const ListKind& kind, ListWork& work);

// The error of a follower whose leader has not run: a fault of the daemon.
Error no_view(const media::Run& run);

// The node of a list of boxes or of points. The node moves each row of the list as the view's geometry says, and may
// drop the row. It writes a tensor [n, columns] of float32, and tells the view which rows were kept.
class ViewListNode : public media::Node {
 public:
  bool reads_json() const override { return reads_json_; }
  Status run(media::Value& value, const media::Run& run) const override;

 protected:
  ViewListNode(const media::Part& part, uint64_t columns);

  // Moves row `place` of the list, which has `columns` numbers, in its place. False: the row is dropped; its numbers
  // mean nothing then. kContent: the row makes no sense.
  virtual Result<bool> move(float* row, uint64_t place, const View& view) const = 0;

 private:
  Status move_all(const media::Value& value, const media::Run& run) const;

  std::string output_;
  uint64_t columns_;
  bool reads_json_;
};

}  // namespace spdld::image
