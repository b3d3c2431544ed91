// Tokenizers assembled from components: the effects of options, rejected files, and lossless
// encoding of bytes.
#include <malloc.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "goldens.h"
#include "weft/core/error.h"
#include "weft/models/text/tokenizers/pre_tokenizers/byte_level.h"
#include "weft/models/text/tokenizers/text_stream.h"
#include "weft/models/text/tokenizers/tokenizer.h"
#include "weft/models/text/unicode/characters.h"
#include "weft/models/text/unicode/repair.h"

namespace weft {
namespace {

using nlohmann::json;
using Ids = std::vector<std::int32_t>;
using Pieces = std::vector<std::string>;

json added_token(int id, const std::string& content, const json& changes = json::object()) {
  json token = {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
                {"rstrip", false}, {"normalized", false}, {"special", true}};
  token.update(changes);
  return token;
}

/// Returns a byte-level BPE tokenizer with all bytes and a few merges.
json byte_level_json() {
  json vocab = json::object();
  for (unsigned byte = 0; byte < 256; ++byte) vocab[utf8(byte_characters()[byte])] = byte;
  const std::string blank = utf8(byte_characters()[' ']);
  vocab["he"] = 256;
  vocab["ll"] = 257;
  vocab["hell"] = 258;
  vocab[blank + "w"] = 259;
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", {added_token(260, "<end>")}},
          {"normalizer", nullptr},
          {"pre_tokenizer",
           {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}}},
          {"post_processor", nullptr},
          {"decoder", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}}},
          {"model",
           {{"type", "BPE"},
            {"vocab", vocab},
            {"merges", {"h e", "l l", json::array({"he", "ll"}), blank + " w"}}}}};
}

Tokenizer tokenizer_of(const json& description) {
  return SubwordTokenizer::from_bytes(description.dump());
}

BOOST_AUTO_TEST_CASE(merges_are_applied_in_the_order_of_the_list) {
  const Tokenizer tokenizer = tokenizer_of([] {
    json description = byte_level_json();
    description["model"]["merges"][2] = "he ll";
    return description;
  }());
  BOOST_TEST(tokenizer.pieces("hello wh<end>") == (Pieces{"hell", "o", "\u0120w", "h", "<end>"}),
             boost::test_tools::per_element());
  BOOST_TEST(tokenizer.vocab_size() == 261);
  BOOST_TEST(tokenizer.is_special(260));
  BOOST_TEST(tokenizer.is_word_start(259));
  BOOST_TEST(!tokenizer.is_word_start(258));
  BOOST_TEST(tokenizer.decode(tokenizer.encode("hello w<end>x")) == "hello wx");
}

