// [batch] ops: the operations on a batch as a whole, and whether the outputs that they name can be mixed.
#include <algorithm>
#include <array>
#include <utility>

#include "config/batch_operation.h"
#include "config/checks/check.h"
#include "config/operation.h"
#include "config/varying.h"
#include "config/views.h"

namespace spdld::config {
namespace {

constexpr size_t kBatchOpsMax = 8, kMixedMax = 16;  // operations, outputs of one of them
constexpr double kShareSlack = 1e-9;                // 0.1 and 0.9 have no exact sum

// None: which operation is meant is not known.
std::optional<BatchOperationSpec> check_batch_operation(const Node& node, const std::string& key,
                                                        Complaints& complaints) {
  if (node.table() == nullptr) {
    complaints.add(
        node.line, key,
        "must be a table such as { op = \"mixup\", images = [\"image\"] }, not " + std::string(kind_of(node)));
    return std::nullopt;
  }
  TableReader reader(node, key, batch_operation_keys(), complaints);
  const auto op = reader.given_text("op");
  if (!op) return std::nullopt;
  const auto* type = find_batch_operation(*op);
  if (type == nullptr) {
    std::vector<std::string_view> names;
    for (const auto& known : batch_operations()) names.push_back(known.name);
    reader.complain("op", "is not a known operation on batches: " + in_quotes(*op) + did_you_mean(*op, names) +
                              "; known are " + joined(names));
    return std::nullopt;
  }
  std::vector<std::string_view> own;
  for (const auto& parameter : type->parameters) own.push_back(parameter.name);
  reader.refuse_unknown(own);
  BatchOperationSpec spec;
  spec.op = *op;
  spec.where = {complaints.file(), node.line};
  spec.images = reader.texts("images");
  spec.labels = reader.texts("labels");
  spec.share = reader.number("share");
  if (spec.images.empty() || spec.images.size() + spec.labels.size() > kMixedMax) {
    reader.complain("images", spec.images.empty()
                                  ? "must name one or more outputs, such as [\"image\"]"
                                  : "and labels may name at most " + std::to_string(kMixedMax) + " outputs");
  }
  spec.parameters = TableReader(node, key, type->parameters, complaints).values();
  return spec;
}

// The outputs that one operation names.
class Outputs {
 public:
  Outputs(const PipelineSpec& spec, Complaints& complaints) : spec_(spec), complaints_(complaints) {}

  void check(const BatchOperationSpec& op, const std::string& key) {
    if (!find_batch_operation(op.op)->boxes.empty()) return check_lists(op, key);
    std::vector<std::string_view> seen;
    std::optional<PictureShape> first;
    const auto* type = find_batch_operation(op.op);
    for (const auto* list : {&op.images, &op.labels}) {
      const bool is_image = list == &op.images;
      for (size_t i = 0; i < list->size(); ++i) {
        const std::string& name = (*list)[i];
        const std::string at = key + (is_image ? ".images[" : ".labels[") + std::to_string(i) + "]";
        if (std::find(seen.begin(), seen.end(), name) != seen.end())
          complaints_.add(op.where.line, at, "names " + in_quotes(name) + " again: an operation mixes an output once");
        seen.push_back(name);
        const auto end = find(name, at, op.where.line);
        if (!end) continue;
        const std::string why = is_image ? type->refuses(*end) : refuses_label(*end);
        if (!why.empty()) {
          complaints_.add(op.where.line, at, in_quotes(name) + " " + why);
        } else if (is_image && type->has_boxes) {
          const PictureShape shape = shape_of(*end);
          if (!first) first = shape;
          if (shape.height != first->height || shape.width != first->width)
            complaints_.add(op.where.line, at,
                            in_quotes(name) + " must be as high and as wide as " + in_quotes(op.images.front()) +
                                ", since both get the same box");
        }
      }
    }
  }

