#include "config/views.h"

#include <algorithm>

#include "config/operation.h"
#include "config/size_schedule.h"
#include "config/text/words.h"

namespace spdld::config {
namespace {

ViewPart part_of(const OperationSpec& op) { return find_operation(op.op)->picture().view_part; }

// The place of the first operation with this part in a view; none: there is none.
std::optional<size_t> find_part(const OutputSpec& output, ViewPart part) {
  const auto is_it = [part](const OperationSpec& op) { return part_of(op) == part; };
  const auto found = std::find_if(output.ops.begin(), output.ops.end(), is_it);
  if (found == output.ops.end()) return std::nullopt;
  return static_cast<size_t>(found - output.ops.begin());
}

// The begin of a sentence about the operation, or about one that it holds, where nothing can follow it; empty: all of
// them can be followed.
std::string unfollowed(const OperationSpec& op) {
  if (part_of(op) == ViewPart::kBlends) return op.op + " blends pictures whose pixels lie at different places, which";
  if (part_of(op) == ViewPart::kBuckets) return op.op + " gives pictures of another size in each batch, which";
  if (!schedule_of(op).empty()) return op.op + " has by_epoch, so that pictures have another size in each epoch, which";
  if (part_of(op) == ViewPart::kPieces) return op.op + " makes several pieces of the picture, which";
  for (const OperationSpec& held : op.ops)
    if (std::string text = unfollowed(held); !text.empty()) return text;
  return {};
}

// Adds the names of outputs whose boxes the operations ask for, and the operations that they hold.
void add_asked(std::span<const OperationSpec> ops, std::vector<std::string>& names) {
  for (const OperationSpec& op : ops) {
    const std::string_view parameter = find_operation(op.op)->picture().asks_boxes_of;
    if (!parameter.empty()) names.push_back(op.text(parameter));
    add_asked(op.ops, names);
  }
}

std::vector<std::string> asked_by(std::span<const OperationSpec> ops) {
  std::vector<std::string> names;
  add_asked(ops, names);
  return names;
}

struct AskedNumber {
  std::string output;  // its name
  Told told;
};

// The numbers that the first operation of an output asks other outputs for.
std::vector<AskedNumber> numbers_asked_by(const OutputSpec& output) {
  std::vector<AskedNumber> asked;
  if (output.ops.empty()) return asked;
  for (const Ask& ask : find_operation(output.ops.front().op)->asks)
    if (const std::string& name = output.ops.front().text(ask.parameter); !name.empty())
      asked.push_back({name, ask.told});
  return asked;
}

Told told_by(const OutputSpec& output) {
  return output.ops.empty() ? Told::kNothing : find_operation(output.ops.front().op)->tells;
}

bool is_number_asked(std::span<const OutputSpec> outputs, const std::string& name) {
  return std::any_of(outputs.begin(), outputs.end(), [&](const OutputSpec& output) {
    const std::vector<AskedNumber> asked = numbers_asked_by(output);
    return std::any_of(asked.begin(), asked.end(), [&](const AskedNumber& one) { return one.output == name; });
  });
}

// Whether an output asks for the boxes of the output with this name.
bool is_asked(std::span<const OutputSpec> outputs, const std::string& name) {
  return std::any_of(outputs.begin(), outputs.end(), [&](const OutputSpec& output) {
    const std::vector<std::string> asked = asked_by(output.ops);
    return std::find(asked.begin(), asked.end(), name) != asked.end();
  });
}

class Checker {
 public:
  Checker(std::span<const OutputSpec> outputs, Views& views) : outputs_(outputs), views_(views) {}

  void check_leaders() {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const std::string& view = outputs_[i].view;
      if (view.empty()) continue;
      const auto first = std::find_if(outputs_.begin(), outputs_.end(),
                                      [&](const auto& other) { return other.view == view && leads_view(other); });
      if (first == outputs_.end()) {
        if (is_first_of_view(i))
          add(i, {},
              "is a view without a leader: one output of view " + in_quotes(view) + " must begin with " +
                  std::string(first_leader().name) + ", whose crops, resizes and flips the others follow");
      } else if (leads_view(outputs_[i]) && &*first == &outputs_[i]) {
        check_unfollowed(i);
      } else if (leads_view(outputs_[i])) {
        add(i, {},
            "has a leader already: output " + in_quotes(first->name) + " decodes the picture of view " +
                in_quotes(view) + ", and a view has one leader");
      }
    }
  }