BOOST_AUTO_TEST_CASE(special_pieces_in_a_text_are_matched_or_encoded_as_text) {
  const Tokenizer tokenizer = tokenizer_of(byte_level_json());
  BOOST_TEST(tokenizer.encode_text("a<end>").ids == (Ids{'a', 260}),
             boost::test_tools::per_element());
  BOOST_TEST(tokenizer.encode_text("a<end>", {.special_in_text = false}).ids ==
                 (Ids{'a', '<', 'e', 'n', 'd', '>'}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(added_tokens_respect_lstrip_rstrip_and_single_word) {
  json description = byte_level_json();
  description["added_tokens"].push_back(
      added_token(261, "<l>", {{"lstrip", true}, {"rstrip", true}}));
  description["added_tokens"].push_back(
      added_token(262, "word", {{"single_word", true}, {"special", false}}));
  description["added_tokens"].push_back(added_token(263, "<l>x"));
  const Tokenizer tokenizer = tokenizer_of(description);
  const Encoding found = tokenizer.encode_text("a \u00A0<l>  b<l>xword word.");
  BOOST_TEST(found.ids == (Ids{'a', 261, 'b', 263, 'w', 'o', 'r', 'd', ' ', 262, '.'}),
             boost::test_tools::per_element());
  BOOST_TEST((found.spans[1] == Span{1, 9}));
  BOOST_TEST(found.words == (std::vector<std::int32_t>{0, 1, 2, 3, 4, 4, 4, 4, 5, 6, 7}),
             boost::test_tools::per_element());
}

std::string random_bytes(std::mt19937& random) {
  std::string bytes;
  const unsigned kind = random() % 3;
  for (unsigned count = random() % 24; count > 0; --count) {
    if (kind == 0) {
      bytes += static_cast<char>(random() % 256);
    } else if (kind == 1) {
      bytes += " hel\n'w\xEF\xBF\xBD\xE6"[random() % 11];
    } else {
      append_utf8(bytes, random() % 0xD800);
    }
  }
  return bytes;
}

BOOST_AUTO_TEST_CASE(byte_level_models_encode_any_bytes_losslessly) {
  const Tokenizer tokenizer = tokenizer_of(byte_level_json());
  const char* given = std::getenv("WEFT_TOKENIZER_STRINGS");
  const int count = given != nullptr ? std::atoi(given) : 20000;
  std::mt19937 random(1);
  int lost = 0, misplaced = 0;
  for (int i = 0; i < count; ++i) {
    const std::string bytes = random_bytes(random);
    const Encoding kept =
        tokenizer.encode_text(bytes, {.special_in_text = false, .broken = InvalidBytes::kept});
    lost += tokenizer.decode(kept.ids) == bytes ? 0 : 1;
    // The span of every id contains its bytes, or the whole character to which its bytes belong.
    for (std::size_t k = 0; k < kept.size(); ++k) {
      const std::string is = tokenizer.decode({&kept.ids[k], 1});
      const std::string at =
          bytes.substr(kept.spans[k].begin, kept.spans[k].end - kept.spans[k].begin);
      misplaced += at.find(is) == std::string::npos ? 1 : 0;
    }
    const Ids replaced = tokenizer.encode(bytes);
    lost += tokenizer.decode(replaced) == repaired(bytes) ? 0 : 1;
  }
  BOOST_TEST(lost == 0);
  BOOST_TEST(misplaced == 0);
}

BOOST_AUTO_TEST_CASE(streams_never_emit_a_partial_character) {
  const Tokenizer tokenizer = tokenizer_of(byte_level_json());
  const std::string text = "hell é日𝄞 w";
  TextStream stream(tokenizer);
  std::string whole;
  for (const std::int32_t id : tokenizer.encode(text)) {
    const std::string part = stream.add(id);
    BOOST_TEST(find_invalid_utf8(part) == part.size());
    whole += part;
  }
  BOOST_TEST(whole + stream.finish() == text);
}

BOOST_AUTO_TEST_CASE(encoding_batches_on_all_threads_equals_encoding_single_texts) {
  const Tokenizer tokenizer = tokenizer_of(byte_level_json());
  std::vector<std::string> texts;
  for (int i = 0; i < 300; ++i) texts.push_back("hello wall " + std::string(i, 'h') + "<end>");
  std::vector<TokenizerInput> batch;
  for (const std::string& text : texts) batch.push_back({text});
  const std::vector<Encoding> together = tokenizer.encode_batch(batch);
  for (std::size_t i = 0; i < batch.size(); ++i)
    BOOST_TEST((together[i] == tokenizer.encode_text(texts[i])));
  EncodeOptions padded;
  padded.padding = Padding{.multiple = 8, .pad_id = 260};
  const std::vector<Encoding> full = tokenizer.encode_batch(batch, padded);
  for (const Encoding& encoding : full) BOOST_TEST(encoding.size() == full.front().size());
  BOOST_TEST(full.front().size() % 8 == 0U);
}

BOOST_AUTO_TEST_CASE(errors_name_unknown_components_and_their_location) {
  const auto check_rejected = [](const std::string& pointer, const json& value,
                                 const std::string& part) {
    json description = byte_level_json();
    description[json::json_pointer(pointer)] = value;
    BOOST_CHECK_EXCEPTION(tokenizer_of(description), FormatError, [&](const FormatError& e) {
      const bool says = std::string(e.what()).find(part) != std::string::npos;
      if (!says) BOOST_TEST_MESSAGE(e.what());
      return says;
    });
  };
  check_rejected("/version", "2.0", "has the version '2.0', but only 1.0 is supported");
  check_rejected(
      "/normalizer", {{"type", "Magic"}},
      "the tokenizer.normalizer has the unknown type 'Magic'; known types are BertNormalizer, ");
  check_rejected("/normalizer",
                 {{"type", "Sequence"}, {"normalizers", json::array({json{{"type", "Magic"}}})}},
                 "the tokenizer.normalizer.normalizers[0] has the unknown type 'Magic'");
  check_rejected(
      "/model", json::parse(R"({"type": "Unigram", "vocab": [["a", 0], ["b", "c"]]})"),
      "'model.vocab' must contain pairs of a string and a number, but element 2 is not one");
  check_rejected("/model", json::parse(R"({"type": "Unigram", "unk_id": 0, "vocab": {"a": 0}})"),
                 "model.vocab must be an array of pieces and scores");
  check_rejected("/pre_tokenizer", {{"type", "Digits"}}, "pre_tokenizer lacks 'individual_digits'");
  check_rejected("/pre_tokenizer", {{"type", "Whitespace"}, {"speed", 1}},
                 "pre_tokenizer has the unknown key 'speed'");
  check_rejected("/pre_tokenizer",
                 {{"type", "Split"},
                  {"pattern", {{"Regex", "("}}},
                  {"behavior", "Isolated"},
                  {"invert", false}},
                 "the pattern '(' does not compile with PCRE2");
  check_rejected("/post_processor", {{"type", "Magic"}},
                 "known types are TemplateProcessing, BertProcessing");
  check_rejected("/decoder", {{"type", "Magic"}}, "known types are ByteLevel, WordPiece");
  check_rejected("/model/type", "Magic", "known types are BPE, WordPiece, WordLevel, Unigram");
  check_rejected("/model/dropout", 0.1, "'dropout' is 0.1");
  check_rejected("/model/unk_token", "<unk>",
                 "'unk_token' is '<unk>', which is not in the vocabulary");
  check_rejected("/model/merges/0", "h ee", "requires 'ee', which is not in the vocabulary");
  check_rejected("/model/merges/0", "hee", "must be two pieces separated by a space");
  check_rejected(
      "/model/merges/0", {"h", "e", "l"},
      "'model.merges' must contain strings or pairs of strings, but element 1 is neither");
  check_rejected("/model/merges/0", 7, "'model.merges' must contain strings or pairs of strings");
  check_rejected("/model/merges", 7, "model.merges must be an array of merges");
  check_rejected("/model/vocab/he", "x",
                 "'model.vocab' must contain integers, but 'he' is not one");
  check_rejected("/model/vocab", 7, "model.vocab must be an object that maps pieces to ids");
  check_rejected("/model/vocab/he", 1ULL << 63,
                 "'model.vocab' must contain integers, but 'he' is not one");
  check_rejected("/model/vocab/he", -1, "ids are 0 to");
  check_rejected("/model/vocab/he", 257, "have the same id, 257");
  check_rejected("/added_tokens/0/content", "", "an added token is empty");
  check_rejected("/added_tokens/0/id", 1 << 24, "has the id 16777216; valid ids are 0 to 16777215");
}

BOOST_AUTO_TEST_CASE(the_size_of_replacements_is_limited) {
  json steps = json::array();
  for (int i = 0; i < 40; ++i)
    steps.push_back({{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}});
  json description = byte_level_json();
  description["normalizer"] = {{"type", "Sequence"}, {"normalizers", steps}};
  BOOST_CHECK_THROW(tokenizer_of(description).encode("banana"), DataError);
  BOOST_TEST(tokenizer_of(description).encode("hello").size() == 2U);
  description["normalizer"] = {{"type", "Prepend"}, {"prepend", std::string(2 << 20, 'a')}};
  BOOST_CHECK_THROW(tokenizer_of(description).encode("b"), DataError);
  description["normalizer"] = nullptr;
  steps.insert(steps.begin(), description["decoder"]);
  description["decoder"] = {{"type", "Sequence"}, {"decoders", steps}};
  const Tokenizer tokenizer = tokenizer_of(description);
  BOOST_CHECK_THROW(tokenizer.decode(tokenizer.encode("banana")), DataError);
}

BOOST_AUTO_TEST_CASE(duplicate_pieces_are_rejected) {
  std::string text = byte_level_json().dump();
  text.insert(text.find("\"he\":"), "\"he\":9999,");
  BOOST_CHECK_EXCEPTION(SubwordTokenizer::from_bytes(text), FormatError, [](const FormatError& e) {
    return std::string(e.what()).find("the piece 'he' has two ids, 9999 and 256") !=
           std::string::npos;
  });
}

BOOST_AUTO_TEST_CASE(special_ids_are_decoded_only_if_requested) {
  const Tokenizer characters = CharacterTokenizer::from_text("ab").with_ends();
  const Ids ids = {characters.find("a"), characters.eos_id(), characters.pad_id()};
  BOOST_TEST(characters.decode(ids) == "a");
  BOOST_TEST(characters.decode(ids, DecodeOptions{.keep_special = true}) == "a</s><pad>");
  BOOST_TEST(characters.encode_text("ba", {.truncation = Truncation{.max_length = 1}})
                 .overflowing.size() == 1U);
}

BOOST_AUTO_TEST_CASE(unigram_scores_are_read_as_in_the_reference) {
  // In decimal arithmetic, all segmentations of ten dashes into three long pieces and a short one
  // have the same score.
  const auto tokenizer = SubwordTokenizer::from_bytes(R"({"model": {"type": "Unigram", "unk_id": 0,
    "vocab": [["<unk>", 0], ["_", -2.0122928619384766], ["-", -5.129043102264404],
              ["---", -12.130167007446289]]}})");
  BOOST_TEST(tokenizer.encode("_----------") == (std::vector<std::int32_t>{1, 3, 3, 2, 3}),
             boost::test_tools::per_element());
  BOOST_TEST(SubwordTokenizer::from_bytes(tokenizer.to_bytes()).to_bytes() == tokenizer.to_bytes());
}

BOOST_AUTO_TEST_CASE(long_texts_leave_no_buffers) {
  const Tokenizer tokenizer = tokenizer_of(byte_level_json());
  const std::size_t before = ::mallinfo2().hblkhd;  // bytes of large blocks
  BOOST_TEST(tokenizer.encode(std::string(std::size_t{4} << 20, 'a')).size() == 4 << 20);
  BOOST_TEST(::mallinfo2().hblkhd == before);
}

BOOST_AUTO_TEST_CASE(invalid_truncation_settings_are_rejected) {
  const Tokenizer tokenizer = tokenizer_of(byte_level_json());
  const auto cut = [&](Truncation truncation) {
    return tokenizer.encode_text("abcdef", {.truncation = truncation});
  };
  const Encoding windows = cut({.max_length = 3, .stride = 1});
  BOOST_TEST(windows.ids == (Ids{'a', 'b', 'c'}), boost::test_tools::per_element());
  BOOST_TEST(windows.overflowing.size() == 2U);
  BOOST_TEST(windows.overflowing[1].ids == (Ids{'e', 'f'}), boost::test_tools::per_element());
  BOOST_CHECK_THROW(cut({.max_length = 3, .stride = 3}), ArgumentError);
  BOOST_CHECK_THROW(cut({.max_length = 3, .strategy = TruncationStrategy::only_second}),
                    ArgumentError);
  BOOST_TEST(cut({.max_length = 0}).size() == 0U);
}

}  // namespace
}  // namespace weft