 private:
  // An operation on one picture, its boxes and the lists that keep the rows of these.
  void check_lists(const BatchOperationSpec& op, const std::string& key) {
    const auto* type = find_batch_operation(op.op);
    const std::string parameter(type->boxes);
    const std::string& boxes = op.text(parameter);
    const int line = op.where.line;
    if (op.images.size() != 1)
      return complaints_.add(line, key + ".images",
                             "must name one output: " + op.op + " takes a picture and its boxes");
    const auto end = find(op.images.front(), key + ".images[0]", line);
    if (!end) return;
    if (const std::string why = type->refuses(*end); !why.empty())
      return complaints_.add(line, key + ".images[0]", in_quotes(op.images.front()) + " " + why);
    const OutputSpec* const picture = named(op.images.front());
    const OutputSpec* const list = named(boxes);
    if (picture->view.empty() || list == nullptr || list->view != picture->view || !lists_boxes(*list))
      return complaints_.add(line, key + "." + parameter,
                             "must name an output with boxes in the view of " + in_quotes(picture->name) + ": " +
                                 in_quotes(boxes) + " is none");
    for (size_t i = 0; i < op.labels.size(); ++i) {
      const OutputSpec* const label = named(op.labels[i]);
      if (label == nullptr || kept_from(*label) != boxes)
        complaints_.add(line, key + ".labels[" + std::to_string(i) + "]",
                        in_quotes(op.labels[i]) + " is no list that keeps the rows of " + in_quotes(boxes));
    }
    if (!type->masks.empty()) check_masks(op, key);
    if (!type->inside.empty()) check_inside(op, *picture, key);
    for (const OutputSpec& output : spec_.outputs) {
      const bool is_named =
          &output == picture || &output == list || std::count(op.labels.begin(), op.labels.end(), output.name) == 1;
      if (output.view == picture->view && !is_named)
        complaints_.add(line, key + ".labels",
                        "must name " + in_quotes(output.name) + " once, which belongs to the view of " +
                            in_quotes(picture->name) + ", too; " + op.op +
                            " takes lists that keep the rows of its boxes");
    }
  }

  void check_masks(const BatchOperationSpec& op, const std::string& key) {
    const std::string parameter(find_batch_operation(op.op)->masks);
    const std::string& name = op.text(parameter);
    const OutputSpec* const masks = named(name);
    const bool fits = masks != nullptr && lists_masks(*masks) &&
                      std::find(op.labels.begin(), op.labels.end(), name) != op.labels.end();
    const OperationType& lister = first_operation([](const OperationType& type) { return type.picture().lists_masks; });
    if (!fits)
      complaints_.add(op.where.line, key + "." + parameter,
                      "must name one of labels with masks of objects, as " + std::string(lister.name) +
                          " gives them: " + in_quotes(name) + " is none");
  }

  void check_inside(const BatchOperationSpec& op, const OutputSpec& picture, const std::string& key) {
    const std::string parameter(find_batch_operation(op.op)->inside);
    const std::string& name = op.text(parameter);
    const bool pads = std::any_of(picture.ops.begin(), picture.ops.end(), [&](const OperationSpec& one) {
      const std::string_view place = find_operation(one.op)->picture().tells_place;
      return !place.empty() && one.text(place) == name;
    });
    if (name.empty() || pads) return;
    const OperationType& teller =
        first_operation([](const OperationType& type) { return !type.picture().tells_place.empty(); });
    complaints_.add(op.where.line, key + "." + parameter,
                    "must name the `" + std::string(teller.picture().tells_place) + "` of the " +
                        std::string(teller.name) + " of " + in_quotes(picture.name) + ": " + in_quotes(name) +
                        " is none");
  }

  static bool lists_masks(const OutputSpec& output) {
    return std::any_of(output.ops.begin(), output.ops.end(),
                       [](const OperationSpec& one) { return find_operation(one.op)->picture().lists_masks; });
  }

  // Null: no output has this name.
  const OutputSpec* named(const std::string& name) const {
    const auto found = std::find_if(spec_.outputs.begin(), spec_.outputs.end(),
                                    [&](const auto& output) { return output.name == name; });
    return found == spec_.outputs.end() ? nullptr : &*found;
  }

  // None: there is nothing more to say about it.
  std::optional<Signature> find(const std::string& name, const std::string& at, int line) {
    std::vector<std::string_view> names;
    for (const auto& output : spec_.outputs) {
      names.push_back(output.name);
      if (output.name != name) continue;
      Signature end = end_of(output);
      if (end.kind() == SignatureKind::kInteger || (end.kind() == SignatureKind::kTensor && end.is_fixed())) return end;
      complaints_.add(line, at,
                      in_quotes(name) + " has samples of several sizes: only outputs of one size can be mixed");
      return std::nullopt;
    }
    complaints_.add(
        line, at,
        "is the name of no output: " + in_quotes(name) + did_you_mean(name, names) + "; there are " + joined(names));
    return std::nullopt;
  }

