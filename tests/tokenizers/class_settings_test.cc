// Folders with tokenizer_config.json and tokenizer.json: settings have the same effect as in the
// tokenizer classes of Hugging Face's transformers library, or are rejected by name.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tokenizer_folder.h"
#include "weft/models/text/tokenizers/tokenizer_folder.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(class_settings)
namespace {

using Ids = std::vector<std::int32_t>;

constexpr const char* kNull = "null";

/// Returns a tokenizer.json whose words are the pieces <s>, </s>, X, "a", "b", "A", "é" and "e", in
/// this order, and X is a piece that only the settings make a special token.
std::string tokenizer_json(const std::string& normalizer, const std::string& pre_tokenizer,
                           const std::string& post_processor) {
  return R"({"version": "1.0", "added_tokens": [], "normalizer": )" + normalizer +
         R"(, "pre_tokenizer": )" + pre_tokenizer + R"(, "post_processor": )" + post_processor +
         R"(, "decoder": null, "model": {"type": "WordLevel", "unk_token": "<unk>", "vocab": )"
         R"({"<s>": 0, "</s>": 1, "X": 2, "a": 3, "b": 4, "A": 5, "\u00e9": 6, "e": 7, "<unk>": 8,)"
         R"( "<bos>": 9, "\u0120a": 10}}})";
}

const std::string kBert =
    R"({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,)"
    R"( "strip_accents": null, "lowercase": true})";
const std::string kBlanks = R"({"type": "WhitespaceSplit"})";
std::string ends(const std::string& first) {
  return R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": ")" + first +
         R"(", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}], "pair": [{"Sequence": )"
         R"({"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],)"
         R"( "special_tokens": {")" +
         first + R"(": {"id": ")" + first + R"(", "ids": [0], "tokens": [")" + first + R"("]}}})";
}

/// Returns the ids of a text under settings.
Ids ids_of(const std::string& json, const std::string& settings, const std::string& text,
           const std::string& config = "") {
  const testing::TokenizerFolder folder("class_settings");
  folder.write("tokenizer.json", json);
  folder.write("tokenizer_config.json", settings);
  if (!config.empty()) folder.write("config.json", config);
  const FolderTokenizer found = read_tokenizer_folder(folder.path());
  BOOST_TEST_REQUIRE(found.tokenizer.has_value(), found.missing);
  return found.tokenizer->encode_text(text).ids;
}

void check_ids(const std::string& json, const std::string& settings, const std::string& text,
               const Ids& ids, const std::string& config = "") {
  BOOST_TEST_CONTEXT(settings)
  BOOST_TEST(ids_of(json, settings, text, config) == ids, boost::test_tools::per_element());
}

void check_rejected(const std::string& json, const std::string& settings, const std::string& why) {
  const testing::TokenizerFolder folder("class_settings");
  folder.write("tokenizer.json", json);
  folder.write("tokenizer_config.json", settings);
  BOOST_TEST(read_tokenizer_folder(folder.path()).missing == folder.path() + ": " + why);
}

/// Returns a tokenizer.json with the words of `words`, in this order; those after the first three
/// words are special tokens.
std::string language_json(const std::vector<std::string>& words) {
  std::string vocab, added;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string id = std::to_string(i);
    vocab += (i == 0 ? "\"" : ", \"") + words[i] + "\": " + id;
    if (i < 3) continue;
    added += (added.empty() ? "" : ", ") + std::string(R"({"id": )") + id + R"(, "content": ")" +
             words[i] +
             R"(", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,)"
             R"( "special": true})";
  }
  return R"({"version": "1.0", "added_tokens": [)" + added +
         R"(], "normalizer": null, "pre_tokenizer": )" + kBlanks +
         R"(, "post_processor": null, "decoder": null, "model": {"type": "WordLevel",)"
         R"( "unk_token": "a", "vocab": {)" +
         vocab + "}}}";
}

