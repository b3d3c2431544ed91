// Files written by earlier versions still give the same results; see tests/fixtures/weft_files.
#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "weft/models/tasks/legacy_files.h"
#include "weft/models/tasks/tasks.h"
#include "weft/models/tasks/text_classification/text_classifier.h"
#include "weft/serialization/checkpoint.h"
#include "weft/serialization/files/read_file.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/support/program_shell.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(weft_files)
namespace {

struct Number {
  double value = 0, last_digit = 1;
};

/// Parses a number and the unit of its last digit: for "2.95290,", these are 2.95290 and 0.00001.
/// Returns nullopt if `word` is not a number.
std::optional<Number> number_in(std::string word) {
  std::erase_if(word,
                [](char c) { return std::string_view("(),%+").find(c) != std::string::npos; });
  Number n;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), n.value);
  if (error != std::errc() || end != word.data() + word.size()) return {};
  const std::size_t point = word.find('.');
  if (point != std::string::npos)
    n.last_digit = std::pow(10.0, -static_cast<double>(word.size() - point - 1));
  return n;
}

/// Returns true if the lines are equal except for rounding errors in their numbers.
bool same(const std::string& got, const std::string& want) {
  constexpr double kRelative = 2e-4;
  std::istringstream a(got), b(want);
  std::string left, right;
  while (true) {
    const bool more = static_cast<bool>(a >> left);
    if (more != static_cast<bool>(b >> right)) return false;
    if (!more) return true;
    const auto x = number_in(left), y = number_in(right);
    if (x.has_value() != y.has_value()) return false;
    if (!x && left != right) return false;
    if (x && std::abs(x->value - y->value) > kRelative * std::abs(y->value) + 1.01 * y->last_digit)
      return false;
  }
}

std::string with_folder(std::string text, const std::string& folder) {
  for (const std::string key : {"\\{work\\}", "{work}"}) {
    for (std::size_t at; (at = text.find(key)) != std::string::npos;)
      text.replace(at, key.size(), folder);
  }
  return text;
}

BOOST_AUTO_TEST_CASE(files_from_earlier_versions_give_the_same_results) {
  const Shell weft;
  const std::string folder = std::string(WEFT_FIXTURES) + "/weft_files";
  std::istringstream lines(read_whole_file(folder + "/figures.tsv"));
  int commands = 0;
  for (std::string line; std::getline(lines, line); ++commands) {
    const std::size_t tab = line.find('\t');
    BOOST_REQUIRE(tab != std::string::npos);
    const std::string want = with_folder(line.substr(tab + 1), weft.path(""));
    const Outcome got = weft.in(folder, with_folder(line.substr(0, tab), weft.path("")));
    BOOST_TEST_CONTEXT(line << "\n" << got.out << got.err) {
      BOOST_TEST(got.code == 0);
      BOOST_TEST(same(last_line(got.out), want));
    }
  }
  BOOST_TEST(commands > 50);
}

BOOST_AUTO_TEST_CASE(the_task_of_a_file_without_a_task_is_inferred) {
  const std::string folder = std::string(WEFT_FIXTURES) + "/weft_files/";
  const testing::TemporaryFolder made("legacy");
  for (const auto& [file, task] : {std::pair("gpt", "next-token"),
                                   {"classifier", "text-classification"},
                                   {"encoder-mlm-sop", "mlm+sop"},
                                   {"encoder-rtd", "rtd"},
                                   {"images", "image-classification"},
                                   {"masked-images", "masked-image"},
                                   {"translator", "translation"},
                                   {"seq2seq-ul2", "ul2"}}) {
    BOOST_TEST_CONTEXT(file) {
      const std::string path = folder + file + ".weft";
      BOOST_TEST(legacy_task(load_checkpoint(path)) == task);
      BOOST_TEST(load_any_model(path).model->task == task);
    }
  }
  // A model that was read without its task can still be saved.
  auto model = load_model<TextClassifier>(folder + "classifier.weft");
  model.task.clear();
  save_model(made.path("classifier.weft"), model);
  BOOST_TEST(task_of(load_checkpoint(made.path("classifier.weft"))) == "");
  BOOST_TEST(load_any_model(made.path("classifier.weft")).model->task == "text-classification");
  BOOST_TEST(save_folder(made.path("classifier"), model).architecture ==
             "BertForSequenceClassification");
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