  void check_asked() {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const auto& ops = outputs_[i].ops;
      const std::vector<std::string> all = asked_by(ops);
      for (size_t at = 0; at < ops.size(); ++at)
        for (const std::string& name : asked_by({&ops[at], 1})) check_asked(i, at, name, all.front());
    }
  }

  void check_numbers() {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      for (const AskedNumber& asked : numbers_asked_by(outputs_[i])) check_number(i, asked);
    }
  }

  // The others of a view take their turn with the decode threads' first operations.
  void check_behind_others() {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const auto& ops = outputs_[i].ops;
      const auto is_theirs = [](const OperationSpec& op) { return !find_operation(op.op)->executor.empty(); };
      const auto first = static_cast<size_t>(std::find_if(ops.begin(), ops.end(), is_theirs) - ops.begin());
      for (size_t at = first; at < ops.size(); ++at)
        if (!outputs_[i].view.empty() && part_of(ops[at]) != ViewPart::kNone)
          add(i, at,
              ops[at].op + " can't stand behind " + ops[first].op +
                  " in a view: other outputs would have to wait for its geometry");
    }
  }

  void check_followers() {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const OutputSpec& output = outputs_[i];
      const auto follows = find_part(output, ViewPart::kFollows), moves = find_part(output, ViewPart::kMoves);
      if (output.view.empty()) {
        if (follows)
          add(i, follows,
              output.ops[*follows].op +
                  " takes the geometry of a view's leader: write view = \"NAME\" in this "
                  "output and in the output with the picture");
        continue;
      }
      if (leads_view(output)) continue;
      if (moves)
        add(i, moves,
            output.ops[*moves].op + " can't stand in a follower, which takes the geometry of the leader of view " +
                in_quotes(output.view) + ": leave it out");
      else if (!follows)
        add(i, {}, "does nothing for this output: none of its operations takes a geometry; leave `view` out");
      check_kept(i);
    }
  }

 private:
  // Operation `at` of output i asks for the boxes of the output `name`; the first operation that asks takes the boxes
  // of the output `first`.
  void check_asked(size_t i, size_t at, const std::string& name, const std::string& first) {
    const OutputSpec& output = outputs_[i];
    const std::string& op = output.ops[at].op;
    if (output.view.empty())
      return add(
          i, at,
          op + " takes the boxes of a view: write view = \"NAME\" in this output and in the output with the boxes");
    if (!leads_view(output)) return;  // it has no operation that moves a picture, either
    const OutputSpec* const found = find_output(name);
    if (found == nullptr || found->view != output.view || !lists_boxes(*found))
      add(i, at, op + " must ask for an output of the same view with boxes: " + in_quotes(name) + " is none");
    else if (name != first)
      add(i, at,
          op + " must ask for the boxes that decide the geometry before it, of output " + in_quotes(first) + ", not " +
              in_quotes(name));
  }

  void check_number(size_t i, const AskedNumber& asked) {
    const OutputSpec* const found = find_output(asked.output);
    const bool is_clip = asked.told == Told::kClipStart;
    const std::string_view teller =
        is_clip ? first_operation([](const OperationType& type) { return type.tells == Told::kClipStart; }).name
                : first_operation([](const OperationType& type) { return type.tells == Told::kNumber; }).name;
    const std::string begin = outputs_[i].ops.front().op + " must ask for an output that begins with " +
                              std::string(teller) + ": " + in_quotes(asked.output);
    if (found == nullptr || told_by(*found) != asked.told)
      add(i, 0, begin + " is none");
    else if (is_clip && found->ops.front().integer("clips") > 1)
      add(i, 0, begin + " has several clips, and the sound is of one");
  }

  void check_unfollowed(size_t i) {
    const auto& ops = outputs_[i].ops;
    for (size_t at = 0; at < ops.size(); ++at) {
      const std::string text = unfollowed(ops[at]);
      if (!text.empty()) add(i, at, text + " no output of a view can follow: leave `view` out");
    }
  }

  void check_kept(size_t i) {
    const std::string& name = kept_from(outputs_[i]);
    if (name.empty()) return;
    const OutputSpec* const found = find_output(name);
    const bool fits =
        found != nullptr && found->view == outputs_[i].view && kept_from(*found).empty() && drops_rows(*found);
    if (!fits)
      add(i, find_part(outputs_[i], ViewPart::kFollows),
          "must keep the rows of an output of the same view with boxes or points: " + in_quotes(name) + " is none");
  }

  static bool drops_rows(const OutputSpec& output) {
    return std::any_of(output.ops.begin(), output.ops.end(),
                       [](const OperationSpec& op) { return find_operation(op.op)->picture().drops_rows; });
  }

  // Null: no output has this name.
  const OutputSpec* find_output(const std::string& name) const {
    const auto found =
        std::find_if(outputs_.begin(), outputs_.end(), [&](const OutputSpec& output) { return output.name == name; });
    return found == outputs_.end() ? nullptr : &*found;
  }

  bool is_first_of_view(size_t i) const {
    return std::none_of(outputs_.begin(), outputs_.begin() + static_cast<ptrdiff_t>(i),
                        [&](const auto& other) { return other.view == outputs_[i].view; });
  }
  void add(size_t output, std::optional<size_t> op, std::string text) {
    views_.faults.push_back({output, op, std::move(text)});
  }

  std::span<const OutputSpec> outputs_;
  Views& views_;
};

}  // namespace

