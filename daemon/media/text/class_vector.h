// Samples' parts of tensors that have an element for each class: what the operations that write them share. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "daemon/media/node.h"

namespace spdld::text {

// A class that is not from 0 to classes - 1, as a clause.
inline std::string no_class(int64_t number, int64_t classes) {
  return std::to_string(number) + " is no class from 0 to " + std::to_string(classes - 1);
}

// Of the sample's part. Tensors begin at multiples of 128 bytes, and a part has whole elements.
template <typename T>
T* elements_of(const media::Call& call) {
  return reinterpret_cast<T*>(call.tensors.front().memory);
}

// Adds the node for elements of the operation's dtype: float32, float64 or uint8.
template <template <typename> class ClassNode>
void add_class_node(const media::PlacedOperation& placed, media::Nodes& nodes) {
  switch (placed.gives.dtype()) {
    case config::DType::kFloat32:
      return nodes.push_back(std::make_unique<ClassNode<float>>(placed));
    case config::DType::kFloat64:
      return nodes.push_back(std::make_unique<ClassNode<double>>(placed));
    default:
      return nodes.push_back(std::make_unique<ClassNode<uint8_t>>(placed));
  }
}

}  // namespace spdld::text
