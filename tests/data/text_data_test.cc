#include <boost/test/unit_test.hpp>
#include <numeric>
#include <set>
#include <string>

#include "weft/core/error.h"
#include "weft/models/data/batching/token_batches.h"
#include "weft/serialization/files/read_file.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(text_data)
namespace {

std::vector<std::int32_t> counting(int n) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(n));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

BOOST_AUTO_TEST_CASE(the_default_split_is_nine_to_one) {
  const TextData data(counting(1005));
  BOOST_TEST(data.train_size() == 904);
  BOOST_TEST(data.validation_size() == 101);
  BOOST_CHECK_EXCEPTION(TextData(counting(10), 1.0), ArgumentError, [](const Error& e) {
    return std::string(e.what()) == "validation_fraction must be in [0, 1), not 1";
  });
}

BOOST_AUTO_TEST_CASE(random_windows_are_a_function_of_seed_step_and_row) {
  const TextData data(counting(1000));
  const TokenBatch a = data.random_windows(4, 16, 7, 3);
  BOOST_TEST(bitwise_equal(a.inputs, data.random_windows(4, 16, 7, 3).inputs));
  BOOST_TEST(!bitwise_equal(a.inputs, data.random_windows(4, 16, 7, 4).inputs));
  BOOST_TEST(!bitwise_equal(a.inputs, data.random_windows(4, 16, 8, 3).inputs));
  // Requesting more rows does not change the first rows.
  const TokenBatch more = data.random_windows(9, 16, 7, 3);
  for (std::int64_t i = 0; i < 64; ++i) {
    BOOST_TEST(more.inputs.at(i) == a.inputs.at(i));
    BOOST_TEST(a.targets.at(i) == a.inputs.at(i) + 1);
  }
}

BOOST_AUTO_TEST_CASE(random_windows_cover_every_position_and_stay_in_range) {
  const TextData data(counting(40), 0.5);
  std::set<double> starts;
  for (int step = 0; step < 100; ++step) {
    const TokenBatch batch = data.random_windows(8, 15, 1, step);
    for (int row = 0; row < 8; ++row) {
      starts.insert(batch.inputs.at(row * 15));
      BOOST_TEST(batch.targets.at(row * 15 + 14) < 20);
    }
  }
  BOOST_TEST(starts.size() == 5U);  // windows of 16 tokens in 20
  BOOST_CHECK_EXCEPTION(data.random_windows(1, 20, 1, 0), DataError, [](const Error& e) {
    return std::string(e.what()).find("has 20 tokens, but a window of 20 needs 21") !=
           std::string::npos;
  });
}

BOOST_AUTO_TEST_CASE(validation_windows_predict_every_token_once) {
  for (const int length : {1, 7, 10, 33, 49, 50, 64}) {
    const TextData data(counting(100), 0.5);
    std::set<double> predicted;
    std::int64_t count = 0;
    const ConsecutiveWindows windows = data.validation_windows(3, length);
    for (std::int64_t w = 0; w < windows.size(); ++w) {
      const TokenBatch batch = windows[w];
      BOOST_TEST(batch.inputs.size(0) <= 3);
      count += batch.tokens();
      for (std::int64_t i = 0; i < batch.tokens(); ++i) {
        predicted.insert(batch.targets.at(i));
        BOOST_TEST(batch.targets.at(i) == batch.inputs.at(i) + 1);
      }
    }
    BOOST_TEST(count == 49);
    BOOST_TEST(predicted.size() == 49U);
    BOOST_TEST(*predicted.begin() == 51);
    BOOST_TEST(*predicted.rbegin() == 99);
  }
  BOOST_CHECK_EXCEPTION(TextData(counting(9)).validation_windows(1, 4), DataError,
                        [](const Error& e) {
                          return std::string(e.what()).find("has 1 tokens") != std::string::npos;
                        });
}

BOOST_AUTO_TEST_CASE(errors_name_unreadable_files) {
  BOOST_CHECK_EXCEPTION(read_whole_file("/nowhere/text.txt"), IoError, [](const Error& e) {
    return std::string(e.what()) == "cannot read /nowhere/text.txt: No such file or directory";
  });
  BOOST_CHECK_EXCEPTION(read_whole_file("/tmp"), IoError, [](const Error& e) {
    return std::string(e.what()) == "cannot read /tmp: Is a directory";
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
