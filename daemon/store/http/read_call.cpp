// Reads a range of an object. Attempts go on where the best one before them ended, as long as the object is the same.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "daemon/store/http/body_check.h"
#include "daemon/store/http/call.h"

namespace spdld::store::http {
namespace {

class ReadCall final : public Call {
 public:
  ReadCall(Read& read, Dialect& dialect) : Call(read, dialect), read_(read), done_(read.offset) {
    if (read.bytes != Read::kToEnd) end_ = read.offset + read.bytes;
  }

  Status begin(Attempt& attempt, Outgoing& outgoing) override {
    // Another version ended where this one goes on, or the reply was too long: nothing would be left to ask for.
    if (attempts.empty() && end_ != kUnknown && done_ >= end_) restart(attempt);
    attempt.at = done_;
    attempt.skipped = 0;
    check_ = {};
    std::string range;
    const bool is_whole = done_ == 0 && read_.bytes == Read::kToEnd;
    if (!is_whole) {
      range = "bytes=" + std::to_string(done_) + "-";
      if (end_ != kUnknown) range += std::to_string(end_ - 1);
    }
    return dialect_.write(
        {.object = read_.object, .range = range, .if_match = done_ > read_.offset ? etag_ : std::string()}, outgoing);
  }

  Take on_head(Attempt& attempt) override {
    const Head& head = attempt.transfer->head();
    if (head.status != 200 && head.status != 206) return Take::kText;
    const Identity identity = head.identity();
    if (!is_plain(attempt, head) || !fits(attempt, identity) || !find_start(attempt, head)) return Take::kStop;
    if (end_ == kUnknown && !find_end(attempt, head)) return Take::kStop;
    seen_ = identity;
    etag_ = head.etag.starts_with("W/") ? std::string() : head.etag;
    // The checksum covers the whole object, which this attempt then reads from its first byte to its last.
    if (head.status == 200 && attempt.at == 0 && end_ == identity.size && is_alone(attempt)) check_ = BodyCheck(head);
    return Take::kBody;
  }

  bool on_body(Attempt& attempt, std::span<const uint8_t> bytes) override {
    if (says_gzip_ && attempt.at == 0 && attempt.skipped == 0 && !bytes.empty()) {
      constexpr std::array<uint8_t, 2> kGzip = {0x1f, 0x8b};
      if (bytes[0] == kGzip[0] && (bytes.size() == 1 || bytes[1] == kGzip[1]))
        return refuse_compressed(attempt, attempt.transfer->head().compression());
      says_gzip_ = false;
      is_plain_ = true;
    }
    if (attempt.skipped > 0) {
      const uint64_t passed = std::min<uint64_t>(attempt.skipped, bytes.size());
      attempt.skipped -= passed;
      bytes = bytes.subspan(passed);
    }
    if (bytes.size() > end_ - attempt.at) {
      // A server without ranges sends all that follows: the range is whole.
      const bool is_rest = attempt.transfer->head().status == 200 && read_.bytes != Read::kToEnd;
      if (!is_rest) {
        restart(attempt);
        return give_up(attempt, Trouble::kTransient, ": the reply is longer than it says.", true);
      }
      bytes = bytes.first(end_ - attempt.at);
      copy(attempt.at, bytes);
      advance(attempt, bytes.size());
      return false;
    }
    check_.take(bytes);
    copy(attempt.at, bytes);
    advance(attempt, bytes.size());
    return true;
  }

  Verdict on_end(Attempt& attempt, CURLcode code) override {
    const int status = attempt.transfer->head().status;
    const bool is_success = status == 200 || status == 206;
    if (is_success && attempt.so_far && end_ != kUnknown && done_ >= end_) {
      if (!check_.holds()) {
        restart(attempt);
        return Verdict::again(
            {Trouble::kTransient, what() + ": its bytes do not have the checksum that the store tells."});
      }
      if (read_.identity.changed == 0) read_.identity = seen_;
      return {};
    }
    if (is_success && attempt.so_far && code == CURLE_OK)
      return Verdict::again(
          {Trouble::kTransient, what() + ": the reply ends " + std::to_string(end_ - attempt.at) + " bytes early."});
    // The bytes so far may be of another version. If the store says so to an attempt that goes on where another one
    // ended, the attempts begin anew.
    if (status == 412 && done_ > read_.offset && read_.identity.changed == 0) {
      restart(attempt);
      return Verdict::again({Trouble::kTransient, what() + " was replaced while it was read."});
    }
    return without_success(attempt, code, read_.object);
  }

  bool may_be_hedged() const override { return true; }
  std::string what() const override { return dialect_.uri_of(read_.object); }

 private:
  static constexpr uint64_t kUnknown = UINT64_MAX;

  bool give_up(Attempt& attempt, Trouble trouble, const std::string& why, bool may_pass = false) {
    attempt.so_far = Error{trouble, what() + why};
    attempt.may_pass = may_pass;
    return false;
  }

  bool refuse_compressed(Attempt& attempt, std::string_view coding) {
    return give_up(attempt, Trouble::kContent,
                   " is stored compressed (Content-Encoding: " + std::string(coding) +
                       "), and is read as it is stored: store it uncompressed and without that header.");
  }

