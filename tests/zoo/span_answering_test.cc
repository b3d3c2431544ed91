// A short run of the span-answering zoo program: output files and printed results.
#include <fmt/format.h>
#include <sys/wait.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "weft/models/data/formats/squad.h"
#include "weft/models/tasks/span_answering/span_training.h"
#include "weft/serialization/files/read_file.h"
#include "weft/testing/temporary_folder.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(zoo)
namespace {

int run(const std::string& arguments) {
  const int status = std::system((std::string(WEFT_ZOO_SPAN_ANSWERING) + " " + arguments).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

BOOST_AUTO_TEST_CASE(span_answering_writes_data_and_model_and_prints_scores) {
  const testing::TemporaryFolder folder("zoo");
  BOOST_TEST(run(folder.path() + " quick >" + folder.path("out")) == 0);
  const std::string output = read_whole_file(folder.path("out"));
  BOOST_TEST_CONTEXT(output) {
    const std::size_t before = output.find("before training: exact match "),
                      after = output.find("after training: exact match ");
    BOOST_REQUIRE(before != std::string::npos);
    BOOST_REQUIRE(after != std::string::npos);
    BOOST_TEST(before < after);
    BOOST_TEST(output.find(" on 80 held-out questions") != std::string::npos);
    BOOST_TEST(output.find("Who lives in Porto? ") != std::string::npos);
  }
  // The printed scores match those of the saved model on the saved test set.
  const std::vector<std::string> files = {folder.path("facts.test.json")};
  const SquadData test = read_squad(files);
  BOOST_TEST(test.size() == 80);
  const auto model = load_model<SpanAnswerer>(folder.path("span_answering.weft"));
  Session session(*model.graph, model.store);
  const SquadScores found = score_spans(session, model, test).answers;
  BOOST_TEST(output.find(fmt::format("after training: exact match {:.4f}, F1 {:.4f} on",
                                     found.exact_match(), found.f1())) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(span_answering_prints_usage_and_errors) {
  const testing::TemporaryFolder folder("zoo");
  BOOST_TEST(run(". fast 2>" + folder.path("err")) == 2);
  BOOST_TEST(read_whole_file(folder.path("err")) ==
             "usage: zoo_span_answering [OUT_FOLDER [quick]]\n");
  BOOST_TEST(run(folder.path("none") + " quick 2>" + folder.path("err")) == 1);
  BOOST_TEST(read_whole_file(folder.path("err")).starts_with("zoo_span_answering: "));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
