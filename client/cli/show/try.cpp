// try: one sample through a pipeline's chains, step by step. The Python package does it, because the user's functions
// run there: this command checks the file, and becomes that program.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "client/cli/bench/bench.h"
#include "client/cli/show/looking.h"
#include "config/checks/load.h"

namespace spdld::cli {
namespace {

// Its exit code says whether the package is there, and knows trials.
constexpr const char* kProbe =
    "import importlib.util, sys\n"
    "found = importlib.util.find_spec('spdld') and importlib.util.find_spec('spdld._trial')\n"
    "sys.exit(0 if found else 3)";
constexpr int kMissing = 3;

struct TryWishes {
  std::string file, sample, save;
  std::string python = "python3";
  uint64_t epoch = 0;
  bool pdb = false, pictures = false;
};

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

[[noreturn]] void fail_to_start(const std::string& python, int error) {
  throw Failure(kWrong, "cannot start " + python + " (" + std::strerror(error) +
                            "): name a Python that has the package spdld with --python PATH.");
}

// Throws Failure where this Python lacks the package.
void probe(const std::string& python) {
  std::vector<std::string> words = {python, "-c", kProbe};
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, python.c_str(), nullptr, nullptr, pointers_to(words).data(), environ);
  if (error != 0) fail_to_start(python, error);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) fail_to_start(python, errno);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kMissing)
    throw Failure(kWrong, python + " has no package spdld of this version: install it there, or name another Python " +
                              "with --python PATH.");
  throw Failure(
      kWrong, python + " could not be asked for the package spdld: name a Python that has it with --python " + "PATH.");
}

std::vector<std::string> command_of(const Globals& globals, const TryWishes& wishes) {
  std::vector<std::string> words = {wishes.python,
                                    "-m",
                                    "spdld",
                                    "try",
                                    "--sample=" + wishes.sample,
                                    "--epoch=" + std::to_string(wishes.epoch),
                                    "--output=" + globals.output};
  if (!globals.socket.empty()) words.push_back("--socket=" + globals.socket);
  if (globals.timeout_ms)
    words.push_back("--timeout=" + std::to_string(static_cast<double>(*globals.timeout_ms) / 1e3));
  if (!wishes.save.empty()) words.push_back("--save=" + wishes.save);
  if (wishes.pdb) words.emplace_back("--pdb");
  if (wishes.pictures) words.emplace_back("--pictures");
  words.push_back(wishes.file.starts_with('-') ? "./" + wishes.file : wishes.file);
  return words;
}

ExitCode try_sample(const Globals& globals, const TryWishes& wishes) {
  if (wishes.sample.empty()) throw Failure(kUsage, "which sample? Write --sample with its number or its name.");
  if (!is_file_name(wishes.file))
    throw Failure(kUsage, "try takes a pipeline file (.toml, .json), not the name of a pipeline.");
  probe(wishes.python);
  std::vector<std::string> words = command_of(globals, wishes);
  if (::setenv("SPDLD_TRY_AS", "spdlctl", 1) != 0) fail_to_start(wishes.python, errno);
  ::execvp(wishes.python.c_str(), pointers_to(words).data());
  fail_to_start(wishes.python, errno);
}

void declare_try(config::Arguments command, const Globals& globals, RunCommand& run) {
  const auto wishes = std::make_shared<TryWishes>();
  command.word("FILE", wishes->file, "the pipeline's file (.toml, .json)");
  command.text("--sample", wishes->sample, "N", "the sample: its number in the data set's listing, or its name");
  command.number("--epoch", wishes->epoch, 0, kPlaceMax, "E", "the epoch, counted from 0, which decides random draws");
  command.flag("--pdb", wishes->pdb, "open Python's debugger where a function raises an exception");
  command.flag("--pictures", wishes->pictures, "draw the pictures in the terminal, as coloured blocks");
  command.text("--save", wishes->save, "FOLDER",
               "write what each step gives into this folder: pictures as .png, other arrays as .npy");
  command.text("--python", wishes->python, "PATH", "the Python that has the package spdld (default: python3)");
  run = [&globals, wishes] { return try_sample(globals, *wishes); };
}

constexpr const char* kTryMore =
    "The table has a line for each step: what an operation gives for this sample, its type and shape, its least and "
    "largest value and the mean, and for a function of your own (op = \"python\") the time of its call. The value of "
    "an operation of the daemon's is what a chain gives that ends there.\n\n"
    "Functions run in this command's own process: breakpoint() in a function opens the debugger, and what a function "
    "prints comes as usual. Their modules are looked for in this folder and in PYTHONPATH. Random draws are the same "
    "as "
    "in this epoch of a run. Where the sample is bad, the last line names the operation, the sample, and "
    "the line where a function has raised an exception; the exit code is 1.\n\n"
    "The package spdld of a Python does all this. In a program, spdld.try_sample does the same.\n\n"
    "Examples:\n"
    "  spdlctl try train.toml --sample 17\n"
    "  spdlctl try train.toml --sample 17 --epoch 3 --pdb\n"
    "  spdlctl try train.toml --sample cats/0017.jpg --save seen --python venv/bin/python";

}  // namespace

Command try_command() {
  return {"run one sample through a pipeline's chains, and show what each step gives", kTryMore, &declare_try};
}

}  // namespace spdld::cli
