// The way back from the node to one attach of one session: PREPARING, ATTACHED, then READYs and perhaps FAILED. It may
// outlive its session; then it drops all that it is given. Control thread only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/control/session.h"

namespace spdld::control {

class SessionReply final : public AttachReply,
                           public delivery::Reader,
                           public std::enable_shared_from_this<SessionReply> {
 public:
  SessionReply(std::weak_ptr<Session> session, uint32_t request) : session_(std::move(session)), request_(request) {}

  void hide(HiddenPaths paths) override { hidden_ = std::move(paths); }
  void preparing(std::string_view what, uint64_t done, uint64_t total) override;
  void attached(std::unique_ptr<Attachment> attachment, const AttachedInfo& info) override;
  void refused(const Error& error) override;
  void spec_refused(const std::string& message) override;
  delivery::Reader& reader() override { return *this; }
  void failed(const Error& error) override;
  void seek_refused(uint32_t request, const Error& error) override;
  bool client_gone() const override;
  void want_crew(std::string_view token) override;
  void on_ready(const batch::Batch& batch, uint64_t generation, uint32_t run) override;

 private:
  Error shown(const Error& error) const { return {error.trouble, hidden_.shown(error.message)}; }

  std::weak_ptr<Session> session_;
  const uint32_t request_;
  uint32_t attachment_ = 0;  // 0: not attached yet
  std::optional<Error> failed_before_;
  const batch::Layout* layout_ = nullptr;
  HiddenPaths hidden_;
  bool refused_ = false;  // what comes of the request after that is given back
};

proto::ErrorCode code_of(Trouble trouble);
proto::DType dtype_of(config::DType dtype);
proto::MemoryKind kind_of(memory::MemoryKind kind);

}  // namespace spdld::control
