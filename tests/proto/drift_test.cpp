// PROTOCOL.md and control.fbs say the same: every table, struct, field and type, every enum, value and number.
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace spdld::drift_test {

namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;  // field and type, value and number
using Groups = std::map<std::string, Rows>;

std::string read(const std::string& name) {
  std::ifstream file(std::string(SPDLD_SOURCE_ROOT) + "/proto/" + name);
  REQUIRE(file.good());
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \n");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \n") - first + 1);
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) {
    if (!trimmed(part).empty()) parts.push_back(trimmed(part));
  }
  return parts;
}

// What control.fbs declares; a union's values are its numbered members.
Groups of_schema() {
  const std::string text = std::regex_replace(read("control.fbs"), std::regex("//[^\n]*"), "");
  const std::regex declaration("(table|struct|enum|union)\\s+(\\w+)\\s*(:\\s*\\w+\\s*)?\\{([^}]*)\\}");
  Groups groups;
  for (std::sregex_iterator match(text.begin(), text.end(), declaration), end; match != end; ++match) {
    const std::string kind = (*match)[1], name = (*match)[2];
    const bool is_enum = kind == "enum", is_union = kind == "union";
    Rows& rows = groups[is_enum ? "enum " + name + " " + trimmed((*match)[3]) : is_union ? "messages" : name];
    for (const std::string& part : split((*match)[4], is_enum || is_union ? ',' : ';')) {
      const size_t at = part.find(is_enum ? '=' : ':');
      if (is_union) {
        rows.emplace_back(part, std::to_string(rows.size() + 1));
      } else {
        const std::string value = trimmed(part.substr(at + 1));
        rows.emplace_back(trimmed(part.substr(0, at)), is_enum ? value : trimmed(value.substr(0, value.find('='))));
      }
    }
  }
  return groups;
}

// What PROTOCOL.md lists in its sections "Messages" and "Enumerations": the tables under "### NAME" and
// "### enum NAME : TYPE", and the table of messages.
Groups of_document() {
  const std::regex row("^\\| `(\\w+)` \\| ([^|]+) \\|.*"), message("^\\| (\\d+) \\| `(\\w+)` \\|.*");
  Groups groups;
  std::string section, group;
  std::stringstream text(read("PROTOCOL.md"));
  for (std::string line; std::getline(text, line);) {
    std::smatch match;
    if (line.rfind("## ", 0) == 0) {
      section = line.substr(3);
      group.clear();
    } else if (section != "Messages" && section != "Enumerations") {
      continue;
    } else if (line.rfind("### ", 0) == 0) {
      group = line.substr(4);
      groups[group];
    } else if (std::regex_match(line, match, message)) {
      groups["messages"].emplace_back(match[2], match[1]);
    } else if (!group.empty() && std::regex_match(line, match, row)) {
      groups[group].emplace_back(match[1], trimmed(match[2]));
    }
  }
  return groups;
}

}  // namespace

TEST_CASE("PROTOCOL.md and control.fbs say the same") {
  const Groups schema = of_schema(), document = of_document();
  CHECK(schema.size() >= 28);  // so that an empty reading of either cannot pass
  CHECK(schema.at("messages").size() == 24);
  for (const auto& [name, rows] : schema) {
    INFO(name << " of control.fbs");
    REQUIRE(document.count(name) == 1);
    CHECK(document.at(name) == rows);
  }
  for (const auto& entry : document) {
    INFO(entry.first << " of PROTOCOL.md");
    CHECK(schema.count(entry.first) == 1);
  }
}

TEST_CASE("PROTOCOL.md names the file identifier and the limits") {
  const std::string text = read("PROTOCOL.md");
  for (const char* word : {"`SPD1`", "65,536 bytes", "253 file descriptors", "16 MiB", "version 1"}) {
    INFO(word);
    CHECK(text.find(word) != std::string::npos);
  }
}

}  // namespace spdld::drift_test
