// The operations of outputs: one type for each, with its name, parameters, help, and the signature that it gives for
// the signature that it takes. Each stands in a file of its own, NAME.cpp below config/operations/MEDIUM, and in one
// line of config/operations.inc; its code stands in NAME.cpp below daemon/media/MEDIUM. The checks, `spdlctl ops`, the
// documentation and the daemon read the same types, so that a chain is right for all of them or for none. Constant
// data and pure functions; any thread.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/parameter.h"
#include "config/signature.h"
#include "config/spec.h"

namespace spdld::config {

// Adds a complaint about the parameter of this name: the end of a sentence.
using Complain = std::function<void(std::string_view parameter, std::string text)>;

// A tensor that an operation writes beside its output's own.
struct ExtraTensor {
  std::string name;            // in the batch
  std::string_view parameter;  // that names it
  DType dtype = DType::kUint8;
  std::vector<int64_t> shape;  // of a sample
};

// A parameter whose value keeps a field from being cached in the form that the operation could prepare, and why.
struct Hindrance {
  std::string_view parameter;
  std::string_view why;  // the end of a complaint about cache = "decoded"
};

// A number that an output tells others of the same sample before any output runs.
enum class Told : uint8_t {
  kNothing,
  kNumber,    // that its field holds
  kClipStart  // when its clip begins, in seconds of its file
};
// A parameter that may name an output which tells such a number.
struct Ask {
  std::string_view parameter;
  Told told;
};

// How an operation runs the operations that it holds.
enum class Holds : uint8_t {
  kNone,     // it holds none
  kInTurn,   // all of them, each behind the other, or none: together they give what they take
  kOneOf,    // one of them: all give the same
  kAnyOrder  // all of them in any order: each gives what it takes
};

// The piece of a record that an operation works on, where rows are pieces of records.
struct RowPiece {
  RowKind kind = RowKind::kRecords;  // of [rows]; kRecords: the operation takes no piece
  std::string_view parameter = {};   // empty: it always takes the row's piece
  std::string_view value = {};       // the parameter's value with which it does
};

// Some traits are particular to operations on values of one medium. The traits of a medium are a struct of its own, in
// the variant MediumTraits, which most operations leave empty.

// The part that an operation has in a view of outputs that share a geometry (config/views.h).
enum class ViewPart : uint8_t {
  kNone,
  kLeads,    // gives the picture whose geometry the view has
  kMoves,    // changes the geometry of a picture
  kBlends,   // blends pictures of several geometries, which nothing can follow
  kBuckets,  // gives pictures of another size in each batch, which nothing can follow
  kPieces,  // makes several pieces of a picture, which nothing can follow; only the tensor's operation stands behind it
  kFollows  // applies the geometry of the view's leader
};

// The parameters of an operation that shifts and scales a picture's values: (value / white - mean) / std.
struct Normalizing {
  std::string_view mean = {}, std = {};  // empty: the operation leaves values on a known scale
};

// Of operations on pictures, and on what lies on a picture: masks, boxes and points.
struct PictureTraits {
  ViewPart view_part = ViewPart::kNone;
  bool drops_rows = false;              // some elements of its list may be left out, by the geometry of its view
  std::string_view keeps_rows_of = {};  // the parameter that names the output which dropped them; empty: none
  bool lists_masks = false;             // gives a mask in the size of its view's picture for each object
  bool lists_boxes = false;             // its list may decide the geometry of its view's picture
  std::string_view asks_boxes_of = {};  // the parameter that names the output whose boxes decide; empty: none
  std::string_view tells_place = {};    // the parameter that names a tensor: where the picture lies in its border
  bool counts_pixels = false;    // the head of its field says how many pixels there are, which may be a sample's cost
  bool is_kept_decoded = false;  // cache = "decoded" keeps what it gives, so that its work is saved
  Normalizing normalizes = {};
};

// monostate: nothing is particular to a medium.
using MediumTraits = std::variant<std::monostate, PictureTraits>;

struct OperationType {
  std::string_view name;
  Kinds takes, gives;  // of `gives`, the parameters say which one
  std::string_view help;
  std::vector<Parameter> parameters;
  // Turns the signature that the operation takes (of a kind in `takes`) into the signature that it gives. A text that
  // is not empty says why the operation can't take it, as the end of a sentence about the operation. Null: the
  // operations that it holds say it.
  std::string (*bind)(const OperationSpec& spec, Signature& signature);
  // Complains about parameters that are each allowed and make no sense together; may bring two spellings into one.
  void (*check)(OperationSpec& spec, const Complain& complain) = nullptr;
  std::vector<ExtraTensor> (*extras)(const OperationSpec& spec) = nullptr;  // null: none
  std::optional<Hindrance> (*hindrance)(const OperationSpec& spec) = nullptr;
  // Raised when the operation gives other bytes for the same content and parameters: a position of before then belongs
  // to another run.
  int version = 1;
  MediumTraits medium = {};
  bool decodes = false;  // makes its value of coded content: no output does without it, so no report advises that
  Told tells = Told::kNothing;  // where it stands first in an output
  // The numbers that it asks other outputs for, where it stands first in an output.
  std::vector<Ask> asks = {};
  bool ends_chains = false;    // is added, with its defaults, to a chain that ends in what it takes
  bool reads_numbers = false;  // `dtype` of an output stands for it: a number in text, of the dtypes that it can give
  bool copies_bytes = false;   // gives a field's bytes as they are
  // Reads a field's bytes once, and no more of them where others may write to them meanwhile.
  bool reads_once = false;
  bool copies_values = false;  // a tensor that has as many bytes as the field has them in the same order
  RowPiece row_piece = {};     // always taken: the operation stands right behind the decoding one
  // The executor that runs it (daemon/pipeline/delegate.h); empty: the daemon's decode threads. Such an operation takes
  // a tensor, bytes or an integer. It is given a picture or sound as the tensor that chain_end() makes of it, and an
  // integer as an int64 tensor of one number.
  std::string_view executor = {};
  // Other than kNone: it has one parameter of type kOperations, called kHeldOperations.
  Holds holds = Holds::kNone;

