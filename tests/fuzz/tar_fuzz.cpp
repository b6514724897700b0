// Feeds arbitrary bytes to the index of a tar archive, by a memory file. Whatever it is, every member must lie in the
// file, or in what a compressed one may hold, and the index is the same after it was kept.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <stop_token>

#include "daemon/base/result.h"
#include "daemon/source/archives/archive_index.h"
#include "daemon/source/archives/kept_archives.h"
#include "daemon/source/files/file_view.h"
#include "daemon/store/unpack/unpacked_reader.h"
#include "proto/unique_fd.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const spdld::UniqueFd file(::memfd_create("tar", MFD_CLOEXEC));
  if (!file || ::write(file.get(), bytes, size) != static_cast<ssize_t>(size)) std::abort();
  std::atomic<uint64_t> done{0};
  try {
    spdld::source::FileView view(file.get(), "fuzz.tar");
    const auto index = spdld::source::index_archive(view, "fuzz.tar", "fuzz.tar", done, std::stop_token());
    if (done != size || index.key_starts.size() != index.first_members.size()) std::abort();
    const uint64_t bytes_max = index.is_packed() ? spdld::store::unpack::unpacked_bytes_max(size) : size;
    for (const auto& member : index.members) {
      if (member.offset > bytes_max || member.size > bytes_max - member.offset) std::abort();
      if (member.extension >= index.extensions.size()) std::abort();
    }
    for (const uint64_t first : index.first_members) {
      if (first >= index.members.size()) std::abort();
    }
    const auto kept = spdld::source::archive_index_in(spdld::source::kept_bytes_of(index), size);
    if (!kept || kept->members.size() != index.members.size() || kept->end() != index.end()) std::abort();
  } catch (const spdld::SetupError&) {  // a sentence is an answer
  }
  return 0;
}
