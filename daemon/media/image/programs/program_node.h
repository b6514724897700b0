// A node whose pictures run through a program: the operation that decodes a picture and all operations on it that
// follow are one node. The operation that decodes makes a node of its own kind; the operations behind it add their
// steps without knowing which kind that is.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "daemon/media/image/programs/image_program.h"
#include "daemon/media/node.h"

namespace spdld::image {

class ProgramNode : public media::Node {
 public:
  // As of ImageProgram.
  ProgramNode(bool fast, const PixelFormat& decoded, bool as_pillow = false) : program_(fast, decoded, as_pillow) {}

  // The next operation, and the last one. Without an end the tensor is uint8 NHWC of no size.
  void add(std::unique_ptr<const GeometryStep> step) { program_.add(std::move(step)); }
  // Takes off the steps of the last `count` operations, for an operation that holds these. Each has added one step.
  GeometrySteps take(size_t count) { return program_.take(count); }
  void end(const TensorFormat& format) { program_.end(format); }
  // A step chooses by the boxes of the view.
  void ask_for_boxes() { asks_for_boxes_ = true; }
  // Writes the drawn box, int32 [4] (x, y, width, height), into this one of Call::tensors.
  void write_drawn(size_t tensor) { drawn_tensor_ = tensor; }
  // Writes the chosen grid, int32 [4], as Geometry has it.
  void write_grid(size_t tensor) { grid_tensor_ = tensor; }

  const ImageProgram& program() const { return program_; }

 protected:
  // Finds out what is done with a picture of this size, into `geometry`, whose memory is reused.
  Status resolve(const Size& picture, const media::Call& call, Geometry& geometry) const;
  // Before rendering: asks for the memory that it takes. kContent: this is more than a sample may take.
  Status take_scratch(const media::Call& call, const Geometry& geometry, media::MemoryPart& scratch) const;
  // Where the tensor's values go, in memory for a picture of the geometry's size. kMemory: there is none now.
  Result<uint8_t*> open_tensor(const media::TensorOut& out, const Geometry& geometry) const;
  // Behind rendering: what followers of the view and further tensors get of the geometry.
  void tell(const Size& picture, const media::Call& call, const Geometry& geometry) const;

 private:
  ImageProgram program_;
  bool asks_for_boxes_ = false;
  std::optional<size_t> drawn_tensor_, grid_tensor_;
};

// The last node, which the operation that is being added continues. Precondition: it is a ProgramNode, as signatures
// make sure.
ProgramNode& program_node(const media::Nodes& nodes);

// The tensor of the operation's dtype and layout, and the size of the picture that it takes, or none where each batch
// has a size of its own; values as they are.
TensorFormat format_of(const media::PlacedOperation& placed);

}  // namespace spdld::image
