#include "client/src/gpu/gpu_fault.h"

#include <sys/stat.h>
#include <unistd.h>

namespace spdld::client {

namespace {

using cuda::Cause;

// False where either is not known.
bool is_another_namespace(const char* own, uint64_t theirs) {
  struct stat status = {};
  return theirs != 0 && ::stat(own, &status) == 0 && status.st_ino != theirs;
}

Cause cause_by_evidence(const cuda::Fault& fault, const ImportEvidence& evidence) {
  // These need no other explanation: the number, or the driver's table, says it.
  if (fault.cause() == Cause::kOutOfMemory || fault.cause() == Cause::kDriverTooOld ||
      fault.cause() == Cause::kExclusiveProcess || fault.cause() == Cause::kContextLost ||
      fault.cause() == Cause::kForked) {
    return fault.cause();
  }
  if (evidence.daemon_pid == ::getpid() || fault.code() == cuda::abi::kInvalidContext) return Cause::kSameProcess;
  if (evidence.is_slice) return Cause::kMig;
  if (!evidence.by_handle) return fault.cause();
  if (is_another_namespace("/proc/self/ns/ipc", evidence.ipc_namespace) ||
      is_another_namespace("/proc/self/ns/pid", evidence.pid_namespace)) {
    return Cause::kOtherNamespace;
  }
  if (evidence.daemon_uid != ::geteuid()) return Cause::kOtherUser;
  const bool known = evidence.ipc_namespace != 0 && evidence.pid_namespace != 0;
  return fault.cause() == Cause::kOtherNamespace && known ? Cause::kFailed : fault.cause();  // there it was a guess
}

std::string sentence_of(Cause cause, const ImportEvidence& evidence) {
  switch (cause) {
    case Cause::kSameProcess:
      return "this process made the GPU memory itself, and CUDA lets only other processes open it";
    case Cause::kMig:
      return "this process's GPU is a slice (MIG), whose memory other processes cannot open";
    case Cause::kOtherNamespace:
      return "the daemon lives in another IPC or PID namespace, so that its memory handles mean nothing here";
    case Cause::kOtherUser:
      return "the daemon is user " + std::to_string(evidence.daemon_uid) + " and this process is user " +
             std::to_string(::geteuid()) + ", so that its memory handles cannot be opened";
    default:
      return "the daemon's GPU memory cannot be opened";
  }
}

}  // namespace

CallOutcome outcome_of(const cuda::Fault& fault) {
  const spdld_result result = fault.cause() == Cause::kOutOfMemory ? SPDLD_LIMIT
                              : fault.cause() == Cause::kForked    ? SPDLD_FORKED
                                                                   : SPDLD_UNSUPPORTED;
  return failure(result, fault.what());
}

CallOutcome work_failure(const cuda::Driver& driver, cuda::abi::Result code, const std::string& what) {
  const cuda::Fault fault(cuda::cause_of(code), what + " (" + driver.describe(code) + ")", code);
  return failure(SPDLD_FAILED, fault.what());
}

CallOutcome explain_import(const cuda::Driver& driver, const cuda::Fault& fault, const ImportEvidence& evidence) {
  const Cause cause = cause_by_evidence(fault, evidence);
  CallOutcome outcome = outcome_of(fault);
  if (cause != fault.cause()) {
    std::string sentence = sentence_of(cause, evidence);
    if (fault.code() != cuda::abi::kSuccess) sentence += " (" + driver.describe(fault.code()) + ")";
    outcome = outcome_of(cuda::Fault(cause, sentence, fault.code()));
  }
  if (cause == Cause::kFailed || cause == Cause::kUnsupported) {  // the cause alone tells nothing to do
    outcome.text += evidence.by_handle ? "; try transport = \"fd\", or device = \"pinned\" or \"cpu\""
                                       : "; try transport = \"handle\", or device = \"pinned\" or \"cpu\"";
  }
  return outcome;
}

}  // namespace spdld::client
