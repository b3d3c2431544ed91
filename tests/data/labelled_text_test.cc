// Labelled texts and their splits, classification metrics, TF-IDF, and logistic regression,
// compared with values computed by hand.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <set>
#include <tuple>

#include "weft/core/error.h"
#include "weft/models/data/formats/labelled_text.h"
#include "weft/models/metrics/classification_metrics.h"
#include "weft/models/tasks/text_classification/text_baseline.h"
#include "weft/tests/support/text_files.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(labelled_text)
namespace {

using Texts = std::vector<std::string>;
using Ids = std::vector<std::int32_t>;

BOOST_AUTO_TEST_CASE(labels_are_the_first_or_last_column_and_only_line_feeds_end_lines) {
  const TextFiles files("labelled");
  const std::string labels_first =
      files.write("a", "ham\thi\tthere \r\nspam\tbuy\n\nham\tsee you\n");
  const LabelledText first = read_labelled_text(Texts{labels_first});
  BOOST_TEST(first.names == (Texts{"ham", "spam"}), boost::test_tools::per_element());
  BOOST_TEST(first.texts == (Texts{"hi\tthere", "buy", "see you"}),
             boost::test_tools::per_element());
  BOOST_TEST(first.labels == (Ids{0, 1, 0}), boost::test_tools::per_element());

  // U+0085 (next line) does not end a line.
  const std::string labels_last = files.write("b", "good \u0085 film  \t1\nbad\t0\nfine\t1");
  const LabelledText last = read_labelled_text(Texts{labels_last});
  BOOST_TEST(last.texts == (Texts{"good \u0085 film", "bad", "fine"}),
             boost::test_tools::per_element());
  BOOST_TEST(last.labels == (Ids{1, 0, 1}), boost::test_tools::per_element());
  BOOST_TEST(read_labelled_text(Texts{labels_last, labels_last}).size() == 6);
  BOOST_TEST(read_labelled_text(Texts{labels_first}, LabelSide::last).names.size() == 3u);
}

BOOST_AUTO_TEST_CASE(a_split_of_small_classes_holds_out_about_the_requested_fraction) {
  const auto split_of = [](std::int32_t classes, int each, double fraction, std::uint64_t seed) {
    Ids labels;
    for (std::int32_t label = 0; label < classes; ++label) labels.insert(labels.end(), each, label);
    return stratified_split(labels, fraction, seed);
  };
  // The share of every class rounds to 0.
  for (const auto& [classes, each, fraction, held_out] :
       std::vector<std::tuple<std::int32_t, int, double, std::size_t>>{{30, 2, 0.2, 12},
                                                                       {2, 2, 0.2, 1},
                                                                       {5, 4, 0.1, 2},
                                                                       {3, 2, 0.01, 1},
                                                                       {3, 1, 0.2, 0},
                                                                       {3, 1, 0.9, 0}}) {
    const Split split = split_of(classes, each, fraction, 1);
    BOOST_TEST_CONTEXT(classes << " classes of " << each) {
      BOOST_TEST(split.test.size() == held_out);
      BOOST_TEST(split.train.size() + split.test.size() ==
                 static_cast<std::size_t>(classes) * static_cast<std::size_t>(each));
      std::set<std::int64_t> trained;  // every class keeps an example in the training set
      for (const std::int64_t i : split.train) trained.insert(i / each);
      BOOST_TEST(trained.size() == static_cast<std::size_t>(classes));
      BOOST_TEST((split_of(classes, each, fraction, 1).test == split.test));
    }
  }
  BOOST_TEST((split_of(30, 2, 0.2, 1).test != split_of(30, 2, 0.2, 2).test));
  // Shares that do not round to 0 are not affected.
  BOOST_TEST(split_of(2, 5, 0.2, 1).test.size() == 2U);
}

BOOST_AUTO_TEST_CASE(unlabelled_files_are_rejected) {
  const TextFiles files("unlabelled");
  const auto read = [&](const std::string& text) {
    return [&files, text] { read_labelled_text(Texts{files.write("f", text)}); };
  };
  check_error_message<FormatError>(read("a\tb\nno tab\n"),
                                   "f:2: expected a label and a text separated by a tab");
  check_error_message<FormatError>(read("x\tone\nx\ttwo\n"),
                                   "needs at least two classes, but there is only one");
  check_error_message<FormatError>(read(""), "there are no lines");
  check_error_message<FormatError>(read("a\tb\nc\td\n"),
                                   "f:1: cannot distinguish labels from texts");
  check_error_message<FormatError>(read("a\tb\na\tc\n\td\n"), "f:3: the label is empty");
  check_error_message<IoError>([] { read_labelled_text(Texts{"/nowhere/f"}); }, "/nowhere/f");
  check_error_message<ArgumentError>([] { parse_choice<LabelSide>("left"); },
                                     "expected one of auto, first, last");
}

BOOST_AUTO_TEST_CASE(splits_keep_the_class_proportions) {
  Ids labels(100, 0);
  for (std::size_t i = 0; i < labels.size(); i += 5) labels[i] = 1;
  const Split split = stratified_split(labels, 0.2, 7);
  std::set<std::int64_t> all(split.train.begin(), split.train.end());
  all.insert(split.test.begin(), split.test.end());
  BOOST_TEST(all.size() == 100u);
  BOOST_TEST(split.test.size() == 20u);
  std::int64_t spam = 0;
  for (const std::int64_t i : split.test) spam += labels[static_cast<std::size_t>(i)];
  BOOST_TEST(spam == 4);
  BOOST_TEST((stratified_split(labels, 0.2, 7).test == split.test));
  BOOST_TEST((stratified_split(labels, 0.2, 8).test != split.test));
  check_error_message<ArgumentError>([&] { stratified_split(labels, 1, 7); },
                                     "test_fraction must be in (0, 1), not 1");
}

BOOST_AUTO_TEST_CASE(metrics_of_a_confusion_matrix_match_values_computed_by_hand) {
  ConfusionMatrix matrix({"ham", "spam"});
  // Of 7 ham messages, 1 is classified as spam. Of 3 spam messages, 1 is classified as ham.
  matrix.add(Ids{0, 0, 0, 0, 0, 0, 0, 1, 1, 1}, Ids{0, 0, 0, 0, 0, 0, 1, 1, 1, 0});
  BOOST_TEST(matrix.count(0, 1) == 1);
  BOOST_TEST(matrix.accuracy() == 0.8);
  BOOST_TEST(matrix.precision(1) == 2.0 / 3);
  BOOST_TEST(matrix.recall(1) == 2.0 / 3);
  BOOST_TEST(matrix.precision(0) == 6.0 / 7);
  BOOST_TEST(matrix.f1(0) == 6.0 / 7, boost::test_tools::tolerance(1e-15));
  BOOST_TEST(matrix.macro_f1() == (6.0 / 7 + 2.0 / 3) / 2, boost::test_tools::tolerance(1e-15));
  BOOST_TEST(matrix.table().find("spam      0.6667  0.6667  0.6667         3") !=
             std::string::npos);
  BOOST_TEST(svg_heat_maps({matrix.heat_map("t")}).find("predicted") != std::string::npos);

  BOOST_TEST(matrix.heat_map().values == (std::vector<double>{6, 1, 1, 2}),
             boost::test_tools::per_element());
  BOOST_TEST(matrix.correct() == 8);
  BOOST_TEST(matrix.total() == 10);

  ConfusionMatrix empty({"a", "b"});
  BOOST_TEST(std::isnan(empty.accuracy()));
  empty.add(0, 1);
  BOOST_TEST(empty.f1(0) == 0);
  empty.add(Ids{0}, Ids{0});
  BOOST_TEST(empty.f1(1) == 0);
  check_error_message<ArgumentError>([&] { empty.add(Ids{2}, Ids{0}); },
                                     "class 2 is out of range [0, 2)");
  check_error_message<ArgumentError>(
      [&] {
        empty.add(Ids{0, 1}, Ids{0});
      },
      "1 classes were predicted for 2");
  check_error_message<ArgumentError>([] { ConfusionMatrix({"a"}); },
                                     "needs at least two classes, not 1");
}

BOOST_AUTO_TEST_CASE(words_and_tfidf_features_match_values_computed_by_hand) {
  BOOST_TEST(
      words("Win 100! Caf\u00e9-bar", true) == (Texts{"win", "100", "!", "caf\u00e9", "-", "bar"}),
      boost::test_tools::per_element());
  BOOST_TEST(words("Win 100!", false) == (Texts{"win", "100"}), boost::test_tools::per_element());

  const Texts texts = {"a a b", "a c"};
  const TfIdf tfidf(texts, {.longest = 2, .frequency = TermFrequency::count});
  BOOST_TEST(tfidf.features() == 6);  // a, a a, a b, a c, b, c
  BOOST_TEST(tfidf.find("a b") >= 0);
  BOOST_TEST(tfidf.find("b a") == -1);
  // "a" occurs in both texts, so its idf is ln(3/3) + 1 = 1. All other features occur in one text,
  // so their idf is ln(3/2) + 1 = r.
  const double r = std::log(1.5) + 1;
  const SparseRows rows = tfidf(texts);
  BOOST_TEST(rows.rows == 2);
  const double length = std::sqrt(2 * 2 + 3 * r * r);  // "a" twice; "a a", "a b" and "b" once
  for (std::size_t i = 0; i < rows.row.size(); ++i) {
    if (rows.row[i] != 0) continue;
    const double wanted = rows.feature[i] == tfidf.find("a") ? 2 / length : r / length;
    BOOST_TEST(rows.value[i] == wanted, boost::test_tools::tolerance(1e-6));
  }
  const TfIdf logarithmic(texts, {.longest = 1, .frequency = TermFrequency::logarithmic});
  const SparseRows logs = logarithmic(Texts{"a a", "z"});
  BOOST_TEST(logs.rows == 2);  // a row without known features is empty
  BOOST_TEST(logs.value.size() == 1u);
  BOOST_TEST(logs.value[0] == 1.0f);
  BOOST_TEST(TfIdf(texts, {.longest = 1, .min_texts = 2}).features() == 1);
  check_error_message<ArgumentError>([&] { TfIdf(texts, {.longest = 0}); }, "longest (0)");
  check_error_message<ArgumentError>([] { TfIdf(Texts{" "}, {}); }, "the texts have no features");

  // Compare "a a b" with the same text, a text that shares only "a", and a text without known
  // features.
  const Texts three = {"a a b", "a a b", "a a b"}, others = {"a a b", "a z", "z"};
  const std::vector<double> cosines = row_products(tfidf(three), tfidf(others));
  BOOST_TEST(cosines[0] == 1, boost::test_tools::tolerance(1e-6));
  BOOST_TEST(cosines[1] == 2 / length, boost::test_tools::tolerance(1e-6));
  BOOST_TEST(cosines[2] == 0);
  check_error_message<ArgumentError>([&] { row_products(tfidf(three), tfidf(texts)); },
                                     "the numbers of rows differ: 3 and 2");
}

BOOST_AUTO_TEST_CASE(logistic_regression_converges_to_the_minimum) {
  // There is one feature. The class is 1 if the feature is positive, with one exception, so that
  // the minimum is finite.
  const SparseRows rows{4, {0, 1, 2, 3}, {0, 0, 0, 0}, {1, 2, -1, 1}};
  LogisticRegression model(rows, Ids{1, 1, 0, 0}, 1, 2, 1);
  const double l2 = 0.1;
  model.fit(l2);
  BOOST_TEST(model.gradient() < 1e-7);
  // The parameters of the two classes have opposite signs. With w and b of class 1, d loss / d w is
  // 0.
  const double w = model.parameters()[1], b = model.parameters()[3];
  BOOST_TEST(model.parameters()[0] == -w, boost::test_tools::tolerance(1e-5));
  double slope = l2 * w;
  const double x[] = {1, 2, -1, 1}, y[] = {1, 1, 0, 0};
  for (int i = 0; i < 4; ++i) slope += (1 / (1 + std::exp(-2 * (w * x[i] + b))) - y[i]) * x[i] / 4;
  BOOST_TEST(std::abs(slope) < 1e-6);
  BOOST_TEST(model.predict(SparseRows{2, {0, 1}, {0, 0}, {3, -3}}) == (Ids{1, 0}),
             boost::test_tools::per_element());
  check_error_message<ArgumentError>([&] { model.fit(-1); }, "l2 must not be negative: -1");
  check_error_message<ArgumentError>([&] { LogisticRegression(rows, Ids{1}, 1, 2); },
                                     "1 labels do not match 4 rows");
  check_error_message<ArgumentError>(
      [&] {
        LogisticRegression(rows, Ids{0, 0, 0, 0}, 1, 1);
      },
      "classes must be at least 2, not 1");
  check_error_message<ArgumentError>(
      [&] {
        LogisticRegression(rows, Ids{1, 1, 0, 0}, std::int64_t{1} << 30, 2);
      },
      "1073741824 features and 2 classes have too many parameters for L-BFGS");
  // Errors of the loss pass through the minimisation.
  LogisticRegression wrong(rows, Ids{1, 1, 0, 7}, 1, 2, 1);
  check_error_message<DataError>([&] { wrong.fit(l2); }, "7");
}

BOOST_AUTO_TEST_CASE(a_fit_that_starts_at_the_minimum_keeps_the_parameters) {
  const SparseRows rows{4, {0, 1, 2, 3}, {0, 0, 0, 0}, {1, 2, -1, 1}};
  LogisticRegression model(rows, Ids{1, 1, 0, 0}, 1, 2, 1);
  model.fit(0.1);
  const std::vector<double> parameters = model.parameters();
  model.fit(0.1);
  BOOST_TEST(model.gradient() < 1e-7);
  for (std::size_t i = 0; i < parameters.size(); ++i)
    BOOST_TEST(model.parameters()[i] == parameters[i], boost::test_tools::tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(the_baseline_is_tuned_on_the_training_set_only) {
  LabelledText train{{}, {}, {"ham", "spam"}}, test = train;
  for (int i = 0; i < 40; ++i) {
    const bool spam = i % 4 == 0;
    const std::string text = (spam ? "win a prize " : "see you soon ") + std::to_string(i);
    LabelledText& part = i < 30 ? train : test;
    part.texts.push_back(text);
    part.labels.push_back(spam ? 1 : 0);
  }
  const TextBaseline found = tfidf_baseline(train, test, 1, 3, 1);
  BOOST_TEST(found.test.accuracy() == 1);
  BOOST_TEST(found.validation_accuracy == 1);
  BOOST_TEST(found.tried == 32);
  // Also test the real dataset if it is available.
  const char* folder = std::getenv("WEFT_DATA");
  if (folder == nullptr) {
    BOOST_TEST_MESSAGE("skipped: WEFT_DATA is not set to the folder with the datasets");
    return;
  }
  const LabelledText sms =
      read_labelled_text(Texts{std::string(folder) + "/classification/SMSSpamCollection"});
  BOOST_TEST(sms.size() == 5574);
  const Split split = stratified_split(sms.labels, 0.2, 1);
  const LabelledText part = sms.subset(split.train);
  const TfIdf tfidf(part.texts, {});
  LogisticRegression model(tfidf(part.texts), part.labels, tfidf.features(), 2);
  model.fit(1e-5);
  ConfusionMatrix matrix(sms.names);
  const LabelledText rest = sms.subset(split.test);
  matrix.add(rest.labels, model.predict(tfidf(rest.texts)));
  BOOST_TEST(matrix.accuracy() > 0.98);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