  const PipelineSpec& spec_;
  Complaints& complaints_;
};

void check_shares(const TableReader& reader, const std::vector<Node>& list, const BatchSpec& batch) {
  double sum = 0;
  for (size_t i = 0; i < batch.ops.size(); ++i) {
    sum += batch.ops[i].share;
    if (batch.ops.size() > 1 && list[i].find("share") == nullptr)
      reader.complain("ops",
                      "[" + std::to_string(i) +
                          "] must say its share, the part of the samples that it mixes, since there are several");
  }
  if (sum > 1 + kShareSlack)
    reader.complain("ops", "mix more samples than there are: the sum of their shares must be at most 1");
}

void check_group(const TableReader& reader, const BatchSpec& batch, uint64_t repeats) {
  uint64_t least = 1;
  for (const auto& op : batch.ops) least = std::max(least, (find_batch_operation(op.op)->partners + 1) * repeats);
  if (batch.group < least)
    return reader.complain("group", "must be at least " + std::to_string(least) +
                                        ": one of ops mixes so many samples with one another" +
                                        (repeats == 1 ? ""
                                                      : ", since each sample comes " + std::to_string(repeats) +
                                                            " times (order.repeats) and is mixed with other ones"));
  const uint64_t size = std::max(batch.size, batch.global_size);
  if (batch.group == 0 || size % batch.group == 0) return;
  reader.complain("group", "is " + std::to_string(batch.group) + ", and must divide " +
                               (batch.size != 0 ? "size" : "global_size") + ", which is " + std::to_string(size) +
                               ": samples are mixed within groups of so many");
}

void check_further(const TableReader& reader, std::string_view key, std::string& name,
                   const std::vector<OutputSpec>& outputs, bool has_mask, const std::string& other) {
  const auto given = reader.given_text(key);
  if (!given) return;
  name = *given;
  bool is_taken = name == "sample_id" || (name == "mask" && has_mask) || name == other;
  for (const auto& output : outputs) {
    const auto names = tensor_names(output);
    is_taken = is_taken || std::find(names.begin(), names.end(), name) != names.end();
  }
  if (!is_word(name, "_.-") || name.find_first_of(".-0123456789") == 0)
    reader.complain(key,
                    "must be 1 to 64 letters, digits, \"_\", \".\" or \"-\" and begin with a letter or \"_\", not " +
                        in_quotes(name));
  else if (is_taken)
    reader.complain(key, in_quotes(name) + " is the name of another tensor of the batch already");
}

}  // namespace

void check_batch_operations(const Node& node, PipelineSpec& spec, Complaints& complaints) {
  if (node.table() == nullptr) return;  // check_batch() has said so
  const Node* ops = node.find("ops");
  const TableReader reader(node, "batch", batch_keys(), complaints);
  if (ops == nullptr) {
    for (const std::string_view key : {"group", "lam", "partner"})
      if (reader.find(key) != nullptr) reader.complain(key, "may only stand beside ops");
    return;
  }
  const auto* list = ops->list();
  if (list == nullptr || list->empty() || list->size() > kBatchOpsMax) {
    complaints.add(ops->line, "batch.ops",
                   list == nullptr ? "must be a list of operations on batches, not " + std::string(kind_of(*ops))
                                   : "must have 1 to " + std::to_string(kBatchOpsMax) + " operations");
    return;
  }
  for (size_t i = 0; i < list->size(); ++i) {
    auto op = check_batch_operation((*list)[i], "batch.ops[" + std::to_string(i) + "]", complaints);
    if (op) spec.batch.ops.push_back(*std::move(op));
  }
  spec.batch.group = static_cast<uint64_t>(reader.integer("group"));
  check_group(reader, spec.batch, spec.order.repeats);
  check_further(reader, "lam", spec.batch.lam, spec.outputs, spec.has_mask(), "");
  check_further(reader, "partner", spec.batch.partner, spec.outputs, spec.has_mask(), spec.batch.lam);
  // Outputs that were complained about have operations that nobody wrote.
  if (!complaints.empty()) return;
  check_shares(reader, *list, spec.batch);
  for (size_t i = 0; i < spec.batch.ops.size(); ++i)
    Outputs(spec, complaints).check(spec.batch.ops[i], "batch.ops[" + std::to_string(i) + "]");
}

}  // namespace spdld::config