BOOST_AUTO_TEST_CASE(translation_classes_add_the_code_of_the_source_language) {
  const std::string json =
      language_json({"a", "b", "</s>", "eng_Latn", "fra_Latn", "en_XX", "de_DE"});
  check_ids(json, R"({"tokenizer_class": "NllbTokenizer"})", "b", {3, 1, 2});
  check_ids(json, R"({"tokenizer_class": "NllbTokenizerFast", "src_lang": null})", "b", {3, 1, 2});
  check_ids(json, R"({"tokenizer_class": "NllbTokenizer", "src_lang": "fra_Latn"})", "b",
            {4, 1, 2});
  check_ids(json, R"({"tokenizer_class": "NllbTokenizer", "legacy_behaviour": true})", "b",
            {1, 2, 3});
  check_ids(json, R"({"tokenizer_class": "MBart50TokenizerFast", "src_lang": "de_DE"})", "b",
            {6, 1, 2});
  check_ids(json, R"({"tokenizer_class": "MBart50Tokenizer", "legacy_behaviour": true})", "b",
            {5, 1, 2});
  check_ids(json, R"({"tokenizer_class": "MBartTokenizer"})", "b", {1, 2, 5});
  check_ids(json, R"({"tokenizer_class": "PreTrainedTokenizerFast", "src_lang": "fra_Latn"})", "b",
            {1});
  // Without the default language or an end token, tokenizer.json is unchanged.
  check_ids(language_json({"a", "b", "</s>", "fra_Latn"}),
            R"({"tokenizer_class": "NllbTokenizer"})", "b", {1});
  check_rejected(json, R"({"tokenizer_class": "NllbTokenizer", "src_lang": "en"})",
                 "tokenizer_config.json.src_lang is 'en', which is not in the vocabulary of "
                 "tokenizer.json; set it to a language code of the model, such as 'eng_Latn'");
  // Two texts share the code and the end.
  const testing::TokenizerFolder folder("class_settings");
  folder.write("tokenizer.json", json);
  folder.write("tokenizer_config.json", R"({"tokenizer_class": "NllbTokenizer"})");
  const Tokenizer nllb = *read_tokenizer_folder(folder.path()).tokenizer;
  BOOST_TEST(nllb.encode_pair({"a", "b"}).ids == (Ids{3, 0, 1, 2}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(bert_classes_change_the_normaliser) {
  const std::string json = tokenizer_json(kBert, kBlanks, kNull);
  const std::string text = "A \xC3\xA9";
  check_ids(json, "{}", text, {3, 7});
  for (const char* name : {"BertTokenizer", "BertTokenizerFast", "DistilBertTokenizerFast",
                           "ElectraTokenizer", "MPNetTokenizerFast"}) {
    const std::string start = std::string(R"({"tokenizer_class": ")") + name + R"(", )";
    check_ids(json, start + R"("do_lower_case": false})", text, {5, 6});
    check_ids(json, start + R"("do_lower_case": true})", text, {3, 7});
    check_ids(json, start + R"("do_lower_case": null})", text, {3, 7});
    check_ids(json, start + R"("do_lower_case": false, "strip_accents": true})", text, {5, 7});
    check_ids(json, start + R"("strip_accents": false})", text, {3, 6});
  }
  // Without a class, the model type determines it. Other classes ignore the key.
  check_ids(json, R"({"do_lower_case": false})", text, {5, 6}, R"({"model_type": "bert"})");
  check_ids(json, R"({"tokenizer_class": "PreTrainedTokenizerFast", "do_lower_case": false})", text,
            {3, 7});
  const std::string chinese =
      "a\xE4\xB8\xAD"
      "b";
  check_ids(json, "{}", chinese, {3, 8, 4});
  check_ids(json, R"({"tokenizer_class": "BertTokenizer", "tokenize_chinese_chars": false})",
            chinese, {8});
}

BOOST_AUTO_TEST_CASE(prefix_spaces_are_set_or_must_agree) {
  const auto bytes = [](const char* prefix) {
    return std::string(R"({"type": "ByteLevel", "add_prefix_space": )") + prefix +
           R"(, "trim_offsets": true, "use_regex": true})";
  };
  const std::string without = tokenizer_json(kNull, bytes("false"), bytes("false")),
                    with = tokenizer_json(kNull, bytes("true"), bytes("true"));
  check_ids(without, "{}", "a", {3});
  check_ids(without, R"({"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": true})", "a",
            {10});
  check_ids(with, R"({"tokenizer_class": "RobertaTokenizerFast", "add_prefix_space": false})", "a",
            {3});
  check_ids(with, R"({"add_prefix_space": null})", "a", {10});
  const std::string prepend =
      tokenizer_json(R"({"type": "Prepend", "prepend": "_"})", kBlanks, kNull);
  check_ids(prepend, R"({"add_prefix_space": true})", "a", {8});
  check_rejected(
      prepend, R"({"tokenizer_class": "LlamaTokenizer", "add_prefix_space": false})",
      "tokenizer_config.json.add_prefix_space is false, but tokenizer.json adds a prefix to texts; "
      "remove the key, or write a tokenizer.json with this setting");
  check_rejected(
      tokenizer_json(
          kNull, R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "never"})", kNull),
      R"({"add_prefix_space": true})",
      "tokenizer_config.json.add_prefix_space is true, but tokenizer.json does not add a prefix to "
      "texts; remove the key, or write a tokenizer.json with this setting");
}

BOOST_AUTO_TEST_CASE(classes_and_keys_add_tokens_around_texts) {
  const std::string bare = tokenizer_json(kNull, kBlanks, kNull),
                    started = tokenizer_json(kNull, kBlanks, ends("<s>"));
  check_ids(bare, "{}", "a", {3});
  check_ids(bare, R"({"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>"})", "a",
            {3});
  // LLaMA's class adds <s>, Gemma's <bos>.
  check_ids(bare, R"({"tokenizer_class": "LlamaTokenizer"})", "a", {0, 3});
  check_ids(bare, R"({"tokenizer_class": "LlamaTokenizerFast", "bos_token": "X"})", "a", {2, 3});
  check_ids(bare, R"({"tokenizer_class": "GemmaTokenizerFast"})", "a", {9, 3});
  check_ids(bare, R"({"add_eos_token": false})", "a", {0, 3}, R"({"model_type": "mistral"})");
  check_ids(bare, R"({"bos_token": "<s>"})", "a", {3}, R"({"model_type": "mistral"})");
  check_ids(bare, R"({"tokenizer_class": "LlamaTokenizer", "add_bos_token": false})", "a", {3});
  check_ids(bare, R"({"tokenizer_class": "LlamaTokenizer", "add_eos_token": true})", "a",
            {0, 3, 1});
  check_ids(started, R"({"tokenizer_class": "LlamaTokenizer"})", "a", {0, 3});
  check_ids(started, R"({"tokenizer_class": "LlamaTokenizer", "add_bos_token": false})", "a", {3});
  check_ids(bare, R"({"add_bos_token": true, "bos_token": {"content": "X"}})", "a", {2, 3});
  check_ids(bare, R"({"add_eos_token": true, "eos_token": "</s>"})", "a", {3, 1});
  check_ids(bare, R"({"add_bos_token": false, "add_eos_token": null, "bos_token": null})", "a",
            {3});
  check_rejected(bare, R"({"add_bos_token": true, "bos_token": "<none>"})",
                 "tokenizer_config.json.add_bos_token is set, but bos_token is '<none>', which is "
                 "not in the vocabulary of tokenizer.json; set bos_token to the right token, or "
                 "add_bos_token to false");
}

BOOST_AUTO_TEST_CASE(named_tokens_are_recognised_in_texts) {
  const std::string json = tokenizer_json(kNull, kBlanks, kNull);
  check_ids(json, "{}", "aXb", {8});
  for (const char* settings :
       {R"({"additional_special_tokens": ["X"]})", R"({"extra_special_tokens": {"image": "X"}})",
        R"({"additional_special_tokens": [{"content": "X", "lstrip": false}]})",
        R"({"mask_token": "X"})", R"({"added_tokens_decoder": {"2": {"content": "X"}}})"})
    check_ids(json, settings, "aXb", {3, 2, 4});
  check_ids(json, R"({"added_tokens_decoder": {"11": {"content": "Y", "special": true}}})", "aYb",
            {3, 11, 4});
  check_rejected(json, R"({"additional_special_tokens": ["Z"]})",
                 "tokenizer_config.json.additional_special_tokens names 'Z', which is not in the "
                 "vocabulary of tokenizer.json; remove it, or add it to the tokenizer and to the "
                 "model");
  check_rejected(json, R"({"split_special_tokens": true})",
                 "tokenizer_config.json.split_special_tokens is true, which is not supported; "
                 "remove the key to recognise special tokens in texts");
  check_ids(json,
            R"({"split_special_tokens": false, "model_max_length": 512, "padding_side": "left",)"
            R"( "clean_up_tokenization_spaces": true, "additional_special_tokens": null,)"
            R"( "next_years_key": 1})",
            "a b", {3, 4});
}

BOOST_AUTO_TEST_CASE(byte_order_marks_are_removed_and_other_encodings_are_named) {
  const std::string mark = "\xEF\xBB\xBF";
  check_ids(mark + tokenizer_json(kNull, kBlanks, kNull), mark + R"({"add_bos_token": false})",
            "a b", {3, 4});
  const testing::TokenizerFolder merges("marks"), words("marked_words");
  merges.write("vocab.json", mark + R"({"a": 0, "b": 1, "ab": 2})");
  merges.write("merges.txt", mark + "#version: 0.2\na b\n");
  merges.write("added_tokens.json", mark + R"({"<x>": 3})");
  FolderTokenizer found = read_tokenizer_folder(merges.path());
  BOOST_TEST_REQUIRE(found.tokenizer.has_value(), found.missing);
  BOOST_TEST(found.tokenizer->encode_text("ab<x>").ids == (Ids{2, 3}));
  merges.write("merges.txt", mark + "a b\n");
  BOOST_TEST(read_tokenizer_folder(merges.path()).tokenizer->encode_text("ab").ids == Ids{2});
  words.write("vocab.txt", mark + "[UNK]\nun\n");
  found = read_tokenizer_folder(words.path());
  BOOST_TEST_REQUIRE(found.tokenizer.has_value(), found.missing);
  BOOST_TEST(found.tokenizer->encode_text("un").ids == Ids{1});
  words.write("vocab.txt", std::string("\xFF\xFE[\0U\0", 6));
  BOOST_TEST(read_tokenizer_folder(words.path()).missing ==
             words.path() + ": vocab.txt: the text is UTF-16 or UTF-32; convert it to UTF-8");
  merges.write("tokenizer_config.json", std::string("\xFE\xFF\0{\0}", 6));
  BOOST_TEST(read_tokenizer_folder(merges.path()).missing ==
             merges.path() +
                 ": tokenizer_config.json: the text is UTF-16 or UTF-32; convert it to UTF-8");
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
