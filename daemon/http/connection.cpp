#include "daemon/http/connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <utility>

namespace spdld::http {

namespace beast = boost::beast;
namespace asio = boost::asio;

Connection::Connection(Socket socket, House& house)
    : socket_(std::move(socket)),
      house_(house),
      deadline_(socket_.get_executor()),
      // Room for a header, and for a part of the next one.
      buffer_(2 * size_t{house.limits().header_bytes_max}),
      since_(std::chrono::steady_clock::now()) {}

void Connection::close() {
  if (!std::exchange(is_open_, false)) return;
  deadline_.cancel();
  error_code ignored;
  socket_.shutdown(Socket::shutdown_both, ignored);
  socket_.close(ignored);
  house_.ended(*this);
}

std::optional<std::chrono::steady_clock::time_point> Connection::waits_since() const {
  return client_waits_ ? std::nullopt : std::optional(since_);
}

void Connection::set_deadline(std::chrono::milliseconds limit) {
  deadline_.expires_after(limit);
  deadline_.async_wait([weak = weak_from_this()](error_code error) {
    const auto held = weak.lock();
    if (error || !held) return;
    // A wait that was already over when the next one began comes with no error.
    if (held->deadline_.expiry() <= std::chrono::steady_clock::now()) held->close();
  });
}

// Waits for the first byte at most for so long. The header that begins with it has a limit of its own.
void Connection::read(std::chrono::milliseconds limit) {
  client_waits_ = false;
  since_ = std::chrono::steady_clock::now();
  if (buffer_.size() > 0) return read_header();
  set_deadline(limit);
  socket_.async_wait(Socket::wait_read, [self = shared_from_this()](error_code error) {
    if (error) return self->close();
    self->read_header();
  });
}

void Connection::read_header() {
  if (!is_open_) return;
  set_deadline(house_.limits().header_max);
  parser_.emplace();
  parser_->header_limit(house_.limits().header_bytes_max);
  parser_->body_limit(0);
  beast::http::async_read_header(socket_, buffer_, *parser_,
                                 [self = shared_from_this()](error_code error, size_t) { self->take(error); });
}

void Connection::take(error_code error) {
  using Verb = beast::http::verb;
  if (!is_open_) return;
  keep_alive_ = is_head_ = false;
  if (error == beast::http::error::header_limit || error == beast::http::error::buffer_overflow)
    return refuse(431, "the header is longer than this server reads");
  if (error == beast::http::error::body_limit) return refuse(413, "a request has no body here");
  if (error && error.category() == beast::http::make_error_code(beast::http::error::bad_method).category() &&
      error != beast::http::error::end_of_stream && error != beast::http::error::partial_message)
    return refuse(400, "this is no HTTP request");
  if (error) return close();  // the client is gone
  const Header& header = parser_->get();
  is_head_ = header.method() == Verb::head;
  if (header.method() != Verb::get && !is_head_) return refuse(405, "this server knows GET and HEAD alone");
  if (parser_->chunked() || parser_->content_length().value_or(0) > 0) return refuse(413, "a request has no body here");
  keep_alive_ = header.keep_alive();
  set_deadline(house_.limits().answer_max);
  client_waits_ = true;
  house_.answer(header, [weak = weak_from_this(), turn = ++turn_](const Desk::AnswerPtr& answer) {
    const auto held = weak.lock();
    if (held && held->is_open_ && held->turn_ == turn) held->write(answer);
  });
}

void Connection::refuse(unsigned status, const char* why) {
  write(std::make_shared<const Answer>(sentence(status, why)));
}

template <typename Message>
void Connection::send(Message& message, const Answer& answer) {
  using Field = beast::http::field;
  message.version(11);
  message.result(answer.status);
  message.keep_alive(keep_alive_);
  message.set(Field::content_type, beast::string_view(answer.type.data(), answer.type.size()));
  message.set(Field::cache_control, "no-store");
  message.set("X-Content-Type-Options", "nosniff");
  message.set("Content-Security-Policy", beast::string_view(answer.policy.data(), answer.policy.size()));
  message.set("Cross-Origin-Resource-Policy", "same-origin");
  message.set("Referrer-Policy", "no-referrer");
  if (answer.status == 401) message.set(Field::www_authenticate, "Bearer realm=\"spdld\"");
  if (answer.status == 405) message.set(Field::allow, "GET, HEAD");
  if (answer.status == 503) message.set(Field::retry_after, "1");
  message.content_length(answer.body.size());
  beast::http::async_write(socket_, message,
                           [self = shared_from_this()](error_code error, size_t) { self->written(error); });
}

void Connection::write(const Desk::AnswerPtr& answer) {
  client_waits_ = false;
  since_ = std::chrono::steady_clock::now();
  set_deadline(house_.limits().write_max);
  answer_ = answer;
  if (is_head_) return send(head_.emplace(), *answer);
  response_.emplace();
  response_->body() = beast::span<const char>(answer_->body.data(), answer_->body.size());
  send(*response_, *answer);
}

void Connection::written(error_code error) {
  if (!is_open_) return;
  if (error || !keep_alive_) return close();
  answer_.reset();
  read(house_.limits().idle_max);
}

}  // namespace spdld::http
