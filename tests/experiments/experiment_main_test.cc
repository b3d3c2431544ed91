// The command line of the experiment programs, tested with zoo_gradient_step because it trains
// nothing.
#include <sys/wait.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "weft/serialization/files/read_file.h"
#include "weft/testing/temporary_folder.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(experiment_main)
namespace {

int run(const std::string& arguments) {
  const int status = std::system((std::string(WEFT_ZOO_GRADIENT_STEP) + " " + arguments).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

BOOST_AUTO_TEST_CASE(an_experiment_prints_its_results_and_writes_a_plot) {
  const testing::TemporaryFolder folder("experiment");
  BOOST_TEST(run(folder.path("steps.svg") + " 2 >" + folder.path("out")) == 0);
  const std::string printed = read_whole_file(folder.path("out"));
  BOOST_TEST_CONTEXT(printed) {
    BOOST_TEST(printed.starts_with(" 0 steps: error "));
    BOOST_TEST(printed.find("\n 2 steps: error ") != std::string::npos);
    BOOST_TEST(printed.find("\n 3 steps: error ") == std::string::npos);
    BOOST_TEST(printed.ends_with("wrote " + folder.path("steps.svg") + "\n"));
  }
  const std::string picture = read_whole_file(folder.path("steps.svg"));
  BOOST_TEST(picture.starts_with("<svg xmlns="));
  BOOST_TEST(picture.ends_with("</svg>\n"));
}

BOOST_AUTO_TEST_CASE(usage_errors_are_reported_before_any_work) {
  const testing::TemporaryFolder folder("experiment");
  for (const char* wrong : {"x.svg 0", "x.svg -3", "x.svg 2k", "x.svg ''", "x.svg 1 2"}) {
    BOOST_TEST(run(wrong + (" >" + folder.path("out") + " 2>" + folder.path("err"))) == 2);
    BOOST_TEST(read_whole_file(folder.path("err")) ==
               "usage: zoo_gradient_step [OUT.svg [STEPS]]\n");
  }
  BOOST_TEST(
      run(folder.path("none/x.svg") + " >" + folder.path("out") + " 2>" + folder.path("err")) == 1);
  BOOST_TEST(read_whole_file(folder.path("err")).starts_with("zoo_gradient_step: "));
  BOOST_TEST(read_whole_file(folder.path("out")).empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
