// Utilities to run the program `weft` in tests.
#pragma once

#include <sys/wait.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <string>
#include <utility>

#include "weft/serialization/files/read_file.h"
#include "weft/testing/temporary_folder.h"

namespace weft {

struct Outcome {
  int code = -1;
  std::string out, err;
};

/// Runs `weft` or another program. Files are stored in a temporary folder, which initially contains
/// text.txt.
class Shell {
 public:
  explicit Shell(std::string program = WEFT_PROGRAM)
      : program_(std::move(program)), folder_("program") {
    std::string text;
    for (int i = 0; i < 200; ++i)
      text += "all work and no play makes jack a dull boy " + std::to_string(i % 7) + "\n";
    write("text.txt", text);
  }
  std::string path(const std::string& name) const { return folder_.path(name); }
  /// Writes a file and returns its path.
  std::string write(const std::string& name, std::string_view bytes) const {
    return folder_.write(name, bytes);
  }

  Outcome operator()(const std::string& arguments) const { return in(".", arguments); }
  /// Runs the program as operator() does, but with `folder` as the working directory.
  Outcome in(const std::string& folder, const std::string& arguments) const {
    const std::string command = "cd " + folder + " && " + program_ + " " + arguments + " >" +
                                path("out") + " 2>" + path("err") + " </dev/null";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_whole_file(path("out")),
            read_whole_file(path("err"))};
  }

 private:
  std::string program_;
  testing::TemporaryFolder folder_;
};

/// Checks that the program failed with exit code `code` and a single line on stderr that contains
/// `part`.
inline void check_error(const Outcome& outcome, int code, const std::string& part) {
  BOOST_TEST_CONTEXT(outcome.err) {
    BOOST_TEST(outcome.code == code);
    BOOST_TEST(outcome.err.starts_with("weft: "));
    BOOST_TEST(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
    BOOST_TEST(outcome.err.find(part) != std::string::npos);
  }
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline std::string last_line(std::string text) {
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace weft
