#include "daemon/control/texts.h"

#include "proto/text.h"

namespace spdld::control {
namespace {

using proto::TextKind;

// Looks at the texts of one message until one of them breaks its rule.
class MessageTexts {
 public:
  explicit MessageTexts(const char* message) : message_(message) {}

  MessageTexts& look(TextKind kind, const flatbuffers::String* text) {
    if (!fault_.empty()) return *this;
    const std::string why = proto::text_fault(kind, proto::text_of(text));
    if (!why.empty()) fault_ = message_ + ": " + std::string(proto::rule_of(kind).what) + " " + why;
    return *this;
  }
  std::string fault() { return std::move(fault_); }

 private:
  const std::string message_;
  std::string fault_;
};

}  // namespace

std::string text_fault(const proto::Hello& hello) {
  MessageTexts texts("HELLO");
  texts.look(TextKind::kClient, hello.client());
  if (!hello.capabilities()) return texts.fault();
  if (hello.capabilities()->size() > proto::kCapabilitiesMax)
    return "HELLO: there are more than " + std::to_string(proto::kCapabilitiesMax) + " capabilities";
  for (const auto* capability : *hello.capabilities()) texts.look(TextKind::kCapability, capability);
  return texts.fault();
}

std::string text_fault(const proto::Attach& attach) {
  return MessageTexts("ATTACH")
      .look(TextKind::kPipeline, attach.pipeline())
      .look(TextKind::kFolder, attach.spec_folder())
      .look(TextKind::kGroup, attach.group())
      .look(TextKind::kFingerprint, attach.fingerprint())
      .look(TextKind::kKeyDigests, attach.key_digests())
      .look(TextKind::kDevice, attach.device())
      .fault();
}

std::string text_fault(const proto::Query& query) {
  return MessageTexts("QUERY").look(TextKind::kArgument, query.argument()).fault();
}

std::string text_fault(const proto::JoinCrew& join) {
  return MessageTexts("JOIN_CREW").look(TextKind::kToken, join.token()).fault();
}

std::string text_fault(const proto::CrewProgress& progress) {
  return MessageTexts("CREW_PROGRESS").look(TextKind::kReport, progress.what()).fault();
}

std::string text_fault(const proto::CrewFailed& failed) {
  return MessageTexts("CREW_FAILED").look(TextKind::kReport, failed.message()).fault();
}

std::string text_fault(const proto::WorkerEnded& ended) {
  return MessageTexts("WORKER_ENDED").look(TextKind::kReport, ended.message()).fault();
}

}  // namespace spdld::control
