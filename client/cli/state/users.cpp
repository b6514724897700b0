// users: who uses the node, and how much of it.
#include <pwd.h>

#include "client/cli/query.h"
#include "client/cli/table.h"

namespace spdld::cli {
namespace {

using config::Json;

// The name that this machine has for the user; the uid as a number where it has none.
std::string name_of_user(uint64_t uid) {
  const passwd* const found = ::getpwuid(static_cast<uid_t>(uid));
  return found != nullptr && found->pw_name != nullptr ? safe_text(found->pw_name) : std::to_string(uid);
}

// The open pipelines that this user was the first to open, as `ls` names them.
Json pipelines_of_user(const Json& status, uint64_t uid) {
  Json names = Json::array();
  for (const auto& pipeline : list_at(status, "pipelines")) {
    if (text_at(pipeline, "state") == "available" || count_at(pipeline, "uid") != uid) continue;
    names.push_back(text_at(pipeline, "name"));
  }
  return names;
}

std::string joined(const Json& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name.text();
  return text;
}

// A line of the table, and an entry of the document.
Json user_entry(const Json& status, const Json& user) {
  const uint64_t uid = count_at(user, "uid");
  Json entry = {{"uid", uid}, {"name", name_of_user(uid)}, {"pipelines", pipelines_of_user(status, uid)}};
  for (const char* key : {"sessions", "rings", "slots", "slot_bytes", "inflight_bytes", "lent_bytes", "listing_bytes"})
    entry[key] = count_at(user, key);
  return entry;
}

ExitCode users(const Globals& globals) {
  const Json status = ask(globals, "status");
  Json entries = Json::array();
  for (const auto& user : list_at(status, "users")) entries.push_back(user_entry(status, user));
  if (globals.json()) {
    Json document = Json::object();
    document["users"] = std::move(entries);
    print_json(document);
    return kFine;
  }
  Table table({{"USER", Align::kLeft, Role::kKey},
               {"UID", Align::kRight},
               {"SESSIONS", Align::kRight},
               {"RINGS", Align::kRight},
               {"SLOTS", Align::kRight},
               {"IN THEM", Align::kRight},
               {"IN FLIGHT", Align::kRight},
               {"LENT", Align::kRight},
               {"LISTINGS", Align::kRight},
               {"PIPELINES", Align::kLeft, Role::kWords}});
  for (const auto& entry : entries) {
    const auto bytes = [&entry](const char* key) { return bytes_text(number_at(entry, key)); };
    table.add({Cell(text_at(entry, "name"), Style::kStrong), std::to_string(count_at(entry, "uid")),
               count_text(count_at(entry, "sessions")), count_text(count_at(entry, "rings")),
               count_text(count_at(entry, "slots")), bytes("slot_bytes"), bytes("inflight_bytes"), bytes("lent_bytes"),
               bytes("listing_bytes"), joined(list_at(entry, "pipelines"))});
  }
  print(table.empty() ? "nobody uses the node\n" : table.text(page_of_stdout()));
  return kFine;
}

void declare_users(config::Arguments, const Globals& globals, RunCommand& run) {
  run = [&globals] { return users(globals); };
}

constexpr const char* kUsersMore =
    "Root and the daemon's own user see every user, and other users see themselves. A pipeline of several users stands "
    "with the user who opened it first.\n\n"
    "  SLOTS      slots of the user's batches, and IN THEM their memory.\n"
    "  IN FLIGHT  bytes of samples that are read and not decoded yet.\n"
    "  LENT       memory that is lent to samples for decoding.\n"
    "  LISTINGS   memory of the listings of data sets.\n\n"
    "Example:\n"
    "  spdlctl -o json users | jq '.users[] | select(.lent_bytes > 0)'";

}  // namespace

Command users_command() { return {"show who uses the node, and how much of it", kUsersMore, &declare_users}; }

}  // namespace spdld::cli
