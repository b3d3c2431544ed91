// Text pairs: files, splits by source text, batches of pairs of similar length, and the string
// reversal task.
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/data/batching/pair_batches.h"
#include "weft/models/data/formats/parallel_text.h"
#include "weft/models/data/formats/reversal.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(parallel_text)
namespace {

using testing::says;

class File {
 public:
  explicit File(const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              ("weft_pairs_" + std::to_string(getpid()) + ".tsv")) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~File() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

BOOST_AUTO_TEST_CASE(pairs_are_read_from_columns) {
  const File file("Go.\tG\u00e5.\tCC-BY\n\n Run! \t Spring! \r\nHi.\tHej");
  const std::vector<TextPair> wanted = {{"Go.", "G\u00e5."}, {"Run!", "Spring!"}, {"Hi.", "Hej"}};
  BOOST_TEST((read_text_pairs(file.path()) == wanted));
}

BOOST_AUTO_TEST_CASE(errors_state_which_lines_are_not_pairs) {
  BOOST_CHECK_EXCEPTION(read_text_pairs(File("a\tb\nonly one\n").path()), FormatError,
                        says("line 2: there is no second column; expected source <tab> target"));
  BOOST_CHECK_EXCEPTION(read_text_pairs(File(" \tb\n").path()), FormatError,
                        says("line 1: the source is empty"));
  BOOST_CHECK_EXCEPTION(read_text_pairs(File("a\t \tc\n").path()), FormatError,
                        says("line 1: the target is empty"));
  BOOST_CHECK_EXCEPTION(read_text_pairs(File("a\t\xff\n").path()), FormatError, says("line 1: "));
  BOOST_CHECK_EXCEPTION(read_text_pairs(File("\n\n").path()), FormatError,
                        says("has no text pairs"));
  BOOST_CHECK_EXCEPTION(read_text_pairs("/nowhere.tsv"), IoError, says("/nowhere.tsv"));
}

std::vector<TextPair> some_pairs() {
  std::vector<TextPair> pairs;
  for (int i = 0; i < 300; ++i)
    pairs.push_back({"source " + std::to_string(i / 3), "target " + std::to_string(i)});
  return pairs;
}

BOOST_AUTO_TEST_CASE(no_source_occurs_in_two_splits) {
  const TextPairSplit split = split_by_source(some_pairs(), 0.1, 7);
  BOOST_TEST(split.train.size() == 240U);
  BOOST_TEST(split.validation.size() == 30U);
  BOOST_TEST(split.test.size() == 30U);
  std::set<std::string> train, validation, test, all;
  const auto sources = [&](const std::vector<TextPair>& pairs, std::set<std::string>& into) {
    for (const TextPair& pair : pairs) {
      into.insert(pair.source);
      all.insert(pair.target);
    }
  };
  sources(split.train, train);
  sources(split.validation, validation);
  sources(split.test, test);
  BOOST_TEST(train.size() + validation.size() + test.size() == 100U);
  for (const auto* part : {&validation, &test}) {
    for (const std::string& source : *part) BOOST_TEST(!train.contains(source));
  }
  for (const std::string& source : validation) BOOST_TEST(!test.contains(source));
  BOOST_TEST(all.size() == 300U);

  BOOST_TEST((split_by_source(some_pairs(), 0.1, 7).test == split.test));
  BOOST_TEST((split_by_source(some_pairs(), 0.1, 8).test != split.test));
  BOOST_CHECK_EXCEPTION(split_by_source(some_pairs(), 0.5, 7), ArgumentError,
                        says("must be in (0, 0.5), not 0.5"));
  BOOST_CHECK_EXCEPTION(split_by_source({{"a", "b"}, {"c", "d"}}, 0.1, 7), DataError,
                        says("2 distinct sources cannot be split"));
}

BOOST_AUTO_TEST_CASE(test_cases_contain_all_translations_of_a_source) {
  const auto cases = group_by_source({{"a", "1"}, {"b", "2"}, {"a", "3"}, {"a", "1"}});
  BOOST_TEST(cases.size() == 2U);
  BOOST_TEST(cases[0].source == "a");
  BOOST_TEST((cases[0].references == std::vector<std::string>{"1", "3"}));
  BOOST_TEST((cases[1].references == std::vector<std::string>{"2"}));
}

/// Returns `count` pairs of varying lengths. The source and the target of pair i repeat the id
/// i + 1.
std::vector<IdPair> id_pairs(std::size_t count) {
  std::vector<IdPair> pairs;
  for (std::size_t i = 0; i < count; ++i) {
    IdPair& pair = pairs.emplace_back();
    pair.source.assign(1 + (i * 7) % 11, static_cast<std::int32_t>(i + 1));
    pair.target.assign(1 + (i * 5) % 9, static_cast<std::int32_t>(i + 1));
  }
  return pairs;
}

BOOST_AUTO_TEST_CASE(an_epoch_contains_every_pair_once_with_little_padding) {
  const std::vector<IdPair> pairs = id_pairs(200);
  PairBatches batches(pairs, 48, 0);
  BOOST_TEST(batches.size() == 200);
  std::vector<std::vector<std::size_t>> orders;
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    std::multiset<std::size_t> seen;
    std::vector<std::size_t>& order = orders.emplace_back();
    for (std::int64_t i = 0; i < batches.per_epoch(); ++i) {
      const PairBatch batch = batches.batch(3, epoch * batches.per_epoch() + i);
      const std::int64_t rows = batch.source.size(0), length = batch.source.size(1);
      BOOST_TEST(rows * length <= 48);
      BOOST_TEST((batch.labels.sizes() == Sizes{rows, length}));
      BOOST_TEST(static_cast<std::int64_t>(batch.pairs.size()) == rows);
      std::int64_t counted = 0;
      std::size_t shortest = 100;
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::size_t index = batch.pairs[static_cast<std::size_t>(r)];
        const IdPair& pair = pairs[index];
        shortest = std::min(shortest, pair.longer());
        for (std::int64_t t = 0; t < length; ++t) {
          const auto at = static_cast<std::size_t>(t);
          const auto source = batch.source.data<std::int32_t>()[r * length + t];
          const auto label = batch.labels.data<std::int32_t>()[r * length + t];
          BOOST_TEST(source == (at < pair.source.size() ? pair.source[at] : 0));
          BOOST_TEST(label == (at < pair.target.size() ? pair.target[at] : -100));
          counted += label != -100;
        }
        seen.insert(index);
        order.push_back(index);
      }
      BOOST_TEST(counted == batch.labels_counted);
      BOOST_TEST(static_cast<std::int64_t>(shortest) >= length - 3);
    }
    BOOST_TEST(seen.size() == 200U);
    BOOST_TEST((std::set<std::size_t>(seen.begin(), seen.end()).size()) == 200U);
  }
  BOOST_TEST((orders[0] != orders[1]));
}

