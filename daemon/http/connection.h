// One client's connection: reads a request, lets the house check and answer the request, writes the answer, and again.
// Boost.Beast is included here, and by server.cpp alone. Server's thread.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/span_body.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "daemon/http/desk.h"
#include "daemon/http/server.h"

namespace spdld::http {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;
  using Header = boost::beast::http::request<boost::beast::http::empty_body>;

  // The server behind the connection. It outlives all calls.
  class House {
   public:
    virtual ~House() = default;
    virtual const Limits& limits() const = 0;
    // Calls `reply` once, at once or later.
    virtual void answer(const Header& header, Desk::Reply reply) = 0;
    virtual void ended(Connection& connection) = 0;
  };

  Connection(Socket socket, House& house);

  void start() { read(house_.limits().header_max); }
  void close();
  // When it began to wait for its client; nothing: the client waits.
  std::optional<std::chrono::steady_clock::time_point> waits_since() const;

 private:
  using error_code = boost::system::error_code;

  void read(std::chrono::milliseconds limit);
  void read_header();
  void take(error_code error);
  void refuse(unsigned status, const char* why);
  void write(const Desk::AnswerPtr& answer);
  void written(error_code error);
  template <typename Message>
  void send(Message& message, const Answer& answer);
  void set_deadline(std::chrono::milliseconds limit);

  Socket socket_;
  House& house_;
  boost::asio::steady_timer deadline_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::empty_body>> parser_;
  std::optional<boost::beast::http::response<boost::beast::http::span_body<const char>>> response_;
  std::optional<boost::beast::http::response<boost::beast::http::empty_body>> head_;  // in its place, for HEAD
  Desk::AnswerPtr answer_;                                                            // that is being written
  bool is_head_ = false, keep_alive_ = false, is_open_ = true, client_waits_ = false;
  uint64_t turn_ = 0;  // of the requests: a late answer to an earlier one is dropped
  std::chrono::steady_clock::time_point since_;
};

}  // namespace spdld::http
