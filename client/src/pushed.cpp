#include "client/src/pushed.h"

#include <algorithm>
#include <string>

namespace spdld::client {

namespace {

// So many fit into a message beside the sizes of as many steps as may be pushed ahead.
constexpr size_t kMessageIdsMax = 8000;
constexpr size_t kMessageStepsMax = 256;

}  // namespace

void Pushed::begin(const Terms& terms, Position position) {
  terms_ = terms;
  tail_ = position;
  steps_.clear();
  ids_ = 0;
}

CallOutcome Pushed::push(Position position, std::span<const uint64_t> ids, bool last) {
  CallOutcome sound = check(position, ids, last);
  if (!sound.ok()) return sound;
  if (!ids.empty()) {
    steps_.push_back({tail_, {ids.begin(), ids.end()}, last});
    ids_ += ids.size();
  } else if (!steps_.empty()) {
    steps_.back().last = true;
  }
  tail_ = last ? Position{tail_.epoch + 1, 0} : Position{tail_.epoch, tail_.step + 1};
  return {};
}

CallOutcome Pushed::check(Position position, std::span<const uint64_t> ids, bool last) const {
  const auto refuse = [&](const std::string& what) { return failure(SPDLD_INVALID, what); };
  if (!terms_.is_pushed()) {
    return refuse("pipeline " + terms_.pipeline +
                  " has its own order: only one with order.shuffle = \"client\" takes pushed samples");
  }
  if (!(position == tail_)) {
    return refuse("samples are pushed for " + text_of(position) + ", where " + text_of(tail_) +
                  " comes next: seek there first, or push it");
  }
  if (terms_.epochs != 0 && position.epoch >= terms_.epochs) {
    return refuse("samples are pushed for " + text_of(position) + ", and the pipeline has " +
                  std::to_string(terms_.epochs) + " epochs: raise order.epochs, or leave it out");
  }
  if (ids.empty() && (!last || position.step == 0)) {
    return refuse(text_of(position) + " has no samples: a step has 1 to " + std::to_string(terms_.batch_size) +
                  (last ? ", and an epoch at least one step" : ""));
  }
  if (ids.size() > terms_.batch_size) {
    return refuse(text_of(position) + " has " + std::to_string(ids.size()) +
                  " samples, and a batch of this rank at most " + std::to_string(terms_.batch_size));
  }
  const auto wrong = std::find_if(ids.begin(), ids.end(), [this](uint64_t id) { return id >= terms_.samples; });
  if (wrong != ids.end()) {
    return refuse(text_of(position) + " names sample " + std::to_string(*wrong) + ", and the data set has " +
                  std::to_string(terms_.samples) + ", counted from 0");
  }
  if (ids.empty() || (steps_.size() < terms_.push_steps_max && ids_ + ids.size() <= terms_.push_ids_max)) return {};
  return failure(SPDLD_LIMIT, std::to_string(steps_.size()) + " steps of " + std::to_string(ids_) +
                                  " samples are pushed ahead, and " + std::to_string(terms_.push_steps_max) + " of " +
                                  std::to_string(terms_.push_ids_max) + " may be: take batches first");
}

bool Pushed::pop() {
  const bool last = steps_.front().last;
  ids_ -= steps_.front().ids.size();
  steps_.pop_front();
  return last;
}

CallOutcome Pushed::nothing_to_take(Position position) {
  return failure(SPDLD_INVALID, "no samples were pushed for " + text_of(position) +
                                    ": push them, or that the epoch ends there, before its batch is taken");
}

std::span<const uint8_t> Pushed::message(flatbuffers::FlatBufferBuilder& builder, uint32_t attachment, uint32_t request,
                                         size_t& first) const {
  const Position position = steps_[first].position;
  std::vector<uint32_t> sizes;
  std::vector<uint64_t> ids;
  bool last = false;
  for (; first < steps_.size() && !last; ++first) {
    const Step& step = steps_[first];
    if (sizes.size() == kMessageStepsMax || (!sizes.empty() && ids.size() + step.ids.size() > kMessageIdsMax)) break;
    sizes.push_back(static_cast<uint32_t>(step.ids.size()));
    ids.insert(ids.end(), step.ids.begin(), step.ids.end());
    last = step.last;
  }
  const auto at = proto::CreatePosition(builder, position.epoch, position.step);
  const auto sizes_there = builder.CreateVector(sizes);
  const auto ids_there = builder.CreateVector(ids);
  const auto body = proto::CreatePush(builder, attachment, request, at, sizes_there, ids_there, last);
  return proto::finish(builder, proto::Body::Push, body);
}

std::span<const uint8_t> Pushed::end_message(flatbuffers::FlatBufferBuilder& builder, uint32_t attachment,
                                             uint32_t request, Position position) {
  const auto at = proto::CreatePosition(builder, position.epoch, position.step);
  const auto body = proto::CreatePush(builder, attachment, request, at, 0, 0, true);
  return proto::finish(builder, proto::Body::Push, body);
}

}  // namespace spdld::client