  // Whether the object's bytes are not compressed, as far as its head says. Some programs say "gzip" of objects that
  // are not: the first bytes tell, where they are read.
  bool is_plain(Attempt& attempt, const Head& head) {
    const std::string_view coding = head.compression();
    if (coding.empty() || is_plain_) return true;
    if (!head.is_unpacked_on_the_way()) {
      if (read_.takes_compressed) return true;
      const bool begins = attempt.at == 0 || (head.status == 200 && read_.offset == 0);
      says_gzip_ = begins && (coding == "gzip" || coding == "x-gzip");
      if (says_gzip_) return true;
    }
    return refuse_compressed(attempt, coding);
  }

  // Whether no other attempt reads, or will read.
  bool is_alone(const Attempt& attempt) const {
    return std::none_of(attempts.begin(), attempts.end(),
                        [&](const Attempt* other) { return other != &attempt && other->so_far; });
  }
  // Forgets what was read so far, and which version of the object it was of. Where another attempt is under way, that
  // one goes on with its version.
  void restart(const Attempt& attempt) {
    if (!is_alone(attempt)) return;
    done_ = read_.offset;
    seen_ = {};
    etag_.clear();
    if (read_.bytes == Read::kToEnd) end_ = kUnknown;
  }

  // Whether this reply's object is the wanted object, and the object of earlier replies.
  bool fits(Attempt& attempt, const Identity& identity) {
    if (read_.identity.size != 0 && identity.size != 0 && identity.size != read_.identity.size)
      return give_up(attempt, Trouble::kContent,
                     " has " + std::to_string(identity.size) + " bytes and had " + std::to_string(read_.identity.size) +
                         " when it was listed: was it replaced?");
    if (read_.identity.changed != 0 && identity.changed != 0 && identity.changed != read_.identity.changed)
      return give_up(attempt, Trouble::kContent, " is another one than when it was listed: was it replaced?");
    if (seen_ == Identity{} || identity == seen_) return true;
    restart(attempt);
    return give_up(attempt, Trouble::kTransient, " was replaced while it was read.", true);
  }

  bool find_start(Attempt& attempt, const Head& head) {
    if (head.status == 206) {
      if (head.range_start == attempt.at) return true;
      return give_up(attempt, Trouble::kTransient, ": the reply is of another range than was asked for.", true);
    }
    if (attempt.at == 0) return true;
    if (read_.offset == 0) {
      attempt.at = 0;  // from the beginning again
      return true;
    }
    // Bytes that nobody wants would cost more than they bring.
    static constexpr uint64_t kSkippedMax = 1 << 20;
    if (attempt.at > kSkippedMax)
      return give_up(attempt, Trouble::kUnsupported, ": the server gives no ranges (it answers 200 in place of 206).");
    attempt.skipped = attempt.at;
    return true;
  }

  bool find_end(Attempt& attempt, const Head& head) {
    const uint64_t size = head.identity().size;
    if (head.status == 200 ? !head.length : !head.object_bytes)
      return give_up(attempt, Trouble::kUnsupported, ": the server does not tell its size (no Content-Length).");
    if (size < read_.offset) return give_up(attempt, Trouble::kContent, " is shorter than when it was listed.");
    const uint64_t bytes = size - read_.offset;
    if (bytes > read_.bytes_max) {
      return give_up(
          attempt, Trouble::kContent,
          " has " + std::to_string(bytes) + " bytes, more than the limit of " + std::to_string(read_.bytes_max) + ".");
    }
    if (read_.room != nullptr) {
      uint8_t* const to = read_.room->room_for(read_, bytes);
      if (to == nullptr) return give_up(attempt, Trouble::kMemory, ": there is no memory for its bytes.");
      read_.pieces = {{read_.offset, bytes, to}};
    }
    end_ = size;
    return true;
  }

  void advance(Attempt& attempt, uint64_t bytes) {
    attempt.at += bytes;
    done_ = std::max(done_, attempt.at);
  }

  void copy(uint64_t at, std::span<const uint8_t> bytes) {
    while (next_ < read_.pieces.size() && at >= read_.pieces[next_].offset + read_.pieces[next_].bytes) ++next_;
    if (next_ > 0 && at < read_.pieces[next_ - 1].offset + read_.pieces[next_ - 1].bytes)
      next_ = 0;  // an earlier place
    const uint64_t end = at + bytes.size();
    for (size_t i = next_; i < read_.pieces.size() && read_.pieces[i].offset < end; ++i) {
      const Read::Piece& piece = read_.pieces[i];
      const uint64_t from = std::max(at, piece.offset), to = std::min(end, piece.offset + piece.bytes);
      if (from < to) std::memcpy(piece.to + (from - piece.offset), bytes.data() + (from - at), to - from);
    }
  }

  Read& read_;
  uint64_t done_;            // all bytes of the range before it are there
  uint64_t end_ = kUnknown;  // of the range, in the object
  Identity seen_ = {};       // of the object in the replies so far
  std::string etag_;
  BodyCheck check_;
  bool says_gzip_ = false, is_plain_ = false;  // of the object: the head says so, and its first bytes say otherwise
  size_t next_ = 0;                            // the piece that comes next, as a guess
};

}  // namespace

std::unique_ptr<Call> make_call(Read& read, Dialect& dialect) { return std::make_unique<ReadCall>(read, dialect); }

}  // namespace spdld::store::http
