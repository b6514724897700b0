// A program's command line: what its words and options are called, which variables take their values, and its --help.
// CLI11 stands behind this header, in one source file: no other file compiles it. At set-up, by one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace spdld::config {

template <typename T>
struct NumberOf {
  using Type = T;
};
template <typename T>
struct NumberOf<std::optional<T>> {
  using Type = T;
};

// A program's own options, or the words and options of one of its commands. Each member function names an option
// ("-w,--watch") or a word ("FILE"), the variable that takes its value, and its line in --help. The variable outlives
// the parsing. --help shows what a variable holds before as the default; an optional or an empty text has no default.
// `value` stands for the value in --help ("N").
class Arguments {
 public:
  void flag(const std::string& names, bool& target, const std::string& help);
  void text(const std::string& names, std::string& target, const std::string& value, const std::string& help);
  // The value must be one of `allowed`.
  void choice(const std::string& names, std::string& target, const std::vector<std::string>& allowed,
              const std::string& value, const std::string& help);
  // The number lies from `lowest` to `highest`. T: uint32_t, uint64_t, or an optional int64_t, uint64_t or double.
  template <typename T>
  void number(const std::string& names, T& target, typename NumberOf<T>::Type lowest,
              typename NumberOf<T>::Type highest, const std::string& value, const std::string& help);

  void word(const std::string& name, std::string& target, const std::string& help);
  void optional_word(const std::string& name, std::string& target, const std::string& help);
  // The user writes one word or more.
  void words(const std::string& name, std::vector<std::string>& targets, const std::string& help);

 private:
  friend class CommandLine;
  struct App;
  explicit Arguments(App& app) : app_(app) {}

  App& app_;  // the command line owns it
};

class CommandLine {
 public:
  // `about`: the first sentence of --help. `version`: what --version prints. `footer`: the end of --help.
  CommandLine(const std::string& program, const std::string& version, const std::string& about,
              const std::string& footer);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // The program's own options. A command's user may write them before the command or after it.
  Arguments options();
  // The user of a program that has commands must write one command. `help`: the command's line in the program's --help.
  // `footer`: the end of the command's own --help.
  Arguments command(const std::string& name, const std::string& help, const std::string& footer);

  struct Parsed {
    enum class Next {
      kRun,    // the variables hold what the user wrote
      kPrint,  // --help or --version: print `text`, and end
      kWrong   // `text` is a sentence that says what is wrong with the words
    };
    Next next = Next::kRun;
    std::string command;  // the command that the user chose; empty: the program has no commands
    std::string text;
  };
  // `words`: the command line after the program's name.
  Parsed parse(const std::vector<std::string>& words);

 private:
  std::string unknown_word() const;

  const std::string program_;
  std::unique_ptr<Arguments::App> app_;
  std::vector<std::unique_ptr<Arguments::App>> commands_;
};

}  // namespace spdld::config
