#include "client/src/spec_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "proto/seqpacket.h"
#include "proto/text.h"

namespace spdld::client {

namespace {

constexpr size_t kPathBytesMax = 4096;
constexpr std::string_view kSuffix = ".toml";

CallOutcome read_file(const std::string& path, std::string& text) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status = {};
  if (!file || ::fstat(file.get(), &status) != 0) {
    const spdld_result result = errno == EACCES ? SPDLD_DENIED : SPDLD_NOT_FOUND;
    return failure(result, "cannot open the pipeline file " + path + ": " + text_of_errno(errno));
  }
  if (!S_ISREG(status.st_mode)) return failure(SPDLD_INVALID, path + " is not a regular file");
  if (status.st_size > static_cast<off_t>(proto::kTextBytesMax)) {
    return failure(SPDLD_INVALID, "the pipeline file " + path + " is larger than 16 MiB");
  }
  text.resize(static_cast<size_t>(status.st_size));
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::pread(file.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failure(SPDLD_NOT_FOUND, "cannot read " + path + ": " + text_of_errno(errno));
    if (count == 0) break;  // it has become shorter
    done += static_cast<size_t>(count);
  }
  text.resize(done);
  return {};
}

CallOutcome make_absolute(const std::string& path, std::string& absolute) {
  std::error_code error;
  absolute = std::filesystem::absolute(path, error).lexically_normal().string();
  if (error) return failure(SPDLD_INVALID, "the current directory is gone, so that " + path + " means nothing");
  return {};
}

// A spec may lie in a folder whose path can't be sent, as long as its own uris are absolute: the daemon refuses the
// others. `is_told`: the caller named the folder.
CallOutcome set_folder(const std::string& path, bool is_told, std::string& folder) {
  const CallOutcome outcome = make_absolute(path, folder);
  if (!outcome.ok()) return outcome;
  const std::string fault = proto::text_fault(proto::TextKind::kFolder, folder);
  if (fault.empty()) return {};
  if (is_told) return failure(SPDLD_INVALID, "the spec's folder " + proto::shown(folder) + " " + fault);
  folder.clear();
  return {};
}

}  // namespace

CallOutcome read_pipeline(const spdld_attach_options& options, AttachRequest& request) {
  const std::string_view pipeline = options.pipeline ? options.pipeline : "";
  if (pipeline.empty() == (options.spec == nullptr)) {
    return failure(SPDLD_INVALID, "attach wants either a pipeline (a name, or a path ending in .toml) or a spec");
  }
  if (pipeline.size() > kPathBytesMax) return failure(SPDLD_INVALID, "the name of the pipeline is too long");
  if (options.spec) {
    request.spec = options.spec;
    request.spec_is_json = options.spec_is_json != 0;
    if (request.spec.empty()) return failure(SPDLD_INVALID, "the spec is empty");
    if (request.spec.size() > proto::kTextBytesMax) return failure(SPDLD_INVALID, "the spec is larger than 16 MiB");
    const bool is_told = options.spec_folder && *options.spec_folder;
    return set_folder(is_told ? options.spec_folder : ".", is_told, request.spec_folder);
  }
  const bool is_file = pipeline.size() > kSuffix.size() && pipeline.substr(pipeline.size() - kSuffix.size()) == kSuffix;
  if (!is_file) {
    request.pipeline = pipeline;
    const std::string fault = proto::text_fault(proto::TextKind::kPipeline, pipeline);
    if (fault.empty()) return {};
    return failure(SPDLD_INVALID, "there is no pipeline \"" + proto::shown(pipeline) + "\": the name of a pipeline " +
                                      fault + ", and a path to a pipeline's file ends in .toml");
  }
  const std::string path(pipeline);
  const CallOutcome outcome = read_file(path, request.spec);
  if (!outcome.ok()) return outcome;
  if (request.spec.empty()) return failure(SPDLD_INVALID, "the pipeline file " + path + " is empty");
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return set_folder(folder.empty() ? "." : folder, false, request.spec_folder);
}

}  // namespace spdld::client