  // The traits of operations on pictures; of any other operation, the defaults.
  const PictureTraits& picture() const;
};

inline constexpr std::string_view kHeldOperations = "ops";
inline constexpr int kHeldMax = 16;      // operations in one list
inline constexpr int kHeldDepthMax = 4;  // operations in one another, the outermost one included
// Whether an operation may hold it: it changes a picture and does nothing beside that.
bool may_be_held(const OperationType& operation);

std::span<const OperationType> operations();
// Adds an operation of an executor that the table does not have. Before any other thread reads the table. Throws
// std::logic_error: the operation has no executor, its name is taken, or kAddedMax were added.
inline constexpr size_t kAddedMax = 32;
void add_operation(OperationType operation);
const OperationType* find_operation(std::string_view name);
// The first operation for which `can` is true. Code asks for it that needs an operation of some kind, and sentences
// name it. Throws std::logic_error where there is none.
const OperationType& first_operation(bool (*can)(const OperationType& operation));
// The operation that `dtype` stands for in an output. Precondition: it is one of the dtypes that output_keys() allows.
const OperationType& number_reader(DType dtype);
// The kind of rows whose piece the operation takes with these parameters; kRecords: it takes none. Precondition: the
// catalogue knows the operation.
RowKind row_piece_of(const OperationSpec& spec);
// The operation with its defaults. Precondition: each of its parameters has a default.
OperationSpec with_defaults(const OperationType& operation, const Where& where);

// The further tensors that an output's operations write, in the operations' order.
std::vector<ExtraTensor> extras_of(std::span<const OperationSpec> ops);

// A chain, followed from what its field gives to what its last operation gives.
struct Followed {
  std::vector<Signature> along;  // what each operation takes; the last one: what the chain gives
  // Not empty: why the chain is wrong, as the end of a sentence about operation `at`, or, where `at` is the number of
  // operations, about the chain as a whole.
  std::string error;
  size_t at = 0;
  // Where the error is about an operation that operation `at` holds: its place there, and so on to the innermost one.
  std::vector<size_t> inside = {};

  const Signature& end() const { return along.back(); }
};
// Each operation must take what the one before it gives, and the end must be an integer or a tensor. kFixed: all of the
// tensor's samples have one shape. Any other form: they differ in their first dimension, and in no other one.
// Precondition: the catalogue knows all operations.
Followed follow(std::span<const OperationSpec> ops, Signature start, Form form = Form::kFixed);
// The operation behind such a value: `along` is what it takes and, without an error, what it gives. Precondition: as of
// follow().
Followed follow_one(const OperationSpec& spec, Signature takes);
// The signature that a chain is taken to start from where its field is not known: its first operation takes it. A chain
// without operations starts from an integer.
Signature start_of(std::span<const OperationSpec> ops);
// The operation that is added to a chain that ends in such a value; null: none is.
const OperationType* chain_end(Kinds kinds);

}  // namespace spdld::config
