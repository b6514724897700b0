#include "config/text/arguments.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "config/text/words.h"

namespace spdld::config {

// The program itself, or one of its commands, which the program's CLI::App owns.
struct Arguments::App {
  std::unique_ptr<CLI::App> own;
  CLI::App* cli = nullptr;
};

namespace {

CLI::Option* add_text(CLI::App& app, const std::string& names, std::string& target, const std::string& value,
                      const std::string& help) {
  CLI::Option* const option = app.add_option(names, target, help)->type_name(value);
  return target.empty() ? option : option->capture_default_str();
}

void add_names(const CLI::App& app, std::vector<std::string>& names) {
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
}

}  // namespace

void Arguments::flag(const std::string& names, bool& target, const std::string& help) {
  app_.cli->add_flag(names, target, help);
}

void Arguments::text(const std::string& names, std::string& target, const std::string& value, const std::string& help) {
  add_text(*app_.cli, names, target, value, help);
}

void Arguments::choice(const std::string& names, std::string& target, const std::vector<std::string>& allowed,
                       const std::string& value, const std::string& help) {
  add_text(*app_.cli, names, target, value, help)->check(CLI::IsMember(allowed).description(""));
}

template <typename T>
void Arguments::number(const std::string& names, T& target, typename NumberOf<T>::Type lowest,
                       typename NumberOf<T>::Type highest, const std::string& value, const std::string& help) {
  CLI::Option* const option = app_.cli->add_option(names, target, help)->type_name(value);
  option->check(CLI::Range(lowest, highest).description(""));
  if constexpr (std::is_same_v<T, typename NumberOf<T>::Type>) option->capture_default_str();
}

using Text = const std::string&;
template void Arguments::number(Text, uint32_t&, uint32_t, uint32_t, Text, Text);
template void Arguments::number(Text, uint64_t&, uint64_t, uint64_t, Text, Text);
template void Arguments::number(Text, std::optional<int64_t>&, int64_t, int64_t, Text, Text);
template void Arguments::number(Text, std::optional<uint64_t>&, uint64_t, uint64_t, Text, Text);
template void Arguments::number(Text, std::optional<double>&, double, double, Text, Text);

void Arguments::word(const std::string& name, std::string& target, const std::string& help) {
  app_.cli->add_option(name, target, help)->required()->type_name("");
}

void Arguments::optional_word(const std::string& name, std::string& target, const std::string& help) {
  app_.cli->add_option(name, target, help)->type_name("");
}

void Arguments::words(const std::string& name, std::vector<std::string>& targets, const std::string& help) {
  app_.cli->add_option(name, targets, help)->required()->type_name("");
}

CommandLine::CommandLine(const std::string& program, const std::string& version, const std::string& about,
                         const std::string& footer)
    : program_(program), app_(std::make_unique<Arguments::App>()) {
  app_->own = std::make_unique<CLI::App>(about, program);
  app_->cli = app_->own.get();
  app_->cli->set_help_flag("-h,--help", "print this help and exit");
  app_->cli->set_version_flag("--version", version, "print the version and exit");
  app_->cli->footer(footer);
  app_->cli->fallthrough();
}

CommandLine::~CommandLine() = default;

Arguments CommandLine::options() { return Arguments(*app_); }

Arguments CommandLine::command(const std::string& name, const std::string& help, const std::string& footer) {
  app_->cli->require_subcommand(1);
  commands_.push_back(std::make_unique<Arguments::App>());
  commands_.back()->cli = app_->cli->add_subcommand(name, help);
  commands_.back()->cli->footer(footer);
  return Arguments(*commands_.back());
}

// Of the first word that is no command and no option: that it is none, and what it may have been meant to be. Empty:
// there is no such word.
std::string CommandLine::unknown_word() const {
  const std::vector<CLI::App*> chosen = app_->cli->get_subcommands();
  for (const std::string& word : app_->cli->remaining(true)) {
    const bool is_option = word.starts_with("-");
    if (!is_option && (commands_.empty() || !chosen.empty())) continue;  // fewer words are taken
    std::vector<std::string> names;
    if (is_option) {
      add_names(*app_->cli, names);
      for (const CLI::App* command : chosen) add_names(*command, names);
    } else {
      for (const auto& command : commands_) names.push_back(command->cli->get_name());
    }
    const std::vector<std::string_view> known(names.begin(), names.end());
    return std::string(is_option ? "there is no option " : "there is no command ") + in_quotes(word) +
           did_you_mean(word, known);
  }
  return "";
}

CommandLine::Parsed CommandLine::parse(const std::vector<std::string>& words) {
  using Next = Parsed::Next;
  try {
    app_->cli->parse(std::vector<std::string>(words.rbegin(), words.rend()));  // the library takes them from the back
  } catch (const CLI::CallForHelp&) {
    return {Next::kPrint, "", app_->cli->help()};
  } catch (const CLI::CallForVersion& asked) {
    return {Next::kPrint, "", std::string(asked.what()) + "\n"};
  } catch (const CLI::ParseError& error) {
    const std::string unknown = unknown_word();
    return {Next::kWrong, "", (unknown.empty() ? error.what() : unknown) + "; see " + program_ + " --help."};
  }
  const std::vector<CLI::App*> chosen = app_->cli->get_subcommands();
  return {Next::kRun, chosen.empty() ? "" : chosen.front()->get_name(), ""};
}

}  // namespace spdld::config