bool lists_boxes(const OutputSpec& output) {
  return std::any_of(output.ops.begin(), output.ops.end(),
                     [](const OperationSpec& op) { return find_operation(op.op)->picture().lists_boxes; });
}

const std::string& kept_from(const OutputSpec& output) {
  static const std::string none;
  for (const OperationSpec& op : output.ops) {
    const std::string_view parameter = find_operation(op.op)->picture().keeps_rows_of;
    if (!parameter.empty()) return op.text(parameter);
  }
  return none;
}

const OperationType& first_leader() {
  return first_operation([](const OperationType& type) { return type.picture().view_part == ViewPart::kLeads; });
}

bool follows_view(const OutputSpec& output) { return find_part(output, ViewPart::kFollows).has_value(); }
bool leads_view(const OutputSpec& output) { return find_part(output, ViewPart::kLeads).has_value(); }

Views views_of(std::span<const OutputSpec> outputs) {
  Views views;
  std::vector<std::string> names;
  for (const OutputSpec& output : outputs) {
    const auto known = std::find(names.begin(), names.end(), output.view);
    views.number.push_back(output.view.empty() ? std::nullopt
                                               : std::optional(static_cast<size_t>(known - names.begin())));
    if (!output.view.empty() && known == names.end()) names.push_back(output.view);
  }
  const auto turn = [](const OutputSpec& output) {
    if (output.view.empty() || leads_view(output)) return 0;
    return kept_from(output).empty() ? 1 : 2;
  };
  for (int now = 0; now <= 2; ++now)
    for (size_t i = 0; i < outputs.size(); ++i)
      if (turn(outputs[i]) == now) views.order.push_back(i);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (views.number[i] && lists_boxes(outputs[i]) && is_asked(outputs, outputs[i].name)) views.asked.push_back(i);
  for (const Told told : {Told::kNumber, Told::kClipStart})  // a clip may lie in a part that numbers tell
    for (size_t i = 0; i < outputs.size(); ++i)
      if (told_by(outputs[i]) == told && is_number_asked(outputs, outputs[i].name)) views.asked.push_back(i);
  Checker checker(outputs, views);
  checker.check_leaders();
  checker.check_asked();
  checker.check_numbers();
  checker.check_followers();
  checker.check_behind_others();
  return views;
}

std::optional<Frame> frame_of(std::span<const OutputSpec> outputs, const OutputSpec& output) {
  if (output.view.empty() || leads_view(output)) return std::nullopt;
  for (const OutputSpec& leader : outputs) {
    if (leader.view != output.view || !leads_view(leader)) continue;
    const Followed chain = follow(leader.ops, start_of(leader.ops), Form::kFixed);
    if (!chain.error.empty() && chain.at < leader.ops.size())
      return std::nullopt;  // else its tensor's operation lacks yet
    const auto image = std::find_if(chain.along.rbegin(), chain.along.rend(),
                                    [](const Signature& passed) { return passed.kind() == SignatureKind::kImage; });
    return Frame{image->dimensions[0], image->dimensions[1]};
  }
  return std::nullopt;
}

}  // namespace spdld::config
