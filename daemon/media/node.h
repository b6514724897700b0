// The code of an output's operations: nodes that run one after another, once for each sample, on a decode thread. Most
// nodes are one operation; operations that gain by it are fused into the node before them (all operations on a picture
// are one node). A node is constant after construction, and any thread runs it with a workspace of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/signature.h"
#include "config/spec.h"
#include "daemon/base/random.h"
#include "daemon/base/result.h"
#include "daemon/media/representation.h"
#include "daemon/media/workspace.h"

namespace spdld::media {

// The content of a field that was fetched. Several outputs may read it, one after another.
struct Field {
  std::span<const uint8_t> bytes;
  bool is_prepared = false;  // the bytes are in the form of the representation that all readers have
  Keeper* keeper = nullptr;  // keeps that form of these bytes; null: nobody would
  size_t number = 0;         // among the sample's fetched fields
};

// A value that passes from node to node, as its signature describes it.
struct Value {
  std::span<const uint8_t> bytes = {};  // of kBytes; alive until the chain's end
  int64_t integer = 0;                  // of kInteger

  std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};

// The run of a chain for one sample.
struct Run {
  uint64_t sample;  // its id
  const Draws& draws;
  Workspace& workspace;
  // The field that the chain starts from, for a node that may start from a prepared form; null: it starts from a name
  // or from a value inside of a field.
  Field* field;
  // The sample's part of each tensor: of the output, then of the operations' further tensors in their order.
  std::span<uint8_t* const> tensors;
};

class Node {
 public:
  virtual ~Node() = default;

  // Turns the value into what follows, or writes the tensors. kContent: the sample's content is bad.
  virtual Status run(Value& value, const Run& run) const = 0;

  // The code beneath the operations that decides the node's bytes, each with its version: "libjpeg-turbo 2.1.5". It is
  // a part of a run's fingerprint.
  virtual std::vector<std::string> code() const { return {}; }

  // The form from which the node can start as well; null: there is none.
  virtual const Representation* representation() const { return nullptr; }
  // Why there is none, though such content could have one; empty: there is nothing to say.
  virtual std::string_view why_unprepared() const { return {}; }
};
using Nodes = std::vector<std::unique_ptr<Node>>;

// An operation at its place in a chain, for the function that adds its code.
struct Part {
  const config::OperationSpec& spec;
  const config::Signature& takes;
  const config::Signature& gives;
  const std::string& output;  // its name
  size_t extra;               // the place of the operation's first further tensor in Run::tensors
};

// The error as one of an output.
inline Error of_output(const std::string& output, const Error& error) {
  return {error.trouble, "output '" + output + "': " + error.message};
}

}  // namespace spdld::media