BOOST_AUTO_TEST_CASE(a_batch_is_a_function_of_seed_and_step) {
  PairBatches one(id_pairs(100), 40, 0), other(id_pairs(100), 40, 0);
  const std::int64_t later = one.per_epoch() + 2;
  for (std::int64_t step = 0; step < later; ++step) one.batch(5, step);
  BOOST_TEST((one.batch(5, later).pairs == other.batch(5, later).pairs));
  BOOST_TEST((one.batch(5, 1).pairs == other.batch(5, 1).pairs));
  BOOST_TEST(bitwise_equal(one.batch(5, 3).source, other.batch(5, 3).source));
  std::vector<std::size_t> a, b;
  for (std::int64_t step = 0; step < one.per_epoch(); ++step) {
    for (const std::size_t pair : one.batch(5, step).pairs) a.push_back(pair);
    for (const std::size_t pair : one.batch(6, step).pairs) b.push_back(pair);
  }
  BOOST_TEST((a != b));
}

BOOST_AUTO_TEST_CASE(a_pair_longer_than_the_batch_size_forms_its_own_batch) {
  std::vector<IdPair> pairs = id_pairs(5);
  pairs[2].source.assign(50, 9);
  const PairBatches batches(pairs, 20, 0);
  const PairBatch last = batches.in_order(batches.per_epoch() - 1);
  BOOST_TEST((last.source.sizes() == Sizes{1, 50}));
  BOOST_CHECK_EXCEPTION(PairBatches({}, 20, 0), ArgumentError, says("there are no pairs"));
  BOOST_CHECK_EXCEPTION(PairBatches(pairs, 0, 0), ArgumentError, says("at least 1 token, not 0"));
  BOOST_CHECK_EXCEPTION(PairBatches({{{1}, {}}}, 20, 0), ArgumentError,
                        says("pair 0 has an empty side"));
}

BOOST_AUTO_TEST_CASE(every_shard_of_a_batch_contains_at_least_one_pair) {
  const std::vector<IdPair> pairs = id_pairs(37);
  const PairBatches batches(pairs, 1, 0, 4);
  std::size_t seen = 0;
  for (std::int64_t step = 0; step < batches.per_epoch(); ++step) {
    for (std::int64_t shard = 0; shard < 4; ++shard) {
      const PairBatch part = batches.batch(5, {step, shard, 4});
      BOOST_TEST(!part.pairs.empty());
      seen += part.pairs.size();
    }
  }
  BOOST_TEST(seen == 37U);
  BOOST_CHECK_EXCEPTION(
      PairBatches(id_pairs(3), 20, 0, 4), ArgumentError,
      says("3 pairs are too few for batches of 4 shards: each shard needs at least one"));
}

BOOST_AUTO_TEST_CASE(reversal_targets_are_the_reversed_sources) {
  const auto pairs = reversal_pairs(500, 3, {.alphabet = "xyz", .min_length = 2, .max_length = 5});
  std::set<std::size_t> lengths;
  for (const TextPair& pair : pairs) {
    BOOST_TEST(std::string(pair.source.rbegin(), pair.source.rend()) == pair.target);
    BOOST_TEST(pair.source.find_first_not_of("xyz") == std::string::npos);
    lengths.insert(pair.source.size());
  }
  BOOST_TEST((lengths == std::set<std::size_t>{2, 3, 4, 5}));
  BOOST_TEST(
      (reversal_pairs(500, 3, {.alphabet = "xyz", .min_length = 2, .max_length = 5}) == pairs));
  BOOST_CHECK_EXCEPTION(reversal_pairs(1, 1, {.alphabet = ""}), ArgumentError, says("is empty"));
  BOOST_CHECK_EXCEPTION(reversal_pairs(1, 1, {.min_length = 3, .max_length = 2}), ArgumentError,
                        says("1 <= min <= max, but are 3 and 2"));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
