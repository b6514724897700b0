// Gets answers from the control thread for the server's thread, and spares the control thread: requests for the same
// share one answer, which is kept for a while, and the number of questions in a second is bounded. Server's thread.
//
// Requests that differ in nothing that their route knows are the same. Requests without parameters have a bound of
// their own, which kept answers leave free: so nobody's questions about made-up names take the room of a scrape.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/system/allowance.h"
#include "daemon/http/answer.h"

namespace spdld::http {

class Desk : public std::enable_shared_from_this<Desk> {
 public:
  using AnswerPtr = std::shared_ptr<const Answer>;
  using Reply = std::function<void(const AnswerPtr&)>;
  using Task = std::function<void()>;
  using Post = std::function<void(Task)>;  // of a thread: runs the task there, later

  static constexpr double kQuestionsPerS = 20, kQuestionsBurst = 40;
  static constexpr size_t kUnderWayMax = 64;      // questions that the control thread has not heard
  static constexpr size_t kUnderWayReserve = 16;  // of the questions under way, for requests without parameters
  static constexpr size_t kKeptMax = 16;          // answers
  static constexpr uint64_t kPatienceNs = 10ull * 1'000'000'000;  // then the same is asked anew
  static constexpr size_t kBodyBytesMax = size_t{8} << 20;

  // `clock` gives ns, never back.
  Desk(Post to_control, Post to_server, std::function<uint64_t()> clock);

  // `reply` is called once, at once or later. The route outlives the desk.
  void ask(const Route& route, const Request& asked_for, Reply reply);

 private:
  struct Kept {
    AnswerPtr answer;
    uint64_t until_ns;
  };
  struct Asked {
    std::vector<Reply> replies;
    uint64_t since_ns;
  };
  void send(const Route& route, const Request& request, const std::string& key);
  void take(const std::string& key, uint64_t kept_ns, const AnswerPtr& answer);
  void keep(const std::string& key, uint64_t until_ns, const AnswerPtr& answer);

  Post to_control_, to_server_;
  std::function<uint64_t()> clock_;
  Allowance questions_{kQuestionsPerS, kQuestionsBurst};
  Allowance plain_questions_{kQuestionsPerS, kQuestionsBurst};  // without parameters
  const std::shared_ptr<std::atomic<size_t>> under_way_ = std::make_shared<std::atomic<size_t>>(0);
  std::map<std::string, Kept> kept_;
  std::map<std::string, Asked> asked_;
};

}  // namespace spdld::http
