#include "daemon/sampler/pushed.h"

#include <algorithm>
#include <string>
#include <utility>

#include "daemon/base/random.h"

namespace spdld::sampler {
namespace {

std::string text_of(Position at) { return "epoch " + std::to_string(at.epoch) + ", step " + std::to_string(at.step); }

}  // namespace

Status Pushed::push(const PushedSteps& steps) {
  Status sound = check(steps);
  if (sound) sound = check_room(steps);
  if (!sound) return sound;
  auto id = steps.ids.begin();
  for (const uint32_t size : steps.sizes) {
    known_.push_back({{id, id + size}, false});
    id += size;
  }
  ids_ += steps.ids.size();
  tail_.step += steps.sizes.size();
  if (steps.last) end_epoch();
  return Done{};
}

Status Pushed::check(const PushedSteps& steps) const {
  const auto refuse = [](const std::string& what) { return Error{Trouble::kUsage, "PUSH " + what}; };
  if (steps.first != tail_)
    return refuse("begins at " + text_of(steps.first) + ", where " + text_of(tail_) + " comes next");
  if (of_.epochs != 0 && tail_.epoch >= of_.epochs)
    return refuse("goes on in epoch " + std::to_string(tail_.epoch) + ", and the pipeline has " +
                  std::to_string(of_.epochs) + " (order.epochs)");
  if (steps.sizes.empty() && !steps.last) return refuse("at " + text_of(tail_) + " has no step");
  if (steps.sizes.empty() && tail_.step == 0)
    return refuse("ends epoch " + std::to_string(tail_.epoch) + " before it has a step");
  uint64_t sum = 0, step = tail_.step;
  for (const uint32_t size : steps.sizes) {
    if (size == 0 || size > of_.batch_size)
      return refuse("has " + std::to_string(size) + " samples for " + text_of({tail_.epoch, step}) +
                    ": a step has 1 to " + std::to_string(of_.batch_size));
    sum += size;
    ++step;
  }
  if (sum != steps.ids.size())
    return refuse("has " + std::to_string(steps.ids.size()) + " ids for steps of " + std::to_string(sum));
  const auto wrong =
      std::find_if(steps.ids.begin(), steps.ids.end(), [this](uint64_t id) { return id >= of_.samples; });
  if (wrong != steps.ids.end())
    return refuse("names sample " + std::to_string(*wrong) + ", and the data set has " + std::to_string(of_.samples) +
                  ", counted from 0");
  return Done{};
}

Status Pushed::check_room(const PushedSteps& steps) const {
  if (known_.size() + steps.sizes.size() <= kStepsMax && ids_ + steps.ids.size() <= kIdsMax) return Done{};
  return Error{Trouble::kLimit, "PUSH is too far ahead: at most " + std::to_string(kStepsMax) + " steps of " +
                                    std::to_string(kIdsMax) + " samples may be known and not begun"};
}

void Pushed::end_epoch() {
  if (known_.empty())  // its last step was taken before it was known to be that
    next_ = {next_.epoch + 1, 0};
  else
    known_.back().last = true;
  tail_ = {tail_.epoch + 1, 0};
}

Pushed::Step Pushed::take() {
  Known& known = known_.front();
  Step step{next_, std::move(known.ids)};
  ids_ -= step.ids.size();
  next_ = known.last ? Position{next_.epoch + 1, 0} : Position{next_.epoch, next_.step + 1};
  known_.pop_front();
  return step;
}

void Pushed::go_to(Position to) {
  next_ = tail_ = to;
  known_.clear();
  ids_ = 0;
}

uint64_t Pushed::pass(uint64_t epoch, uint64_t place) const {
  return Draw(of_.seed, epoch, place, draw_key("pass")).bits64();
}

uint64_t Pushed::substitute(uint64_t epoch, uint64_t place, uint64_t bad, uint32_t attempt) const {
  if (of_.samples < 2) return bad;
  return Draw(of_.seed, epoch, place, draw_key("substitute") + attempt).below_but(of_.samples, bad);
}

}  // namespace spdld::sampler
