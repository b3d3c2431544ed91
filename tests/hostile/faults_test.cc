// Operating system failures: allocations fail or threads cannot be started. A shim makes individual
// C library calls fail (tests/fuzz/attack/fault_shim.cc).
#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "weft/serialization/files/read_file.h"
#include "weft/tests/support/environment.h"
#include "weft/tests/support/program_shell.h"

#ifdef WEFT_FAULTS  // not defined in sanitizer builds

namespace weft {
namespace {

/// Runs the program with an injected fault ("CALL:NUMBER:ERRNO"), and kills the program if it does
/// not exit within 60 seconds.
Outcome with_fault(const Shell& weft, const std::string& fault, const std::string& arguments) {
  const std::string command =
      "timeout -s KILL 60 env LD_PRELOAD=" WEFT_FAULTS " WEFT_FAULT=" + fault +
      " " WEFT_PROGRAM " " + arguments + " >" + weft.path("out") + " 2>" + weft.path("err") +
      " </dev/null";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_whole_file(weft.path("out")),
          read_whole_file(weft.path("err"))};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(hostile_faults)

BOOST_AUTO_TEST_CASE(results_do_not_change_if_threads_cannot_be_started) {
  const Shell weft;
  const std::string train =
      "train gpt --layers 1 --heads 1 --width 32 --context 64 --batch 8 "
      "--steps 2 --threads 4 --text " +
      weft.path("text.txt") + " --out ";
  BOOST_TEST(weft(train + weft.path("whole.weft")).code == 0);
  for (const char* fault : {"pool:0:12", "pool:0+:12", "pool:1:12", "pool:2+:12", "thread:0:11",
                            "thread:0+:11", "thread:1+:11"}) {
    BOOST_TEST_CONTEXT("fault " << fault) {
      const std::string path = weft.path("m.weft");
      const Outcome outcome = with_fault(weft, fault, train + path);
      BOOST_TEST_CONTEXT(outcome.err) BOOST_TEST(outcome.code == 0);
      BOOST_TEST((read_whole_file(path) == read_whole_file(weft.path("whole.weft"))));
    }
  }
}

BOOST_AUTO_TEST_CASE(running_out_of_memory_is_a_one_line_error) {
  const Shell weft;
  const std::string model = weft.path("m.weft");
  BOOST_TEST(
      weft("train gpt --layers 1 --heads 1 --width 8 --context 8 --batch 2 --steps 2 --text " +
           weft.path("text.txt") + " --out " + model)
          .code == 0);
  // Many records of verified files, so that some of the allocations that read the folder fail.
  const std::string cache = weft.path("cache");
  const testing::Environment environment("XDG_CACHE_HOME", cache);
  std::filesystem::create_directories(cache + "/weft/verified");
  for (int i = 0; i < 2000; ++i)
    weft.write("cache/weft/verified/0123456789abcdef-" + std::to_string(i), "");
  const std::string commands[] = {"--help", "inspect " + model,
                                  "generate " + model + " --prompt a --tokens 2",
                                  "no-such-command"};
  // The number of the failing allocation grows by a factor of about 1.6, so that faults are dense
  // at the start of the program and some numbers exceed the total number of allocations.
  for (const std::string& command : commands) {
    for (const char* const more : {"", "+"}) {
      for (std::int64_t number = 0; number < 300'000; number += 1 + number * 5 / 8) {
        const std::string fault = "memory:" + std::to_string(number) + more + ":12";
        const Outcome outcome = with_fault(weft, fault, command);
        BOOST_TEST_CONTEXT(command << " with fault " << fault << ": " << outcome.err) {
          BOOST_TEST((outcome.code >= 0 && outcome.code <= 2));
          if (outcome.code > 0) {
            BOOST_TEST(outcome.err.starts_with("weft: "));
            BOOST_TEST(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
          }
        }
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft

#endif
