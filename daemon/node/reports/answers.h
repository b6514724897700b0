// Answers to queries that are given again for a moment, to a user who asks the same again and again. Control thread
// only.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace spdld::node {

class Answers {
 public:
  static constexpr uint64_t kKeptNs = 100'000'000;
  static constexpr size_t kEntriesMax = 64, kAnswerBytesMax = size_t{256} << 10;

  struct Question {
    uid_t uid = 0;
    std::string_view topic, argument;
  };
  // nullptr: there is none, or it is too old.
  const std::string* find(const Question& question, uint64_t now_ns) {
    while (!entries_.empty() && now_ns - entries_.front().made_ns > kKeptNs) entries_.pop_front();
    for (const Entry& entry : entries_)
      if (entry.uid == question.uid && entry.topic == question.topic && entry.argument == question.argument)
        return &entry.answer;
    return nullptr;
  }
  void keep(const Question& question, const std::string& answer, uint64_t now_ns) {
    if (answer.size() > kAnswerBytesMax || question.argument.size() > kArgumentBytesMax) return;
    if (entries_.size() >= kEntriesMax) entries_.pop_front();
    entries_.push_back({question.uid, std::string(question.topic), std::string(question.argument), answer, now_ns});
  }

 private:
  static constexpr size_t kArgumentBytesMax = 1024;
  struct Entry {
    uid_t uid = 0;
    std::string topic, argument, answer;
    uint64_t made_ns = 0;
  };
  std::deque<Entry> entries_;  // oldest first
};

}  // namespace spdld::node
