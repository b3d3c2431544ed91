// What the program says and how it ends: stdout that cannot be written, signals, memory.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "command_files.h"
#include "weft/models/program/console.h"

namespace weft::program {
BOOST_AUTO_TEST_SUITE(console)
namespace {

namespace fs = std::filesystem;

const CommandFiles& files() {
  static const CommandFiles shared;
  return shared;
}

/// Far more steps than are done before a signal comes; every second one prints a line.
const std::string kLong =
    "train gpt --text text.txt --steps 40 --save-every 0 --layers 2 --heads 2 --width 128 "
    "--context "
    "32 --batch 64 --threads 2 --warmup 2 --eval-every 0 --out ";

BOOST_AUTO_TEST_CASE(errors_of_several_lines_are_said_in_one) {
  BOOST_TEST(one_line("a\n  b\n\nc\n") == "a; b; c");
  BOOST_TEST(one_line("do not fit:\n  missing x") == "do not fit: missing x");
}

BOOST_AUTO_TEST_CASE(stdout_that_cannot_be_written_is_a_failure) {
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
  // What was asked for is done all the same: a model is not lost with its log.
  BOOST_TEST(fs::exists(weft.path("q.weft")));
  weft.run("inspect q.weft");
  for (const char* name : {"q.weft", "q.svg"}) fs::remove(weft.path(name));
}

BOOST_AUTO_TEST_CASE(a_log_that_cannot_be_written_ends_no_training) {
  const CommandFiles& weft = files();
  weft.run(weft.base("train gpt") + " --out l.weft --log l.jsonl");
  // A log of a megabyte, which may not grow; a model is smaller.
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

/// Runs `weft arguments` in the folder with its output in "log", sends the signal once "step 2/"
/// was printed, and gives the exit code. `ignored`: the signal is, as nohup has it.
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
  for (int i = 0; i < 12000; ++i) {  // two minutes at most
    if (waitpid(child, &status, WNOHANG) == child)
      return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    if (!sent && contains(read_text_file(log), "step 2/")) {
      kill(child, signal);
      sent = true;
    }
    usleep(10000);
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return -SIGKILL;
}

BOOST_AUTO_TEST_CASE(signals_save_and_say_how_to_go_on) {
  const CommandFiles& weft = files();
  for (const int signal : {SIGTERM, SIGHUP}) {
    BOOST_TEST_CONTEXT("signal " << signal) {
      BOOST_TEST(signalled(weft, kLong + "s.weft", signal, false) == 0);
      const std::string log = weft.read("log");
      BOOST_TEST(contains(last_line(log), "of 40; go on with: weft train gpt --text"));
      weft.run("inspect s.weft");
      for (const char* name : {"s.weft", "s.svg"}) fs::remove(weft.path(name));
    }
  }
  // nohup: the run goes on to its end.
  const std::string few = with(with(kLong + "s.weft", "--steps", "6"), "--width", "16");
  BOOST_TEST(signalled(weft, few, SIGHUP, true) == 0);
  BOOST_TEST(!contains(weft.read("log"), "stopped"));
  for (const char* name : {"s.weft", "s.svg", "log"}) fs::remove(weft.path(name));
}

BOOST_AUTO_TEST_CASE(a_reader_that_goes_away_ends_a_training_that_is_saved) {
  const CommandFiles& weft = files();
  const std::string script = "cd " + weft.path() + " && (" + WEFT_PROGRAM + " " + kLong +
                             "p.weft 2>p.err; echo $? >p.code) | head -n 6 >p.out";
  BOOST_TEST(std::system(script.c_str()) == 0);
  BOOST_TEST(weft.read("p.code") == "1\n");
  BOOST_TEST(weft.read("p.err") == "weft: cannot write to stdout: Broken pipe\n");
  const Outcome found = weft("inspect p.weft");
  BOOST_TEST(found.code == 0);
  const Outcome on = weft("train gpt --text text.txt --resume p.weft --stop-after 1");
  BOOST_TEST(contains(on.out, "of 40; go on with"));  // it had not come to its end
  for (const char* name : {"p.weft", "p.svg", "p.code", "p.err", "p.out"})
    fs::remove(weft.path(name));
}

BOOST_AUTO_TEST_CASE(more_threads_than_cores_are_no_matter_for_stderr) {
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
