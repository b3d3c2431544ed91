// Masking for masked language models, and sentence pairs: rates and exact definitions.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>

#include "weft/core/error.h"
#include "weft/models/data/batching/token_rows.h"
#include "weft/models/data/corruption/masking.h"
#include "weft/models/data/formats/documents.h"
#include "weft/models/data/formats/sentence_pairs.h"
#include "weft/tests/support/text_files.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(masking)
namespace {

using Ids = std::vector<std::int32_t>;

/// Ids 0 to 6 are special, and id 6 is the mask. Even ids start a word.
MaskingOptions options(std::int64_t vocab = 1000) {
  MaskingOptions result{.mask_id = 6};
  for (std::int64_t id = 0; id < vocab; ++id) {
    result.special.push_back(id < 7 ? 1 : 0);
    result.word_start.push_back(id % 2 == 0 ? 1 : 0);
  }
  return result;
}

/// Returns a row that consists of [CLS], 200 tokens and [SEP].
Ids sentence(std::int64_t row) {
  Ids ids = {4};
  for (std::int32_t i = 0; i < 200; ++i)
    ids.push_back(7 + (i * 31 + static_cast<std::int32_t>(row) * 17) % 993);
  ids.push_back(5);
  return ids;
}

BOOST_AUTO_TEST_CASE(fifteen_percent_of_tokens_are_selected_as_in_the_paper) {
  std::int64_t selected = 0, masked = 0, kept = 0, changed = 0;
  for (std::int64_t row = 0; row < 200; ++row) {
    const Ids ids = sentence(row);
    const MaskedTokens tokens = masked_tokens(ids, options(), 1, 0, row);
    std::int64_t here = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (tokens.labels[i] == -100) {
        BOOST_TEST(tokens.ids[i] == ids[i]);
        continue;
      }
      BOOST_TEST(tokens.labels[i] == ids[i]);
      ++here;
      if (tokens.ids[i] == 6) {
        ++masked;
      } else {
        BOOST_TEST(tokens.ids[i] >= 7);
        ++(tokens.ids[i] == ids[i] ? kept : changed);
      }
    }
    BOOST_TEST(here == 30);  // 15% of 200 tokens, in every row
    BOOST_TEST(tokens.labels.front() == -100);
    BOOST_TEST(tokens.labels.back() == -100);
    selected += here;
  }
  // For 6000 samples, three standard deviations are 0.016 for a fraction of 0.8 and 0.012 for a
  // fraction of 0.1.
  const auto share = [&](std::int64_t n) { return static_cast<double>(n) / selected; };
  BOOST_TEST(std::abs(share(masked) - 0.8) < 0.016);
  BOOST_TEST(std::abs(share(kept) - 0.1) < 0.012);
  BOOST_TEST(std::abs(share(changed) - 0.1) < 0.012);
}

BOOST_AUTO_TEST_CASE(masking_is_a_function_of_seed_step_and_row) {
  const Ids ids = sentence(0);
  const auto labels = [&](std::uint64_t seed, std::int64_t step, std::int64_t row) {
    return masked_tokens(ids, options(), seed, step, row).labels;
  };
  const std::set<Ids> all = {labels(1, 2, 3), labels(1, 2, 3), labels(2, 2, 3), labels(1, 3, 3),
                             labels(1, 2, 4)};
  BOOST_TEST(all.size() == 4);
}

BOOST_AUTO_TEST_CASE(whole_words_are_masked_together) {
  // The row has words of one to four tokens.
  Ids ids = {4};
  std::vector<std::pair<std::size_t, std::size_t>> words;  // begin, size
  for (std::size_t w = 0; w < 40; ++w) {
    words.emplace_back(ids.size(), 1 + w % 4);
    for (std::size_t i = 0; i < 1 + w % 4; ++i)
      ids.push_back(static_cast<std::int32_t>(8 + 10 * w + (i == 0 ? 0 : 1)));
  }
  ids.push_back(5);
  MaskingOptions whole = options();
  whole.whole_words = true;
  std::map<std::size_t, int> hidden_sizes;
  for (std::int64_t row = 0; row < 50; ++row) {
    const MaskedTokens tokens = masked_tokens(ids, whole, 1, 0, row);
    std::int64_t count = 0;
    for (const auto& [begin, size] : words) {
      const bool first = tokens.labels[begin] != -100;
      for (std::size_t i = begin; i < begin + size; ++i)
        BOOST_TEST((tokens.labels[i] != -100) == first);
      if (first) {
        count += static_cast<std::int64_t>(size);
        ++hidden_sizes[size];
      }
    }
    BOOST_TEST(count <= 15);  // 15% of 100
    BOOST_TEST(count >= 14);
  }
  BOOST_TEST(hidden_sizes.size() == 4u);
}

