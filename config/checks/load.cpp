#include "config/checks/load.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

#include "config/checks/check.h"
#include "config/checks/document.h"

namespace spdld::config {
namespace {

struct Text {
  std::string text;
  std::string error;  // empty: the text is whole
};

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using OpenFile = std::unique_ptr<std::FILE, Close>;

// A named pipe may have taken the file's place: opening does not wait for its writer.
OpenFile open_without_waiting(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  OpenFile file(fd < 0 ? nullptr : ::fdopen(fd, "rb"));
  if (fd >= 0 && !file) ::close(fd);
  return file;
}

Text read_text(const std::filesystem::path& file) {
  const auto unreadable = [] { return Text{"", std::string("can't be read: ") + std::strerror(errno)}; };
  const OpenFile stream = open_without_waiting(file);
  struct stat status;
  if (!stream || ::fstat(::fileno(stream.get()), &status) != 0) return unreadable();
  if (!S_ISREG(status.st_mode)) return {"", "can't be read: it is not a regular file"};
  std::string text(kTextBytesMax + 1, '\0');  // one more than is allowed tells that there is more
  text.resize(std::fread(text.data(), 1, text.size(), stream.get()));
  if (std::ferror(stream.get())) return unreadable();
  return {std::move(text), ""};
}

template <typename T>
Loaded<T> refused(std::vector<Complaint> complaints) {
  return {std::nullopt, std::move(complaints)};
}

template <typename T>
Loaded<T> unreadable(const std::filesystem::path& file, std::string error) {
  Loaded<T> loaded;
  loaded.complaints.push_back({{file.string(), 0}, "", std::move(error)});
  return loaded;
}

Loaded<PipelineSpec> checked_pipeline(Document document, const std::string& origin,
                                      const std::filesystem::path& folder) {
  if (!document.root) return refused<PipelineSpec>(std::move(document.complaints));
  return check_pipeline(*document.root, origin, folder);
}

}  // namespace

std::string Complaint::sentence() const {
  std::string whole = where.file;
  if (where.line > 0) whole.append(":").append(std::to_string(where.line));
  if (!key.empty()) whole.append(": ").append(key);
  return whole.append(": ").append(text);
}

Loaded<PipelineSpec> load_pipeline_file(const std::filesystem::path& file) {
  const std::string origin = file.string();
  auto [text, error] = read_text(file);
  if (!error.empty()) return unreadable<PipelineSpec>(file, error);
  std::error_code no_cwd;
  const auto whole = std::filesystem::absolute(file, no_cwd);
  const auto folder = no_cwd ? std::filesystem::path() : whole.parent_path();
  return file.extension() == ".json" ? load_pipeline_json(text, origin, folder)
                                     : load_pipeline_toml(text, origin, folder);
}

Loaded<PipelineSpec> load_pipeline_toml(std::string_view text, const std::string& origin,
                                        const std::filesystem::path& folder) {
  return checked_pipeline(read_toml(text, origin), origin, folder);
}

Loaded<PipelineSpec> load_pipeline_json(std::string_view text, const std::string& origin,
                                        const std::filesystem::path& folder) {
  return checked_pipeline(read_json(text, origin), origin, folder);
}

Loaded<DaemonSettings> load_daemon_file(const std::filesystem::path& file) {
  auto [text, error] = read_text(file);
  if (!error.empty()) return unreadable<DaemonSettings>(file, error);
  return load_daemon_toml(text, file.string());
}

Loaded<DaemonSettings> load_daemon_toml(std::string_view text, const std::string& origin) {
  auto document = read_toml(text, origin);
  if (!document.root) return refused<DaemonSettings>(std::move(document.complaints));
  return check_daemon(*document.root, origin);
}

FileKind guess_kind(std::string_view toml_text) {
  const auto document = read_toml(toml_text, "");
  if (document.root) {
    const bool pipeline = document.root->find("source") != nullptr || document.root->find("sources") != nullptr ||
                          document.root->find("output") != nullptr;
    return pipeline ? FileKind::kPipeline : FileKind::kDaemon;
  }
  // It does not parse; its headers still tell.
  while (!toml_text.empty()) {
    const std::string_view line = toml_text.substr(0, toml_text.find('\n'));
    for (const std::string_view header : {"[source]", "[[sources]]", "[[output]]"})
      if (line.starts_with(header)) return FileKind::kPipeline;
    toml_text.remove_prefix(std::min(toml_text.size(), line.size() + 1));
  }
  return FileKind::kDaemon;
}

}  // namespace spdld::config
