// Training settings and histories: validation and round trips through files.
#include "weft/models/training/settings.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(train_settings)
namespace {

using testing::says;

BOOST_AUTO_TEST_CASE(settings_and_history_round_trip) {
  TrainSettings settings;
  settings.lr = 0.1 + 0.2;
  settings.seed = ~std::uint64_t{0};
  settings.precision = Precision::medium;
  BOOST_TEST((TrainSettings::from_json(settings.to_json()) == settings));
  // Files in the first format version have no precision setting.
  const std::string part = R"("precision":"medium",)";
  std::string older = settings.to_json();
  BOOST_TEST_REQUIRE(older.find(part) != std::string::npos);
  older.erase(older.find(part), part.size());
  BOOST_TEST((TrainSettings::from_json(older).precision == Precision::highest));
  settings.schedule = LearningRate::inverse_sqrt;
  BOOST_TEST((TrainSettings::from_json(settings.to_json()) == settings));
  settings.warmup = 0;
  BOOST_CHECK_EXCEPTION(settings.check(), ArgumentError, says("warmup must be at least 1"));
  BOOST_CHECK_EXCEPTION(parse_choice<LearningRate>("steps"), ArgumentError,
                        says("unknown schedule 'steps': expected one of cosine, linear"));
  settings.schedule = LearningRate::cosine;
  settings.warmup = settings.steps;
  BOOST_CHECK_EXCEPTION(settings.check(), ArgumentError, says("warmup must be less than steps"));
  BOOST_CHECK_EXCEPTION(TrainHistory::from_json(R"({"train": [[1, "x"]], "validation": []})"),
                        FormatError,
                        says("the training history contains the entry [1,\"x\"] in 'train'"));
  settings = TrainSettings{.patience = -1};
  BOOST_CHECK_EXCEPTION(settings.check(), ArgumentError, says("patience must be at least 0"));
  settings = TrainSettings{.eval_every = 0, .patience = 3};
  BOOST_CHECK_EXCEPTION(settings.check(), ArgumentError,
                        says("patience counts periodic evaluations: eval_every must be"));
  TrainHistory history{.train = {{1, 4.25}, {2, 4.125}}};
  history.add(2, {4.0, {{"accuracy", 0.5}}}, 7);
  const TrainHistory again = TrainHistory::from_json(history.to_json());
  BOOST_TEST((again.train == history.train));
  BOOST_TEST((again.validation == history.validation));
  BOOST_TEST((again.metrics == history.metrics));
  BOOST_TEST((again.validation_batches == std::vector<std::int64_t>{7}));
  // Files in the first format version have no metrics.
  BOOST_TEST(TrainHistory::from_json(R"({"train": [], "validation": []})").metrics.empty());
  const std::string curve = history.svg("run"), all = "validation, whole set";
  BOOST_TEST(curve.find("validation") != std::string::npos);
  BOOST_TEST(curve.find(all) == std::string::npos);
  history.add(2, {3.0}, 0);
  BOOST_TEST(history.svg("run").find(all) != std::string::npos);
}

// If a field is added to the struct, this test does not compile until the field is added here.
BOOST_AUTO_TEST_CASE(every_field_of_the_settings_round_trips) {
  const TrainSettings plain;
  const auto check_round_trip = [&](const auto& change) {
    TrainSettings changed;
    auto& [steps, batch, shards, lr, min_lr, schedule, warmup, optimizer, beta1, beta2,
           weight_decay, clip, validation_fraction, ema, seed, precision, eval_every, eval_batches,
           save_every, patience, skip_nonfinite] = changed;
    ema = 0.5;
    change(std::tie(steps, batch, eval_every, eval_batches, save_every, patience, skip_nonfinite,
                    warmup, shards),
           std::tie(lr, beta1, beta2, weight_decay, clip, validation_fraction, min_lr, ema),
           std::tie(schedule, seed, precision, optimizer));
    BOOST_TEST((changed != plain));
    BOOST_TEST((TrainSettings::from_json(changed.to_json()) == changed), changed.to_json());
  };
  const auto each = [&]<std::size_t... I>(std::index_sequence<I...>, const auto& one) {
    (one(std::integral_constant<std::size_t, I>()), ...);
  };
  each(std::make_index_sequence<9>(), [&](auto i) {
    check_round_trip(
        [&](const auto& integers, const auto&, const auto&) { std::get<i>(integers) += 7; });
  });
  each(std::make_index_sequence<8>(), [&](auto i) {
    check_round_trip(
        [&](const auto&, const auto& reals, const auto&) { std::get<i>(reals) *= 0.75; });
  });
  check_round_trip([](const auto&, const auto&, const auto& others) {
    std::get<0>(others) = LearningRate::linear;
  });
  check_round_trip([](const auto&, const auto&, const auto& others) { std::get<1>(others) += 7; });
  check_round_trip([](const auto&, const auto&, const auto& others) {
    std::get<2>(others) = Precision::medium;
  });
  check_round_trip([](const auto&, const auto&, const auto& others) {
    std::get<3>(others) = Optimizer::adafactor;
  });
}

// The history records the number of batches in each evaluation. Only evaluations over the same
// number of batches are compared.
BOOST_AUTO_TEST_CASE(the_best_evaluation_is_found_in_the_history) {
  TrainHistory history;
  BOOST_TEST(std::isnan(history.best(5).loss));
  BOOST_TEST(history.best(5).since == 0);
  history.add(10, {std::numeric_limits<double>::quiet_NaN()}, 5);
  BOOST_TEST(std::isnan(history.best(5).loss));
  BOOST_TEST(history.best(5).since == 1);
  history.add(20, {3.0}, 5);
  history.add(30, {2.5}, 5);
  history.add(40, {2.5}, 5);
  history.add(40, {1.5}, 0);
  history.add(50, {-std::numeric_limits<double>::infinity()}, 5);
  history.add(60, {2.75}, 5);
  BOOST_TEST(history.best(5).step == 30);
  BOOST_TEST(history.best(5).loss == 2.5);
  BOOST_TEST(history.best(5).since == 3);
  BOOST_TEST(history.best(0).step == 40);
  BOOST_TEST(history.best(0).since == 0);
  BOOST_TEST(std::isnan(history.best(6).loss));
  BOOST_TEST(history.has_evaluation(40, 0));
  BOOST_TEST(!history.has_evaluation(30, 0));
  BOOST_TEST(TrainHistory::from_json(history.to_json()).best(0).step == 40);

  // Files in the first format version do not record the number of batches, so their evaluations are
  // not compared.
  TrainHistory older =
      TrainHistory::from_json(R"({"train": [], "validation": [[1, 2.0], [2, 1.0]]})");
  BOOST_TEST(std::isnan(older.best(5).loss));
  BOOST_TEST(std::isnan(older.best(0).loss));
  older.add(3, {1.5}, 5);
  BOOST_TEST(older.best(5).step == 3);
  BOOST_TEST((older.validation_batches == std::vector<std::int64_t>{-1, -1, 5}));
  for (const char* wrong : {"3", "[1, 2]", "[0.5]"}) {
    BOOST_CHECK_EXCEPTION(
        TrainHistory::from_json(fmt::format(
            R"({{"train": [], "validation": [[1, 2.0]], "validation_batches": {}}})", wrong)),
        FormatError,
        says("'validation_batches' must be a list of integers, at most one for each entry of"));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
