// The code of an output's operations: nodes that run one after another, once for each sample, on a decode thread. Most
// nodes are one operation; operations that gain by it are fused into the node before them (all operations on a picture
// are one node). A node is constant after construction, and any thread runs it with a workspace of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/signature.h"
#include "config/spec.h"
#include "daemon/base/byte_parts.h"
#include "daemon/base/random.h"
#include "daemon/base/result.h"
#include "daemon/base/row_part.h"
#include "daemon/base/side_files.h"
#include "daemon/media/carried.h"
#include "daemon/media/representation.h"
#include "daemon/media/workspace.h"

namespace spdld::text {
struct JsonPlace;
}

namespace spdld::media {

class Sound;

// A node's index of a content, which is kept beside the content. With an index, the node needs only parts of it.
struct KeptIndex {
  std::string_view id;             // of the node that makes it (Node::index_id); outlives the field
  bool is_kept = false;            // there is a place where it may be kept
  std::span<const uint8_t> bytes;  // empty: it is not known yet
  // Of a node that has made the index: it sets `bytes` to it as well. Kept beyond the sample where there is room.
  std::string made;
  void set(std::string its_bytes) {
    made = std::move(its_bytes);
    bytes = {reinterpret_cast<const uint8_t*>(made.data()), made.size()};
  }
};

// The content of a field that was fetched. Several outputs may read it, one after another.
struct Field {
  // The whole content; empty where only parts of it are there, which only nodes that have an index are given.
  std::span<const uint8_t> bytes;
  std::optional<ByteParts> parts = {};
  ByteParts content() const { return parts ? *parts : ByteParts(bytes); }
  // A node that ends with kUnread says here which parts of the content it needs, in any order. It is announced and run
  // once more when these parts, and no other ones, are there.
  std::vector<ByteRange> wanted = {};
  unsigned rounds = 0;                  // so often were further parts read for this sample
  std::vector<KeptIndex> indexes = {};  // of the nodes that start from the field, each once
  KeptIndex* index_of(std::string_view id) {
    const auto found = std::find_if(indexes.begin(), indexes.end(), [&](const KeptIndex& one) { return one.id == id; });
    return found == indexes.end() ? nullptr : &*found;
  }
  bool is_prepared = false;  // the bytes are in the form of the representation that all readers have
  config::CacheForm form = config::CacheForm::kDecoded;  // kIndexed, kPacked: that form; else planes
  Keeper* keeper = nullptr;                              // keeps that form of these bytes; null: nobody would
  size_t number = 0;                                     // among the sample's fetched fields
  bool is_begun = false;  // a node has begun with it: what a workspace holds of it belongs to this sample
};

// A value that passes from node to node, as its signature describes it.
struct Value {
  std::span<const uint8_t> bytes = {};    // of kBytes; alive until the chain's end
  int64_t integer = 0;                    // of kInteger
  Sound* sound = nullptr;                 // of kAudio; in the workspace, alive until the chain's end
  const text::JsonPlace* json = nullptr;  // of kBytes, in the place of the bytes, for a node that reads_json()
  Carried* tensor = nullptr;              // of kTensor, at the start of a segment

  std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};

// A sample's part of a tensor, which a node writes. Where samples differ in length, there is room for the longest one,
// and the node says the length before it writes.
struct TensorOut {
  uint8_t* memory = nullptr;   // of the sample's first element; what take() gives room for is at()
  uint64_t length_max = 0;     // places along the first dimension; 0: the sample has the tensor's own shape
  uint32_t* length = nullptr;  // of the sample, which take() sets; null: the sample has the tensor's own shape
  config::TooLong too_long = config::TooLong::kBad;
  // Of a tensor on its way to another segment whose samples differ in size: has the memory. Null: `memory` does.
  Carried* carried = nullptr;

  uint8_t* at() const { return carried == nullptr ? memory : carried->memory(); }

