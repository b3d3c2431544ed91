// Folders with a vocab.json and a merges.txt. The tokenizer class determines how these files are
// used.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "weft/models/text/tokenizers/tokenizer_folder.h"
#include "weft/testing/temporary_folder.h"

namespace weft {
namespace {

using Ids = std::vector<std::int32_t>;

FolderTokenizer read(const std::string& vocab, const std::string& merges,
                     const std::string& settings, const std::string& config = {}) {
  const testing::TemporaryFolder folder("merges");
  folder.write("vocab.json", vocab);
  folder.write("merges.txt", "#version: 0.2\n" + merges);
  if (!settings.empty()) folder.write("tokenizer_config.json", settings);
  if (!config.empty()) folder.write("config.json", config);
  return read_tokenizer_folder(folder.path(""));
}

Ids ids_of(const FolderTokenizer& read, const std::string& text) {
  BOOST_TEST_REQUIRE(read.tokenizer.has_value(), read.missing);
  return read.tokenizer->encode_text(text, {.add_special = true}).ids;
}

void check_ids(const FolderTokenizer& read, const std::string& text, const Ids& expected) {
  BOOST_TEST_CONTEXT(text)
  BOOST_TEST(ids_of(read, text) == expected, boost::test_tools::per_element());
}

const std::string kClip = R"({"a": 0, "a</w>": 1, "b": 2, "b</w>": 3, "ab</w>": 4, "!</w>": 5,
    "<|startoftext|>": 6, "<|endoftext|>": 7})";

BOOST_AUTO_TEST_CASE(clip_folders_mark_word_ends_and_fold_case_and_white_space) {
  for (const std::string settings : {R"({"tokenizer_class": "CLIPTokenizer"})",
                                     R"({"tokenizer_class": "CLIPTokenizerFast"})", ""}) {
    const FolderTokenizer clip =
        read(kClip, "a b</w>\n", settings, settings.empty() ? R"({"model_type": "clip"})" : "");
    check_ids(clip, "AB  a!", {6, 4, 1, 5, 7});
    check_ids(clip,
              "aB\xE2\x80\x83"
              "b",
              {6, 4, 3, 7});
    BOOST_TEST(clip.tokenizer->eos_id() == 7);
    BOOST_TEST(clip.tokenizer->bos_id() == 6);
    BOOST_TEST(clip.tokenizer->pad_id() == 7);
  }
}

BOOST_AUTO_TEST_CASE(gpt1_folders_split_words_as_in_bert_and_have_an_unknown_token) {
  const FolderTokenizer gpt1 =
      read(R"({"<unk>": 0, "a": 1, "a</w>": 2, "b</w>": 3, "ab</w>": 4, ".</w>": 5})", "a b</w>\n",
           "", R"({"model_type": "openai-gpt"})");
  check_ids(gpt1, "Ab a.", {4, 2, 5});
  check_ids(gpt1, "a z", {2, 0});
  BOOST_TEST(gpt1.tokenizer->decode(Ids{4, 2, 5}) == "ab a .");
  BOOST_TEST(gpt1.tokenizer->unk_id() == 0);
}

const std::string kBytes = R"({"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "a": 4, "b": 5, "ab": 6,
    "\u0120": 7, "\u0120a": 8, "<mask>": 9})";

BOOST_AUTO_TEST_CASE(roberta_folders_add_special_tokens_and_have_a_mask_token) {
  const FolderTokenizer roberta =
      read(kBytes, "a b\n\u0120 a\n", R"({"tokenizer_class": "RobertaTokenizer"})");
  check_ids(roberta, "ab a", {0, 6, 8, 2});
  check_ids(roberta, "ab <mask>", {0, 6, 9, 2});  // the mask token includes the preceding space
  BOOST_TEST(roberta.tokenizer->mask_id() == 9);
  BOOST_TEST(roberta.tokenizer->cls_id() == 0);
  const Encoding pair = roberta.tokenizer->encode_pair({"a", "b"}, {.add_special = true});
  BOOST_TEST(pair.ids == (Ids{0, 4, 2, 2, 5, 2}), boost::test_tools::per_element());
  const FolderTokenizer blenderbot =
      read(kBytes, "a b\n\u0120 a\n",
           R"({"tokenizer_class": "BlenderbotTokenizer", "add_prefix_space": true})");
  check_ids(blenderbot, "a a", {8, 8, 2});
  // GPT-2's class adds no special tokens unless add_bos_token is set.
  const FolderTokenizer gpt2 = read(kBytes, "a b\n\u0120 a\n", "");
  check_ids(gpt2, "ab a", {6, 8});
  const FolderTokenizer opt =
      read(kBytes, "a b\n\u0120 a\n",
           R"({"tokenizer_class": "GPT2Tokenizer", "add_bos_token": true, "bos_token": "</s>"})");
  check_ids(opt, "ab a", {2, 6, 8});
}

BOOST_AUTO_TEST_CASE(deberta_and_qwen_folders_follow_their_classes) {
  const FolderTokenizer deberta = read(R"({"[CLS]": 0, "[SEP]": 1, "a": 2, "b": 3})", "",
                                       R"({"tokenizer_class": "DebertaTokenizer"})");
  const Encoding pair = deberta.tokenizer->encode_pair({"a", "b"}, {.add_special = true});
  BOOST_TEST(pair.ids == (Ids{0, 2, 1, 3, 1}), boost::test_tools::per_element());
  BOOST_TEST((pair.type_ids == Ids{0, 0, 0, 1, 1}));
  // Every digit is a separate word, and letters are composed (NFC).
  const FolderTokenizer qwen =
      read(R"({"1": 0, "2": 1, "12": 2, "\u00c3": 3, "\u00a9": 4, "\u00c3\u00a9": 5})",
           "1 2\n\u00c3 \u00a9\n", R"({"tokenizer_class": "Qwen2Tokenizer"})");
  check_ids(qwen, "12e\u0301", {0, 1, 5});
}

BOOST_AUTO_TEST_CASE(trailing_white_space_in_vocab_txt_is_removed) {
  const testing::TemporaryFolder bert("merges");
  bert.write("vocab.txt", "[UNK]\n\u03be\v\n\u3042\u3000 \nb\n");
  const FolderTokenizer read = read_tokenizer_folder(bert.path(""));
  BOOST_TEST_REQUIRE(read.tokenizer.has_value(), read.missing);
  BOOST_TEST(read.tokenizer->find("\u03be") == 1);
  BOOST_TEST(read.tokenizer->find("\u3042") == 2);
}

BOOST_AUTO_TEST_CASE(errors_name_unknown_tokenizer_classes) {
  const FolderTokenizer unknown = read(kBytes, "", R"({"tokenizer_class": "MagicTokenizer"})");
  BOOST_TEST(!unknown.tokenizer);
  BOOST_TEST(unknown.missing.find("unsupported tokenizer class MagicTokenizer for vocab.json and "
                                  "merges.txt; supported are GPT2Tokenizer, ") != std::string::npos,
             unknown.missing);
  const testing::TemporaryFolder bert("merges");
  bert.write("vocab.txt", "[UNK]\na\n");
  bert.write("tokenizer_config.json", R"({"tokenizer_class": "BertJapaneseTokenizer"})");
  BOOST_TEST(
      read_tokenizer_folder(bert.path(""))
          .missing.find(
              "unsupported tokenizer class BertJapaneseTokenizer for vocab.txt; supported are "
              "BertTokenizer, ") != std::string::npos);
}

}  // namespace
}  // namespace weft
