#include "daemon/source/folders/class_walk.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "daemon/base/result.h"
#include "daemon/source/files/bounds.h"
#include "daemon/source/kept/kept_records.h"
#include "daemon/source/parts.h"
#include "daemon/source/trouble.h"

namespace spdld::source {
namespace {

constexpr size_t kDepthMax = 64;              // folders inside one another, below the root
constexpr uint64_t kFoldersMax = 1ull << 24;  // of one class

// The path of a name in a folder, from the root on.
std::string inside_of(const std::string& folder, std::string_view name) {
  return (folder.empty() ? std::string() : folder + '/').append(name);
}

// Writes what the next listing can take, if that is another than what this one took.
void keep(KeptFile& file, const std::vector<ClassFiles>& files, size_t kept_before, KeptUse& use) {
  std::vector<std::string_view> records;
  bool more = false;
  for (const ClassFiles& part : files) {
    use.taken += part.taken.size();
    use.read += part.read;
    more = more || !part.records.empty();
    records.insert(records.end(), part.taken.begin(), part.taken.end());
    records.push_back(part.records);
  }
  keep_records(file, records, more, kept_before, use);
}

}  // namespace

Walked walk_folders(const std::vector<std::string>& names, const WalkPlan& plan) {
  KeptFile kept_file(plan.kept, plan.key);
  const KeptFolders kept(kept_file.read());
  std::atomic<uint64_t> found{0};
  Walked walked;
  walked.files.resize(names.size());
  const WalkSource source{plan.root,         plan.root_id, plan.endings, kept,
                          kept_file.is_on(), plan.stop,    found,        plan.bounds};
  run_parts(
      names.size(), [&](uint64_t i) { walked.files[i] = ClassWalk(source).walk(names[i]); },
      {"pictures", found, kept.pictures()}, plan.progress, plan.stop);
  walked.found = found;
  for (const ClassFiles& part : walked.files) walked.others.add_all(part.others, {});
  plan.use = {};
  if (found != 0) keep(kept_file, walked.files, kept.size(), plan.use);
  return walked;
}

ClassFiles ClassWalk::walk(const std::string& name) {
  // The root itself has nothing above it.
  pending_.push_back({name, name.empty() ? std::vector<FolderId>() : std::vector<FolderId>{source_.root_id}});
  for (uint64_t folders = 0; !pending_.empty(); ++folders) {
    if (folders == kFoldersMax) {
      throw SetupError(Trouble::kLimit, "the class folder " + source_.root + name + " holds more than " +
                                            std::to_string(kFoldersMax) + " folders: are there links across it?");
    }
    Pending next = std::move(pending_.back());
    pending_.pop_back();
    visit(next);
  }
  std::sort(files_.folders.begin(), files_.folders.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  if (files_.folders.empty()) {
    files_.remarks.add_missing("the class folder " + name + " holds no file ending in " + source_.endings.joined() +
                               ".");
  }
  return std::move(files_);
}

void ClassWalk::visit(Pending& pending) {
  check_stop(source_.stop);
  struct stat status;
  const KeptFolder* kept = find_kept(pending.path, status);
  const int64_t now_ns = file_time_now_ns();  // before its state is asked for
  OpenFolder open;
  if (kept == nullptr) {
    open = open_folder(source_.root + pending.path, source_.bounds);
    if (open.error_number != 0) return not_opened(pending.path, open.error_number);
    status = open.status;
  }
  if (!may_enter(pending, status)) return;
  pending.above.push_back(folder_id(status));
  files_.stamps.add(pending.path, status);
  if (kept != nullptr) {
    files_.taken.push_back(kept->record);
    files_.others.add_all(OtherPictures::of(kept->others), inside_of(pending.path, ""));
    return sort_out(pending, kept->folders, kept->links, std::string(kept->pictures));
  }
  FolderNames names = read_names(open, pending.path, now_ns);
  files_.others.add_all(names.others, inside_of(pending.path, ""));
  sort_out(pending, names.folders, names.links, std::move(names.pictures));
}

// The kept record of the folder, if it still holds, and then also the folder's status.
const KeptFolder* ClassWalk::find_kept(const std::string& path, struct stat& status) const {
  const KeptFolder* kept = source_.kept.find(path);
  if (kept == nullptr || stat_file(source_.bounds, (source_.root + path).c_str(), status) != 0) return nullptr;
  return S_ISDIR(status.st_mode) && kept_state(status) == kept->state ? kept : nullptr;
}

bool ClassWalk::may_enter(const Pending& pending, const struct stat& status) {
  if (std::find(pending.above.begin(), pending.above.end(), folder_id(status)) != pending.above.end()) {
    files_.remarks.add("the folder " + pending.path + " is a link to a folder above it, and was passed over.");
    return false;
  }
  if (pending.above.size() > kDepthMax) {
    files_.remarks.add_missing("the folder " + pending.path + " lies too deep, and was passed over.");
    return false;
  }
  return true;
}

FolderNames ClassWalk::read_names(const OpenFolder& open, const std::string& path, int64_t now_ns) {
  ++files_.read;
  FolderNames names = read_folder(open.folder.get(), source_.root + path, &source_.endings, source_.stop);
  if (names.pictures.size() > std::numeric_limits<uint32_t>::max()) {
    throw SetupError(Trouble::kLimit,
                     "the folder " + source_.root + path + " holds names of more than 4 GiB: divide it.");
  }
  const KeptState state = kept_state(open.status);
  if (source_.keeping && is_settled(state, now_ns)) KeptFolders::append(files_.records, path, state, names);
  return names;
}

void ClassWalk::sort_out(const Pending& pending, std::string_view folders, std::string_view links,
                         std::string pictures) {
  std::string inside(folders);
  const size_t pictures_before = pictures.size();
  for_each_name(links, [&](std::string_view name) {
    const std::string path = source_.root + inside_of(pending.path, name);
    if (leads_to_folder(path)) {
      inside.append(name) += '\0';
    } else if (source_.endings.fit(name)) {
      if (source_.bounds != nullptr) source_.bounds->check(path);
      pictures.append(name) += '\0';
    } else if (is_picture_name(name)) {
      files_.others.add(inside_of(pending.path, name));
    }
  });
  if (pictures.size() != pictures_before) sort_names(pictures);
  if (inside.size() != folders.size()) sort_names(inside);
  const size_t first = pending_.size();
  for_each_name(inside, [&](std::string_view name) {
    pending_.push_back({inside_of(pending.path, name), pending.above});
  });
  std::reverse(pending_.begin() + static_cast<ptrdiff_t>(first), pending_.end());  // the first one is taken next

  const auto count = static_cast<uint32_t>(std::count(pictures.begin(), pictures.end(), '\0'));
  if (count == 0) return;
  source_.found.fetch_add(count, std::memory_order_relaxed);
  files_.folders.push_back({pending.path, std::move(pictures), count, {}});
}

// Gone or closed to us: passed over, as os.walk does, and told as missing. Anything else may pass, and must not change
// what the samples are.
void ClassWalk::not_opened(const std::string& path, int error_number) {
  const bool is_denied = setup_trouble(error_number) == Trouble::kDenied;
  if (error_number == kLeadsOut) refuse_leading_out(source_.root + path);
  if (source_.bounds != nullptr && source_.bounds->unreadable_refuses() && is_denied)
    refuse_folder(source_.root + path, error_number);
  if (content_trouble(error_number) != Trouble::kContent) refuse_folder(source_.root + path, error_number);
  files_.has_unread = true;
  files_.remarks.add_missing("the folder " + path + " can't be read (" + error_words(error_number) +
                             ") and was passed over.");
}

}  // namespace spdld::source
