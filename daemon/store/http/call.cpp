#include "daemon/store/http/call.h"

namespace spdld::store::http {
namespace {

class StatCall final : public Call {
 public:
  StatCall(Stat& stat, Dialect& dialect) : Call(stat, dialect), stat_(stat) {}

  Status begin(Attempt&, Outgoing& outgoing) override {
    const std::string range = asks_why_ ? "bytes=0-0" : "";
    return dialect_.write({.object = stat_.object, .range = range, .if_match = {}, .is_head = !asks_why_}, outgoing);
  }
  Take on_head(Attempt& attempt) override {
    const int status = attempt.transfer->head().status;
    if (status != 200 && status != 206) return Take::kText;
    return asks_why_ ? Take::kStop : Take::kBody;  // a server without ranges would send all bytes
  }
  bool on_body(Attempt&, std::span<const uint8_t>) override { return true; }
  Verdict on_end(Attempt& attempt, CURLcode code) override {
    const Head& head = attempt.transfer->head();
    const bool is_told = asks_why_ ? head.status == 200 || head.status == 206 : head.status == 200 && code == CURLE_OK;
    if (!is_told) return refused(attempt, code, head.status);
    if (head.status == 206 ? !head.object_bytes : !head.length)
      return Verdict::failed({Trouble::kUnsupported, what() + ": the server does not tell its size."});
    stat_.identity = head.identity();
    return {};
  }
  std::string what() const override { return dialect_.uri_of(stat_.object); }

 private:
  Verdict refused(Attempt& attempt, CURLcode code, int status) {
    Verdict verdict = without_success(attempt, code, stat_.object);
    if (status == 404 || status == 410) verdict.error.trouble = Trouble::kNotFound;
    if (status == 403 && verdict.error.trouble == Trouble::kContent) verdict.error.trouble = Trouble::kDenied;
    // The reply to HEAD has no body. Whether the credentials have expired is said to a GET alone.
    const bool may_say_more = !asks_why_ && code == CURLE_OK && (status == 400 || status == 403 || status == 405);
    if (may_say_more) verdict.next = Verdict::Next::kAgain;
    asks_why_ = may_say_more;
    return verdict;
  }

  Stat& stat_;
  bool asks_why_ = false;  // by GET, for the first byte
};

class ListCall final : public Call {
 public:
  static constexpr size_t kPageBytesMax = 16 << 20;

  ListCall(List& list, Dialect& dialect) : Call(list, dialect), list_(list) {}

  Status begin(Attempt&, Outgoing& outgoing) override {
    page_.clear();
    return dialect_.write_list(list_, outgoing);
  }
  Take on_head(Attempt& attempt) override { return attempt.transfer->head().status == 200 ? Take::kBody : Take::kText; }
  bool on_body(Attempt& attempt, std::span<const uint8_t> bytes) override {
    if (page_.size() + bytes.size() > kPageBytesMax) {
      attempt.so_far = Error{Trouble::kContent, what() + ": a page of its list has more than 16 MiB."};
      attempt.may_pass = false;
      return false;
    }
    page_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return true;
  }
  Verdict on_end(Attempt& attempt, CURLcode code) override {
    if (code != CURLE_OK || attempt.transfer->head().status != 200) return without_success(attempt, code, {});
    list_.entries.clear();
    list_.folders.clear();
    if (Status read = dialect_.read_list(page_, list_); !read) return Verdict::again(std::move(read.error()));
    return {};
  }
  std::string what() const override { return "the list of " + dialect_.uri_of(list_.prefix); }

 private:
  List& list_;
  std::string page_;
};

}  // namespace

Take Attempt::on_head(Transfer&) { return call->on_head(*this); }
bool Attempt::on_body(Transfer&, std::span<const uint8_t> bytes) { return call->on_body(*this, bytes); }

Verdict Call::without_success(Attempt& attempt, CURLcode code, std::string_view object) const {
  const Transfer& transfer = *attempt.transfer;
  if (!attempt.so_far) {
    Error& error = attempt.so_far.error();
    return attempt.may_pass ? Verdict::again(std::move(error)) : Verdict::failed(std::move(error));
  }
  const bool is_success = transfer.head().status >= 200 && transfer.head().status < 300;
  // A name may have other addresses, which answered; a redirect led to the refused one.
  if (transfer.head().status < 400 && transfer.was_refused_address())
    return Verdict::failed({Trouble::kDenied, what() + ": " + transfer.words(code) + "."});
  if (transfer.head().status == 0 || is_success)
    return Verdict::again({Trouble::kTransient, what() + ": " + transfer.words(code) + "."});
  Refusal refusal = dialect_.refusal(transfer.head(), transfer.text(), object);
  if (!refusal.may_pass) return Verdict::failed(std::move(refusal.error));
  return {Verdict::Next::kAgain, std::move(refusal.error), transfer.head().retry_after};
}

std::unique_ptr<Call> make_call(Stat& stat, Dialect& dialect) { return std::make_unique<StatCall>(stat, dialect); }
std::unique_ptr<Call> make_call(List& list, Dialect& dialect) { return std::make_unique<ListCall>(list, dialect); }

}  // namespace spdld::store::http
