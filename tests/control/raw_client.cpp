#include "tests/control/raw_client.h"

#include <poll.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <future>

namespace spdld::test {

using flatbuffers::FlatBufferBuilder;
using proto::Body;

RawClient::RawClient(const std::string& socket_path) : socket_(proto::connect_to(socket_path)) { REQUIRE(socket_); }

void RawClient::send(std::span<const uint8_t> bytes, std::vector<int> fds) {
  for (int tries = 0; tries < 1000; tries++) {
    const auto status = proto::send_message(socket_.get(), bytes, fds);
    if (status != proto::IoStatus::kWouldBlock) return;
    pollfd watched{socket_.get(), POLLOUT, 0};
    poll(&watched, 1, 10);
  }
  FAIL("the server does not read");
}

std::optional<Heard> RawClient::hear() {
  Heard heard;
  for (;;) {
    const auto status = proto::receive_message(socket_.get(), heard.raw);
    if (status == proto::IoStatus::kOk) {
      REQUIRE(proto::parse(heard.raw.bytes));
      return heard;
    }
    if (status != proto::IoStatus::kWouldBlock) return std::nullopt;
    pollfd watched{socket_.get(), POLLIN, 0};
    REQUIRE(poll(&watched, 1, 10'000) == 1);
  }
}

void RawClient::send_hello(uint16_t version_min, uint16_t version_max, std::vector<int> fds) {
  FlatBufferBuilder builder;
  const auto name = builder.CreateString("raw");
  send(proto::finish(builder, Body::Hello, proto::CreateHello(builder, version_min, version_max, name, getpid())),
       std::move(fds));
}

void RawClient::hello(int pidfd_of) {
  const UniqueFd pidfd = proto::open_pidfd(pidfd_of ? pidfd_of : getpid());
  send_hello(1, 1, {pidfd.get()});
  const auto heard = hear();
  REQUIRE(heard);
  REQUIRE(heard->message().body_as_Welcome());
}

void RawClient::send_attach(uint32_t request, const std::string& pipeline, const std::string& group, uint32_t rank) {
  FlatBufferBuilder builder;
  const auto name = builder.CreateString(pipeline), in_group = builder.CreateString(group);
  proto::AttachBuilder attach(builder);
  attach.add_request(request);
  attach.add_pipeline(name);
  attach.add_group(in_group);
  attach.add_rank(rank);
  attach.add_world_size(rank + 1);
  send(proto::finish(builder, Body::Attach, attach.Finish()));
}

void RawClient::send_spec(uint32_t request, const std::string& toml, const std::string& folder) {
  FlatBufferBuilder builder;
  const auto spec = builder.CreateString(toml), in_folder = builder.CreateString(folder);
  const auto group = builder.CreateString("g");
  proto::AttachBuilder attach(builder);
  attach.add_request(request);
  attach.add_spec(spec);
  attach.add_spec_folder(in_folder);
  attach.add_group(group);
  send(proto::finish(builder, Body::Attach, attach.Finish()));
}

void RawClient::send_release(uint32_t attachment, uint32_t slot, uint64_t generation) {
  FlatBufferBuilder builder;
  send(proto::finish(builder, Body::Release, proto::CreateRelease(builder, attachment, slot, generation, 1, 0)));
}

void RawClient::send_seek(uint32_t attachment, uint32_t run, uint64_t epoch, uint64_t step) {
  FlatBufferBuilder builder;
  const auto position = proto::CreatePosition(builder, epoch, step);
  send(proto::finish(builder, Body::Seek, proto::CreateSeek(builder, attachment, run, position)));
}

void RawClient::send_detach(uint32_t attachment) {
  FlatBufferBuilder builder;
  send(proto::finish(builder, Body::Detach, proto::CreateDetach(builder, attachment)));
}

void RawClient::send_query(uint32_t request, proto::Topic topic, const std::string& argument) {
  FlatBufferBuilder builder;
  const auto text = builder.CreateString(argument);
  send(proto::finish(builder, Body::Query, proto::CreateQuery(builder, request, topic, text)));
}

std::pair<proto::ErrorCode, std::string> RawClient::hear_error() {
  const auto heard = hear();
  REQUIRE(heard);
  const auto* error = heard->message().body_as_ErrorReply();
  REQUIRE(error);
  return {error->code(), std::string(proto::text_of(error->message()))};
}

Served::Served(uint32_t sessions_max) {
  server = std::make_unique<control::Server>(loop, proto::listen_at(path(), 0600),
                                             control::UserLimits{.sessions_max = sessions_max}, service,
                                             [this] { emptied++; });
  thread_ = std::thread([this] { loop.run(); });
}

Served::~Served() {
  on_control([this] { server->stop("the test ends"); });
  wait_for_sessions(0);
  loop.stop();
  thread_.join();
}

void Served::on_control(const std::function<void()>& what) {
  std::promise<void> done;
  loop.post([&] {
    what();
    done.set_value();
  });
  done.get_future().wait();
}

size_t Served::sessions() {
  size_t count = 0;
  on_control([&] { count = server->sessions().size(); });
  return count;
}

void Served::wait_for_sessions(size_t count) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (sessions() != count) {
    if (std::chrono::steady_clock::now() > until) FAIL("sessions do not become " << count);
    std::this_thread::yield();
  }
}

}  // namespace spdld::test
