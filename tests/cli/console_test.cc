// Output and exit codes of the program: unwritable stdout, closed streams, signals, threads.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "command_files.h"
#include "weft/models/program/options/text_inputs.h"
#include "weft/models/program/terminal/console.h"
#include "weft/serialization/files/read_file.h"

namespace weft::program {
BOOST_AUTO_TEST_SUITE(console)
namespace {

namespace fs = std::filesystem;

const CommandFiles& files() {
  static const CommandFiles shared;
  return shared;
}

/// A training run that is still in progress when a signal arrives. Every second step prints a line.
const std::string kLong =
    "train gpt --text text.txt --steps 40 --save-every 0 --layers 2 --heads 2 --width 128 "
    "--context "
    "32 --batch 64 --threads 2 --warmup 2 --eval-every 0 --out ";

BOOST_AUTO_TEST_CASE(multi_line_errors_are_printed_on_one_line) {
  BOOST_TEST(one_line("a\n  b\n\nc\n") == "a; b; c");
  BOOST_TEST(one_line("do not fit:\n  missing x") == "do not fit: missing x");
}

BOOST_AUTO_TEST_CASE(an_unwritable_stdout_is_an_error) {
  const CommandFiles& weft = files();
  for (const std::string& command :
       {std::string("--help"), std::string("--version"), std::string("inspect gpt.weft"),
        std::string("generate gpt.weft --tokens 20"),
        std::string("evaluate gpt.weft --text text.txt"),
        std::string("score gpt.weft --continuation all"),
        std::string("bench gemm --m 8 --n 8 --k 8 --runs 1 --json"),
        std::string("quantize gpt.weft --out q.weft"),
        std::string("merge gpt.weft --adapters tuned.lora.safetensors --out q.weft"),
        weft.base("train gpt") + " --out q.weft"}) {
    const Outcome outcome = weft(command, {.out = "/dev/full"});
    BOOST_TEST_CONTEXT("weft " << command << "\n" << outcome.err) {
      BOOST_TEST(outcome.code == 1);
      BOOST_TEST(outcome.err == "weft: cannot write to stdout: No space left on device\n");
    }
  }
  // The command still runs to completion, so that the model is saved even if the log cannot be
  // printed.
  BOOST_TEST(fs::exists(weft.path("q.weft")));
  weft.run("inspect q.weft");
  for (const char* name : {"q.weft", "q.svg"}) fs::remove(weft.path(name));
}

/// Runs the program in the folder with the redirections `how` and returns the exit code.
int redirected(const CommandFiles& weft, const std::string& arguments, const std::string& how) {
  const std::string command =
      "cd " + weft.path() + " && exec timeout 100 " + WEFT_PROGRAM + " " + arguments + " " + how;
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

BOOST_AUTO_TEST_CASE(opened_files_do_not_reuse_the_descriptors_of_closed_standard_streams) {
  const CommandFiles& weft = files();
  // If the descriptor of a closed stream stayed free, the first opened file would get that
  // descriptor, and printed text would be written to the file.
  weft.run("quantize gpt.weft --out whole.weft");
  const std::string whole = weft.read("whole.weft");
  for (const char* closed : {">&-", "<&- >&-", "<&- >&- 2>&-", "<&- 2>&-", "2>&-"}) {
    BOOST_TEST_CONTEXT(closed) {
      const bool stdout_is_open =
          std::string(closed).find(" >&-") == std::string::npos && closed[0] != '>';
      const std::string how = closed + std::string(stdout_is_open ? " >/dev/null" : "");
      BOOST_TEST(redirected(weft, "quantize gpt.weft --out q.weft", how) ==
                 (stdout_is_open ? 0 : 1));
      BOOST_TEST((weft.read("q.weft") == whole));
      BOOST_TEST(redirected(weft, "merge gpt.weft --adapters missing --out q.weft", how) == 1);
      BOOST_TEST((weft.read("q.weft") == whole));
    }
  }
  // The log file stays open until its last line is written.
  BOOST_TEST(redirected(weft, weft.base("train gpt") + " --out l.weft --log l.jsonl", ">&-") == 1);
  for (const std::string& line : lines_of(weft.read("l.jsonl")))
    BOOST_TEST(line.starts_with("{\"event\":"), line);
  for (const char* name : {"q.weft", "whole.weft", "l.weft", "l.svg", "l.jsonl"})
    fs::remove(weft.path(name));
}

BOOST_AUTO_TEST_CASE(an_unwritable_stderr_does_not_change_the_exit_code) {
  const CommandFiles& weft = files();
  BOOST_TEST(redirected(weft, "nonsense", "2>/dev/full") == 2);
  BOOST_TEST(redirected(weft, "inspect missing.weft", "2>/dev/full") == 1);
  BOOST_TEST(redirected(weft, "verify missing.weft", "2>/dev/full") == 1);
  BOOST_TEST(redirected(weft, "embed folder --json", "2>/dev/full <text.txt >/dev/null") == 0);
  BOOST_TEST(redirected(weft, "inspect gpt.weft", "2>/dev/full >/dev/full") == 1);
}

BOOST_AUTO_TEST_CASE(endless_and_unreadable_stdin_are_errors) {
  const CommandFiles& weft = files();
  weft.run("tokenizer train text.txt --vocab 300 --out tok.json");
  for (const char* command :
       {"tokenizer encode tok.json", "tokenizer decode tok.json", "embed folder --json",
        "embed folder film --json --similar -", "generate gpt.weft --tokens 2 --prompts -",
        "chat gpt.weft --format alpaca"}) {
    for (const char* from : {"</dev/zero", "<digits", "<&-"}) {
      BOOST_TEST_CONTEXT(command << from) {
        BOOST_TEST(redirected(weft, command, std::string(from) + " >/dev/null 2>said") == 1);
        BOOST_TEST(contains(weft.read("said"), "weft: cannot read stdin: "));
      }
    }
  }
  // Invalid input data is not a usage error.
  weft.write("ids", "1 2 x");
  BOOST_TEST(redirected(weft, "tokenizer decode tok.json", "<ids >/dev/null 2>said") == 1);
  BOOST_TEST(contains(weft.read("said"), "stdin: ids: 'x' is not an id"));
  for (const char* name : {"tok.json", "ids", "said"}) fs::remove(weft.path(name));
}

BOOST_AUTO_TEST_CASE(a_training_run_finishes_even_if_its_log_cannot_be_written) {
  const CommandFiles& weft = files();
  weft.run(weft.base("train gpt") + " --out l.weft --log l.jsonl");
  // The log has reached the file size limit of one megabyte and cannot grow. The model file is
  // smaller than the limit.
  std::string log = weft.read("l.jsonl");
  while (log.size() < (1 << 20)) log += log;
  weft.write("l.jsonl", log);
  const Outcome outcome =
      weft("train gpt --text text.txt --resume l.weft --steps 4 --log l.jsonl", {.blocks = 2048});
  BOOST_TEST(outcome.code == 1);
  BOOST_TEST(outcome.err == "weft: --log: cannot write l.jsonl: File too large\n");
  BOOST_TEST(contains(outcome.out, "saved     l.weft"));
  BOOST_TEST(weft.read("l.jsonl") == log);
  BOOST_TEST(contains(weft.read("l.weft"), "],[4,"));
  for (const char* name : {"l.weft", "l.svg", "l.jsonl"}) fs::remove(weft.path(name));
}

BOOST_AUTO_TEST_CASE(a_log_is_replaced_only_if_a_training_run_starts) {
  const CommandFiles& weft = files();
  weft.run(weft.base("train gpt") + " --out l.weft --log l.jsonl");
  weft.check_rejected(weft.base("train gpt") +
                          " --validation-fraction 0 --out l.weft --log l.jsonl "
                          "--best b.weft",
                      "--best needs held-out data");
  weft.write("other.txt", weft.read("text.txt") + weft.read("text.txt"));
  weft.check_rejected("train gpt --resume l.weft --text other.txt --log l.jsonl",
                      "trained on different data");
  // If a killed run leaves an incomplete last line, the next entry starts on a new line.
  const std::string log = weft.read("l.jsonl"), cut = log.substr(0, log.size() - 10);
  weft.write("l.jsonl", cut);
  weft.run("train gpt --text text.txt --resume l.weft --steps 4 --log l.jsonl");
  BOOST_TEST(weft.read("l.jsonl").starts_with(cut + "\n{\"event\":\"start\""));
  for (const char* name : {"l.weft", "l.svg", "l.jsonl", "other.txt"}) fs::remove(weft.path(name));
}

/// Runs `weft` with `arguments` in the folder, writing its output to "log". Sends the signal once
/// "step 2/" has been printed, and returns the exit code. If `ignored`, the program starts with the
/// signal ignored, as under nohup.
int signalled(const CommandFiles& weft, const std::string& arguments, int signal, bool ignored) {
  const std::string log = weft.path("log"),
                    command = "exec " + std::string(WEFT_PROGRAM) + " " + arguments + " >" + log;
  std::ofstream(log).close();
  const pid_t child = fork();
  if (child == 0) {
    if (ignored) ::signal(signal, SIG_IGN);
    if (chdir(weft.path().c_str()) == 0) execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  bool sent = false;
  for (int i = 0; i < 12000; ++i) {  // wait for at most two minutes
    if (waitpid(child, &status, WNOHANG) == child)
      return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    if (!sent && contains(read_whole_file(log), "step 2/")) {
      kill(child, signal);
      sent = true;
    }
    usleep(10000);
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return -SIGKILL;
}

BOOST_AUTO_TEST_CASE(signals_save_the_run_and_print_the_resume_command) {
  const CommandFiles& weft = files();
  for (const int signal : {SIGTERM, SIGHUP}) {
    BOOST_TEST_CONTEXT("signal " << signal) {
      BOOST_TEST(signalled(weft, kLong + "s.weft", signal, false) == 0);
      const std::string log = weft.read("log");
      BOOST_TEST(contains(last_line(log), "of 40; continue with: weft train gpt --text"));
      weft.run("inspect s.weft");
      for (const char* name : {"s.weft", "s.svg"}) fs::remove(weft.path(name));
    }
  }
  // Under nohup, the run continues to the end.
  const std::string few = with(with(kLong + "s.weft", "--steps", "6"), "--width", "16");
  BOOST_TEST(signalled(weft, few, SIGHUP, true) == 0);
  BOOST_TEST(!contains(weft.read("log"), "stopped"));
  for (const char* name : {"s.weft", "s.svg", "log"}) fs::remove(weft.path(name));
}

BOOST_AUTO_TEST_CASE(a_broken_pipe_stops_and_saves_a_training_run) {
  const CommandFiles& weft = files();
  const std::string script = "cd " + weft.path() + " && (" + WEFT_PROGRAM + " " + kLong +
                             "p.weft 2>p.err; echo $? >p.code) | head -n 6 >p.out";
  BOOST_TEST(std::system(script.c_str()) == 0);
  BOOST_TEST(weft.read("p.code") == "1\n");
  BOOST_TEST(weft.read("p.err") == "weft: cannot write to stdout: Broken pipe\n");
  const Outcome found = weft("inspect p.weft");
  BOOST_TEST(found.code == 0);
  const Outcome continued = weft("train gpt --text text.txt --resume p.weft --stop-after 1");
  BOOST_TEST(contains(continued.out, "of 40; continue with"));  // the run had not finished
  for (const char* name : {"p.weft", "p.svg", "p.code", "p.err", "p.out"})
    fs::remove(weft.path(name));
}

BOOST_AUTO_TEST_CASE(using_more_threads_than_cores_prints_nothing_to_stderr) {
  const CommandFiles& weft = files();
  for (const std::string& command :
       {with(with(weft.base("train gpt"), "--threads", "64"), "--width", "64") + " --out t.weft",
        std::string("generate gpt.weft --tokens 5 --threads 200"),
        std::string("bench gemm --m 512 --n 512 --k 512 --runs 1 --threads 33")}) {
    const Outcome outcome = weft(command);
    BOOST_TEST_CONTEXT(command) {
      BOOST_TEST(outcome.code == 0);
      BOOST_TEST(outcome.err == "");
    }
  }
  for (const char* name : {"t.weft", "t.svg"}) fs::remove(weft.path(name));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::program
