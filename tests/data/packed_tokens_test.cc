// Packing of documents from token files into rows of equal length.
#include "weft/models/text/tokens/packed_tokens.h"

#include <boost/test/unit_test.hpp>
#include <set>

#include "token_samples.h"
#include "weft/core/error.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/support/text_files.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(packed_tokens)
namespace {

using testing::TemporaryFolder;
using testing::write_tokens;

const std::vector<std::string> kTexts = {"one two three four five six seven", "eight nine", "ten",
                                         "eleven twelve"};

Tokenizer pieces() {
  return SentencePieceTokenizer::train(kTexts, {.vocab = 60, .character_coverage = 1});
}

PackedTokens packed(const TokenSet& set, std::int64_t context) {
  return {{{set, 0, set.tokens(), 1}}, context};
}

BOOST_AUTO_TEST_CASE(rows_contain_documents_with_separators_and_no_padding) {
  const TemporaryFolder folder("packed");
  const Tokenizer tokenizer = pieces();
  const TokenSet set = write_tokens(folder.path("set"), tokenizer, kTexts, 16);
  BOOST_REQUIRE(set.end_id() >= 0);
  // Rows are consecutive slices of this stream, in which each end-of-text id is replaced by the
  // separator.
  std::vector<std::int32_t> stream = testing::all_ids(set);
  for (std::int32_t& id : stream) {
    if (id == set.end_id()) id = tokenizer.sep_id();
  }
  for (const std::int64_t context : {3, 7, 16, 200}) {
    const PackedTokens rows = packed(set, context);
    BOOST_TEST(rows.tokens() == set.tokens());
    BOOST_TEST(rows.documents() == 4);
    for (std::int64_t i = 0; i < rows.rows(); ++i) {
      const std::vector<std::int32_t> row = rows.row(i);
      BOOST_TEST(std::ssize(row) == context);
      BOOST_TEST(row.front() == tokenizer.cls_id());
      for (std::int64_t j = 1; j < context; ++j) {
        const auto at = static_cast<std::size_t>((i * (context - 1) + j - 1) % set.tokens());
        BOOST_TEST(row[static_cast<std::size_t>(j)] == stream[at]);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(random_rows_begin_at_multiples_of_the_row_length_within_documents) {
  const TemporaryFolder folder("packed");
  const Tokenizer tokenizer = pieces();
  const TokenSet set = write_tokens(folder.path("set"), tokenizer, kTexts);
  const std::int64_t context = 6;
  const PackedTokens rows = packed(set, context);
  std::set<std::vector<std::int32_t>> wanted, seen;
  const std::vector<std::int32_t> ids = testing::all_ids(set);
  std::int64_t begin = 0;
  for (std::int64_t d = 0; d < set.documents(); ++d) {
    const std::int64_t end = set.document_end(d).token;
    for (std::int64_t at = begin; at < end; at += context - 1) {
      std::vector<std::int32_t> row = {tokenizer.cls_id()};
      for (std::int64_t i = 0; i < context - 1; ++i) {
        const std::int32_t id = ids[static_cast<std::size_t>((at + i) % set.tokens())];
        row.push_back(id == set.end_id() ? tokenizer.sep_id() : id);
      }
      wanted.insert(row);
    }
    begin = end;
  }
  for (std::int64_t step = 0; step < 200; ++step) {
    for (std::int64_t row = 0; row < 4; ++row) seen.insert(rows.random(5, step, row));
  }
  BOOST_TEST((seen == wanted));
  BOOST_TEST(rows.random(5, 7, 1) == rows.random(5, 7, 1));
}

BOOST_AUTO_TEST_CASE(tokenizers_without_separators_are_rejected) {
  const TemporaryFolder folder("packed");
  const TokenSet set = write_tokens(folder.path("set"), testing::letters(), {"abc"});
  check_error_message<ArgumentError>([&] { packed(set, 8); }, "no id for [CLS]");
  check_error_message<ArgumentError>([&] { packed(set, 2); },
                                     "a row needs at least 3 tokens, not 2");
  check_error_message<DataError>([&] { PackedTokens({}, 8); }, "no text to train on");
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