BOOST_AUTO_TEST_CASE(masking_a_short_row_masks_one_token_and_no_special_tokens) {
  const MaskedTokens one = masked_tokens(Ids{4, 9, 5}, options(), 1, 0, 0);
  BOOST_TEST(one.labels == (Ids{-100, 9, -100}), boost::test_tools::per_element());
  const MaskedTokens none = masked_tokens(Ids{4, 5}, options(), 1, 0, 0);
  BOOST_TEST(none.labels == (Ids{-100, -100}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(masking_options_out_of_range_are_rejected) {
  MaskingOptions bad = options();
  bad.rate = 1.5;
  check_error_message<ArgumentError>([&] { masked_tokens(Ids{9}, bad, 1, 0, 0); },
                                     "rate must be in [0, 1], not 1.5");
  bad = options();
  bad.random_share = 0.5;
  check_error_message<ArgumentError>([&] { masked_tokens(Ids{9}, bad, 1, 0, 0); },
                                     "random_share must be");
  check_error_message<ArgumentError>([] { masked_tokens(Ids{9}, MaskingOptions{}, 1, 0, 0); },
                                     "must have an entry for every id");
  check_error_message<DataError>([] { masked_tokens(Ids{1000}, options(), 1, 0, 0); },
                                 "token id 1000 is outside the vocabulary [0, 1000)");
}

/// Returns documents in which sentence s of document d is {100 d + s}. Document 2 has one sentence;
/// the others have five.
std::vector<Document> documents() {
  std::vector<Document> result(4);
  for (std::int32_t d = 0; d < 4; ++d) {
    for (std::int32_t s = 0; s < (d == 2 ? 1 : 5); ++s)
      result[static_cast<std::size_t>(d)].push_back({100 * d + s});
  }
  return result;
}

BOOST_AUTO_TEST_CASE(second_sentences_follow_the_first_or_come_from_another_document) {
  const SentencePairs pairs(documents(), PairTask::next_sentence, 2);
  BOOST_TEST(pairs.places() == 12);
  BOOST_TEST(pairs.tokens() == 16);
  std::int64_t wrong = 0;
  std::set<std::int32_t> firsts;
  for (std::int64_t row = 0; row < 400; ++row) {
    const SentencePair pair = pairs.random(1, 0, row);
    firsts.insert(pair.first.front());
    if (pair.label == 0) {
      BOOST_TEST(pair.second.front() == pair.first.front() + 1);
    } else {
      BOOST_TEST(pair.second.front() / 100 != pair.first.front() / 100);
      ++wrong;
    }
  }
  BOOST_TEST(std::abs(wrong - 200) < 30);  // three standard deviations
  BOOST_TEST(firsts.size() == 12u);        // all sentences that have a successor
}

BOOST_AUTO_TEST_CASE(sentence_order_pairs_swap_adjacent_sentences) {
  const SentencePairs pairs(documents(), PairTask::sentence_order, 2);
  std::int64_t swapped = 0;
  for (std::int64_t row = 0; row < 400; ++row) {
    const SentencePair pair = pairs.random(1, 0, row);
    BOOST_TEST(pair.second.front() - pair.first.front() == (pair.label == 0 ? 1 : -1));
    swapped += pair.label;
  }
  BOOST_TEST(std::abs(swapped - 200) < 30);
}

/// Returns documents with 12 two-token sentences each. Sentence s of document d is {1000 d + 2 s,
/// 1000 d + 2 s + 1}.
std::vector<Document> long_documents() {
  std::vector<Document> result(3);
  for (std::int32_t d = 0; d < 3; ++d) {
    for (std::int32_t s = 0; s < 12; ++s)
      result[static_cast<std::size_t>(d)].push_back({1000 * d + 2 * s, 1000 * d + 2 * s + 1});
  }
  return result;
}

bool run_of_numbers(const Ids& ids) {
  for (std::size_t i = 1; i < ids.size(); ++i) {
    if (ids[i] != ids[i - 1] + 1) return false;
  }
  return true;
}

BOOST_AUTO_TEST_CASE(segments_are_whole_sentences_that_fill_the_available_length) {
  for (const PairTask task : {PairTask::next_sentence, PairTask::sentence_order}) {
    const SentencePairs pairs(long_documents(), task, 9);
    std::int64_t full = 0, free = 0;
    std::set<std::size_t> firsts;
    for (std::int64_t row = 0; row < 400; ++row) {
      const SentencePair pair = pairs.random(1, 0, row);
      BOOST_TEST((pair.first.size() % 2 == 0 && !pair.first.empty()));
      BOOST_TEST((pair.second.size() % 2 == 0 && !pair.second.empty()));
      BOOST_TEST(run_of_numbers(pair.first));
      BOOST_TEST(run_of_numbers(pair.second));
      firsts.insert(pair.first.size());
      if (pair.label == 0) BOOST_TEST(pair.second.front() == pair.first.back() + 1);
      if (pair.label == 1 && task == PairTask::sentence_order)
        BOOST_TEST(pair.first.front() == pair.second.back() + 1);
      if (pair.label == 1 && task == PairTask::next_sentence)
        BOOST_TEST(pair.first.front() / 1000 != pair.second.front() / 1000);
      // There is room for five sentences, unless the pair begins near the end of the document.
      if (pair.label == 1 || pair.first.front() % 1000 > 12) continue;
      ++free;
      full += pair.first.size() + pair.second.size() == 10 ? 1 : 0;
    }
    BOOST_TEST(full * 100 > 85 * free);  // a tenth of the pairs are deliberately shorter
    BOOST_TEST(full < free);
    BOOST_TEST(firsts.size() > 3u);  // the first segment has one to four sentences
    // The position in the dataset determines the sentence with which the pair begins.
    BOOST_TEST(std::min(pairs.at(13, 1, 0, 0).first.front(), pairs.at(13, 1, 0, 0).second.front()) %
                   1000 ==
               4);
  }
}

BOOST_AUTO_TEST_CASE(blank_lines_separate_documents) {
  const TextFiles files("documents");
  const std::vector<std::string> paths = {files.write("a", "\n one \ntwo\r\n\n \n\nthree"),
                                          files.write("b", "four\n"), files.write("c", "")};
  const std::vector<TextDocument> found = read_documents(paths);
  const std::vector<TextDocument> expected = {{"one", "two"}, {"three"}, {"four"}};
  BOOST_TEST((found == expected));
  const std::vector<std::string> nowhere = {"/nowhere"};
  check_error_message<IoError>([&] { read_documents(nowhere); }, "/nowhere");
}

BOOST_AUTO_TEST_CASE(pairs_are_joined_and_the_longer_segment_is_truncated) {
  const SentencePair pair{{10, 11}, {20, 21, 22, 23}, 0};
  const PairTokens whole = join_pair(pair, 4, 5, 64);
  BOOST_TEST(whole.ids == (Ids{4, 10, 11, 5, 20, 21, 22, 23, 5}), boost::test_tools::per_element());
  BOOST_TEST(whole.token_types == (Ids{0, 0, 0, 0, 1, 1, 1, 1, 1}),
             boost::test_tools::per_element());
  BOOST_TEST(join_pair(pair, 4, 5, 7).ids == (Ids{4, 10, 11, 5, 20, 21, 5}),
             boost::test_tools::per_element());
  check_error_message<ArgumentError>([&] { join_pair(pair, 4, 5, 4); },
                                     "needs a context of at least 5, not 4");
  check_error_message<ArgumentError>(
      [] {
        SentencePairs({{{1}}, {{2}, {}}}, PairTask::sentence_order, 2);
      },
      "a document with at least two sentences: there are 2 documents");
  check_error_message<ArgumentError>(
      [] {
        SentencePairs({{{1}, {2}}, {{}}}, PairTask::next_sentence, 2);
      },
      "need at least two documents");
  check_error_message<ArgumentError>(
      [] { SentencePairs(documents(), PairTask::sentence_order, 1); },
      "a pair needs at least 2 tokens, not 1");
  check_error_message<ArgumentError>(
      [] { SentencePairs(documents(), PairTask::sentence_order, 2).at(12, 1, 0, 0); },
      "place 12 is outside [0, 12)");
}

BOOST_AUTO_TEST_CASE(rows_are_padded_to_a_multiple_of_the_granularity) {
  const std::vector<Ids> rows = {with_ends(Ids{9, 8, 7}, 4, 5, 4), with_ends(Ids{9}, 4, 5, 64)};
  BOOST_TEST(rows[0] == (Ids{4, 9, 8, 5}), boost::test_tools::per_element());
  const TokenRows batch = pad_rows(rows, 0, 6);
  BOOST_TEST((batch.ids.sizes() == Sizes{2, 6}));
  BOOST_TEST(batch.ids.to_vector<std::int32_t>() == (Ids{4, 9, 8, 5, 0, 0, 4, 9, 5, 0, 0, 0}),
             boost::test_tools::per_element());
  BOOST_TEST(batch.mask.to_vector<std::int32_t>() == (Ids{1, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 0}),
             boost::test_tools::per_element());
  // Rows are never padded beyond the context of the model.
  BOOST_TEST((pad_rows(rows, 0, 16, 11).ids.sizes() == Sizes{2, 11}));
  check_error_message<ArgumentError>([] { with_ends(Ids{9}, 4, 5, 1); },
                                     "need a context of at least 2 tokens, not 1");
  check_error_message<ArgumentError>([] { pad_rows(std::vector<Ids>{}, 0); },
                                     "at least one row that is not empty");
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
