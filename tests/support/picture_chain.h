// The chain of operations on pictures that the daemon makes of an output, for tests and benchmarks that run its two
// halves, resolve and render, by themselves.
#pragma once

#include <stdexcept>
#include <utility>
#include <vector>

#include "config/operation.h"
#include "config/spec.h"
#include "daemon/media/chain.h"
#include "daemon/media/image/picture_node.h"

namespace spdld::test {

class PictureChain {
 public:
  struct Tensor {
    config::DType dtype;
    std::vector<int64_t> shape;  // of a sample; where samples differ in length, of the longest one
    size_t size;
    size_t bytes() const { return size; }
  };

  // Throws std::runtime_error where the operations are no chain.
  explicit PictureChain(const config::OutputSpec& output)
      : PictureChain(output, config::follow(output.ops, config::start_of(output.ops), output.varying.form)) {}

  const image::ImageProgram& program() const { return node().program(); }
  const media::Chain& chain() const { return chain_; }
  const image::DecodeWay& way() const { return node().way(); }
  const Tensor& tensor() const { return tensor_; }

  void resolve(const Size& picture, const Draws& draws, image::Geometry& geometry) const {
    program().resolve(picture, draws, geometry);
  }
  template <typename Pixels>
  void render(const Pixels& pixels, const image::Geometry& geometry, image::Scratch& scratch, uint8_t* out) const {
    program().render(pixels, geometry, scratch, out);
  }

 private:
  PictureChain(const config::OutputSpec& output, const config::Followed& followed)
      : chain_(output.ops, sound(followed), output.name), tensor_{followed.end().dtype(), shape_of(followed.end()), 0} {
    tensor_.size = config::dtype_bytes(tensor_.dtype);
    for (const int64_t side : tensor_.shape) tensor_.size *= static_cast<size_t>(side);
  }

  static std::vector<int64_t> shape_of(const config::Signature& end) {
    std::vector<int64_t> shape;
    for (const config::Dimension& dimension : end.dimensions) shape.push_back(dimension.most().value());
    return shape;
  }

  static const config::Followed& sound(const config::Followed& followed) {
    if (!followed.error.empty()) throw std::runtime_error(followed.error);
    return followed;
  }
  const image::PictureNode& node() const { return dynamic_cast<const image::PictureNode&>(*chain_.nodes().front()); }

  media::Chain chain_;
  Tensor tensor_;
};

}  // namespace spdld::test