  // The sample has `wanted` places along the first dimension. Returns how many of them the node is to write, and notes
  // that as the sample's length. kContent, kTooLong: the sample is longer than allowed. Precondition: its length
  // varies.
  Result<uint64_t> take(uint64_t wanted) const;
};

inline Result<uint64_t> TensorOut::take(uint64_t wanted) const {
  if (carried != nullptr) {
    const Result<uint8_t*> opened = carried->open_rows(wanted);
    return opened ? Result<uint64_t>(wanted) : opened.error();
  }
  const uint64_t taken = std::min(wanted, length_max);
  if (taken < wanted && too_long != config::TooLong::kCut) {
    const bool leaves_out = too_long == config::TooLong::kLeaveOut;
    return Error{leaves_out ? Trouble::kTooLong : Trouble::kContent,
                 "a length of " + std::to_string(wanted) + " is above length_max = " + std::to_string(length_max)};
  }
  *length = static_cast<uint32_t>(taken);
  return taken;
}

// One call of a chain: what its nodes are given for one sample.
struct Call {
  uint64_t sample;  // its id
  const Draws& draws;
  Workspace& workspace;
  // The field that the chain starts from, for a node that may start from a prepared form; null: it starts from a name
  // or from a value inside of a field.
  Field* field;
  // The sample's part of each tensor: of the output, then of the operations' further tensors in their order.
  std::span<const TensorOut> tensors;
  RowPart part = {};  // of the record, where rows are made of records
  // The number of the output's view in the plan; none: the output is in no view. Outputs of a view run after its
  // leader.
  std::optional<size_t> view = {};
  uint32_t shape = 0;  // of the batch, by its number, where outputs have shapes
};

class Node {
 public:
  virtual ~Node() = default;

  // Of the first nodes of chains that share a field, and of nodes that have an index, before any node runs: says what
  // the node will need of the field, so that it is read and decoded once for all. Nothing is written: call.tensors is
  // empty. kContent: the content is bad. kUnread: see Field::wanted.
  virtual Status announce(const Call&) const { return Done{}; }

  // Of the first node of a chain for whose value the leader of its view asks, before any node announces or runs: keeps
  // what the leader needs of the value in the workspace. Nothing is written: call.tensors is empty. kContent: the
  // content is bad.
  virtual Status advise(const Value&, const Call&) const { return Done{}; }

  // Turns the value into what follows, or writes the tensors. kContent: the sample's content is bad.
  virtual Status run(Value& value, const Call& call) const = 0;

  // Whether the node starts from a value inside of JSON itself, not from the text of that value.
  virtual bool reads_json() const { return false; }

  // The code beneath the operations that decides the node's bytes, each with its version: "libjpeg-turbo 2.1.5". It is
  // a part of a training run's fingerprint.
  virtual std::vector<std::string> code() const { return {}; }

  // Names the index that the node makes of a content, with the versions of all that decides its bytes. Its first word
  // is "index". Such a node starts from call.field, and takes the field's content in parts. Empty: the node has no
  // index.
  virtual std::string_view index_id() const { return {}; }

  // The form of this kind from which the node can start as well; null: there is none.
  virtual const Representation* representation(config::CacheForm) const { return nullptr; }
  // Why there is none, though such content could have one; empty: there is nothing to say.
  virtual std::string_view why_unprepared() const { return {}; }
};
using Nodes = std::vector<std::unique_ptr<Node>>;

// An operation at its place in a chain, for the function that adds its code.
struct PlacedOperation {
  const config::OperationSpec& spec;
  const config::Signature& takes;
  const config::Signature& gives;
  const std::string& output;  // its name
  size_t extra;               // the place of the operation's first further tensor in Call::tensors
  SideFiles* files;           // beside the data set, to be read while it is set up; null: none can be
};

// The error as one of an output.
inline Error of_output(const std::string& output, const Error& error) {
  return {error.trouble, "output '" + output + "': " + error.message};
}

}  // namespace spdld::media
