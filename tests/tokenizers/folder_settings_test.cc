// Tokenizer settings in a folder, apart from the vocabulary. Added tokens and special tokens are
// found, and errors name the file and the key.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tokenizer_folder.h"
#include "weft/models/text/tokenizers/tokenizer_folder.h"

namespace weft {
namespace {

using Ids = std::vector<std::int32_t>;

/// Folders with the tokenizer files of BERT, GPT-2 and SentencePiece models.
struct Folders {
  Folders() {
    bert.write("vocab.txt", "[PAD]\n[UNK]\nun\n##der\n");
    gpt2.write("vocab.json", R"({"a": 0, "b": 1, "ab": 2})");
    gpt2.write("merges.txt", "a b\n");
    SentencePieceModel model;
    model.pieces = {{"<unk>", 0, SentencePieceModel::Kind::unknown},
                    {"a", 0, SentencePieceModel::Kind::normal}};
    pieces.write("spiece.model", model.to_bytes());
  }
  testing::TokenizerFolder bert{"bert"}, gpt2{"gpt2"}, pieces{"pieces"};
};

void check_rejected(const testing::TokenizerFolder& folder, const std::string& file,
                    const std::string& text, const std::string& why) {
  folder.write(file, text);
  const FolderTokenizer found = read_tokenizer_folder(folder.path());
  BOOST_TEST(!found.tokenizer.has_value());
  BOOST_TEST(found.missing == folder.path() + ": " + why);
  folder.remove(file);
}

BOOST_AUTO_TEST_CASE(added_tokens_are_found_in_all_types_of_folders) {
  const Folders folders;
  for (const auto* folder : {&folders.bert, &folders.gpt2, &folders.pieces}) {
    const std::int32_t first = folder == &folders.pieces ? 2 : 4;
    const auto id = [&](int more) { return std::to_string(first + more); };
    folder->write("added_tokens.json", R"({"<y>": )" + id(0) + R"(, "<x>": )" + id(1) + "}");
    folder->write("tokenizer_config.json",
                  std::string(R"({"tokenizer_class": ")") +
                      (folder == &folders.pieces ? "LlamaTokenizer"
                       : folder == &folders.gpt2 ? "GPT2Tokenizer"
                                                 : "BertTokenizerFast") +
                      R"(", "mask_token": {"content": "<y>"}, "added_tokens_decoder": {")" + id(1) +
                      R"(": {"content": "<x>", "special": true, "lstrip": true}}})");
    folder->write("special_tokens_map.json", R"({"pad_token": "<x>", "mask_token": null})");
    const FolderTokenizer found = read_tokenizer_folder(folder->path());
    BOOST_TEST_REQUIRE(found.tokenizer.has_value(), found.missing);
    BOOST_TEST(found.tokenizer->vocab_size() == first + 2);
    BOOST_TEST(found.tokenizer->pad_id() == first + 1);
    BOOST_TEST(found.tokenizer->mask_id() == first);
    BOOST_TEST(found.tokenizer->is_special(first + 1));
    BOOST_TEST(!found.tokenizer->is_special(first));
    BOOST_TEST(found.tokenizer->encode_text("<x><y>", {.add_special = false}).ids ==
                   (Ids{first + 1, first}),
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(errors_name_the_file_and_the_key) {
  const Folders folders;
  const std::string config = "tokenizer_config.json", added = "added_tokens.json",
                    special = "special_tokens_map.json";
  check_rejected(folders.bert, config, R"({"do_lower_case": 3})",
                 "'tokenizer_config.json.do_lower_case' must be true or false, not 3");
  check_rejected(folders.gpt2, config, R"({"add_prefix_space": "no"})",
                 "'tokenizer_config.json.add_prefix_space' must be true or false, not \"no\"");
  check_rejected(folders.pieces, config, R"({"tokenizer_class": 5})",
                 "'tokenizer_config.json.tokenizer_class' must be a string, not 5");
  check_rejected(folders.pieces, config,
                 R"({"tokenizer_class": "T5Tokenizer", "extra_ids": "many"})",
                 "'tokenizer_config.json.extra_ids' must be an integer, not \"many\"");
  check_rejected(folders.pieces, config, R"({"tokenizer_class": "MarianTokenizer"})",
                 "vocab.json is missing");
  check_rejected(folders.bert, special, R"({"pad_token": 0})",
                 "'special_tokens_map.json.pad_token' must be a string, not 0");
  check_rejected(folders.bert, config, R"({"pad_token": {"content": 0}})",
                 "'tokenizer_config.json.pad_token.content' must be a string, not 0");
  check_rejected(folders.gpt2, added, R"({"<x>": "3"})",
                 "'added_tokens.json.<x>' must be an integer, not \"3\"");
  check_rejected(
      folders.gpt2, added, R"({"<x>": 4294967299})",
      "'added_tokens.json.<x>' must be an integer in [-2147483648, 2147483647], not 4294967299");
  check_rejected(folders.gpt2, added, R"({"<x>": 2000000000})",
                 "added_tokens.json maps '<x>' to the id 2000000000; valid ids are 0 to 16777215");
  check_rejected(folders.gpt2, added, R"({"": 3})",
                 "added_tokens.json has an added token with an empty text");
  check_rejected(folders.bert, config, R"({"added_tokens_decoder": {"x4": {"content": "<x>"}}})",
                 "tokenizer_config.json.added_tokens_decoder has the key 'x4', which is not an id");
  check_rejected(folders.bert, config, R"({"added_tokens_decoder": {"4": {"special": true}}})",
                 "tokenizer_config.json.added_tokens_decoder.4 lacks 'content'");
  check_rejected(
      folders.bert, config, R"({"added_tokens_decoder": {"4": {"content": "a", "lstrip": 1}}})",
      "'tokenizer_config.json.added_tokens_decoder.4.lstrip' must be true or false, not 1");
  check_rejected(folders.bert, config, "[]", "tokenizer_config.json is not a JSON object but []");
  check_rejected(folders.gpt2, "merges.txt", "ab\n",
                 "line 1 of merges.txt must be two pieces separated by a space, not 'ab'");
}

}  // namespace
}  // namespace weft
