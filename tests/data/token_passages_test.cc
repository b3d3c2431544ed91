// Passages of documents in token files, for pre-training of encoder-decoder models.
#include "weft/models/data/batching/token_passages.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <set>

#include "token_samples.h"
#include "weft/core/error.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/support/text_files.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(token_passages)
namespace {

using testing::TemporaryFolder;
using testing::write_tokens;

TokenPassages passages(const TokenSet& set, std::int64_t tokens) {
  return {{{set, 0, set.tokens(), 1}}, tokens};
}

BOOST_AUTO_TEST_CASE(passages_cover_all_documents_without_end_marks) {
  const TemporaryFolder folder("passages");
  const Tokenizer tokenizer = testing::letters(true);
  const TokenSet set = write_tokens(folder.path("set"), tokenizer, {"abcdefg", "h", "ijk"}, 16);
  BOOST_REQUIRE(set.end_id() >= 0);
  TokenIds all;
  for (const std::int32_t id : testing::all_ids(set)) {
    if (id != set.end_id()) all.push_back(id);
  }
  for (const std::int64_t tokens : {2, 3, 5, 11, 100}) {
    const TokenPassages found = passages(set, tokens);
    BOOST_TEST(found.tokens() == set.tokens());
    BOOST_TEST(found.documents() == 3);
    std::set<std::int64_t> seen;
    for (const std::int64_t i : found.cover()) {
      const std::vector<TokenIds> passage = found.at(i);
      BOOST_TEST_REQUIRE(passage.size() == 1U);
      const TokenIds& ids = passage.front();
      BOOST_TEST(ids.size() >= 2U);
      BOOST_TEST(std::ssize(ids) <= tokens);
      // Every letter occurs once, so the first letter determines the position of a passage.
      const auto at = std::find(all.begin(), all.end(), ids.front());
      BOOST_TEST((std::equal(ids.begin(), ids.end(), at)));
      seen.insert(ids.begin(), ids.end());
    }
    BOOST_TEST(seen.size() == all.size());
    check_error_message<ArgumentError>([&] { found.at(found.count()); }, "is outside [0, ");
  }
}

BOOST_AUTO_TEST_CASE(random_passages_begin_at_any_position_and_respect_source_weights) {
  const TemporaryFolder folder("passages");
  const Tokenizer tokenizer = testing::letters(true);
  const TokenSet a = write_tokens(folder.path("a"), tokenizer, {"abcdefgh"});
  const TokenSet b = write_tokens(folder.path("b"), tokenizer, {"ijklmnop"});
  const TokenPassages found({{a, 0, a.tokens(), 3}, {b, 0, b.tokens(), 1}}, 4);
  const std::int64_t last_of_a = tokenizer.encode("h").front();
  Rng rng(5);
  std::set<std::int64_t> starts;
  int from_a = 0;
  for (int i = 0; i < 1000; ++i) {
    const TokenIds ids = found.random(rng).front();
    BOOST_TEST(ids.size() >= 2U);
    starts.insert(ids.front());
    from_a += ids.front() <= last_of_a ? 1 : 0;
  }
  BOOST_TEST(from_a > 700);
  BOOST_TEST(from_a < 800);
  BOOST_TEST(starts.size() >= 8U);
  Rng one(7), other(7);
  BOOST_TEST((found.random(one) == found.random(other)));
}

BOOST_AUTO_TEST_CASE(too_little_text_for_a_passage_is_an_error) {
  const TemporaryFolder folder("passages");
  const TokenSet set = write_tokens(folder.path("set"), testing::letters(true), {"a"});
  check_error_message<DataError>([&] { passages(set, 4); }, "a passage needs at least 2");
  check_error_message<ArgumentError>([&] { passages(set, 1); },
                                     "a passage needs at least 2 tokens, not 1");
  check_error_message<DataError>([&] { TokenPassages({}, 8); }, "no text to train on");
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
