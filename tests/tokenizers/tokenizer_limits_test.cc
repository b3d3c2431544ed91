// A small tokenizer.json cannot make encoding arbitrarily expensive, and all ids that it uses must
// be in the vocabulary.
#include <boost/test/unit_test.hpp>
#include <string>

#include "weft/core/error.h"
#include "weft/models/text/tokenizers/base/truncation.h"
#include "weft/models/text/tokenizers/subword_tokenizer.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(tokenizer_limits)
namespace {

using testing::says;

/// A tokenizer.json with a vocabulary of two pieces. `more` contains further members.
std::string file(const std::string& more) {
  return R"({"version": "1.0", )" + more +
         R"(, "model": {"type": "WordLevel", "unk_token": "a", "vocab": {"a": 0, "b": 1}}})";
}

std::string repeated(const std::string& item, int count) {
  std::string all = item;
  for (int i = 1; i < count; ++i) all += ", " + item;
  return all;
}

void check_rejected(const std::string& more, const std::string& why) {
  BOOST_TEST_CONTEXT(more.substr(0, 80))
  BOOST_CHECK_EXCEPTION(SubwordTokenizer::from_bytes(file(more)), FormatError, says(why));
}

std::string sequence(const std::string& key, const std::string& list, const std::string& step,
                     int count) {
  return "\"" + key + R"(": {"type": "Sequence", ")" + list + "\": [" + repeated(step, count) +
         "]}";
}

BOOST_AUTO_TEST_CASE(components_have_a_limited_number_of_steps) {
  const std::string prepend = R"({"type": "Prepend", "prepend": "_"})";
  check_rejected(sequence("normalizer", "normalizers", prepend, 1000),
                 "normalizer has 1001 steps; the limit is 1000");
  BOOST_CHECK_NO_THROW(
      SubwordTokenizer::from_bytes(file(sequence("normalizer", "normalizers", prepend, 999))));
  const std::string nested =
      R"({"type": "Sequence", "normalizers": [)" + repeated(prepend, 600) + "]}";
  check_rejected(sequence("normalizer", "normalizers", nested, 2), "normalizer has 1203 steps");
  check_rejected(sequence("pre_tokenizer", "pretokenizers", R"({"type": "Whitespace"})", 2000),
                 "pre_tokenizer has 2001 steps");
  check_rejected(sequence("decoder", "decoders", R"({"type": "Fuse"})", 2000),
                 "decoder has 2001 steps");
  check_rejected(sequence("post_processor", "processors",
                          R"({"type": "BertProcessing", "sep": ["a", 0], "cls": ["b", 1]})", 2000),
                 "post_processor has 2001 steps");
}

std::string template_of(const std::string& single, const std::string& ids) {
  return R"("post_processor": {"type": "TemplateProcessing", "single": [)" + single +
         R"(], "pair": [], "special_tokens": {"a": {"id": "a", "ids": [)" + ids +
         R"(], "tokens": ["a"]}}})";
}

BOOST_AUTO_TEST_CASE(templates_have_a_limited_size) {
  const std::string special = R"({"SpecialToken": {"id": "a", "type_id": 0}})",
                    text = R"({"Sequence": {"id": "A", "type_id": 0}})";
  check_rejected(template_of(repeated(special, 1001), "0"),
                 "the template 'single' has 1001 parts with 0 texts and 1001 special tokens; the "
                 "limits are 1000 parts, 10 texts and 1000 special tokens");
  check_rejected(template_of(repeated(special, 11), repeated("0", 100)), "1100 special tokens");
  check_rejected(template_of(repeated(text, 11), "0"), "11 texts");
  BOOST_CHECK_NO_THROW(SubwordTokenizer::from_bytes(file(template_of(text + ", " + special, "0"))));
}

BOOST_AUTO_TEST_CASE(ids_outside_the_vocabulary_are_rejected) {
  const std::string special = R"({"SpecialToken": {"id": "a", "type_id": 0}})";
  for (const char* id : {"2", "-1"}) {
    check_rejected(template_of(special, id), "the post-processor uses the id " + std::string(id) +
                                                 ", which is outside the vocabulary [0, 2)");
    for (const char* type : {"BertProcessing", "RobertaProcessing"}) {
      check_rejected(
          R"("post_processor": {"type": ")" + std::string(type) + R"(", "sep": ["x", )" + id +
              R"(], "cls": ["a", 0])" +
              (type[0] == 'R' ? R"(, "trim_offsets": true, "add_prefix_space": true})" : "}"),
          "the post-processor uses the id " + std::string(id));
    }
  }
  check_rejected(
      R"("padding": {"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": null,)"
      R"( "pad_id": 7, "pad_type_id": 0, "pad_token": "[PAD]"})",
      "the padding uses the id 7, which is outside the vocabulary [0, 2)");
}

BOOST_AUTO_TEST_CASE(padding_and_windows_are_limited) {
  const auto padding = [](const char* strategy, const char* multiple) {
    return R"("padding": {"strategy": )" + std::string(strategy) +
           R"(, "direction": "Right", "pad_to_multiple_of": )" + multiple +
           R"(, "pad_id": 0, "pad_type_id": 0, "pad_token": "a"})";
  };
  check_rejected(padding(R"({"Fixed": 1048577})", "null"),
                 "padding.strategy.Fixed is 1048577; the limit is 1048576");
  check_rejected(padding(R"("BatchLongest")", "4294967296"),
                 "padding.pad_to_multiple_of is 4294967296; the limit is 1048576");
  Encoding text;
  for (int i = 0; i < 100'000; ++i) text.add_special(0, 0);
  BOOST_CHECK_EXCEPTION(truncate(text, 50'000, 49'999, TextEnd::right), ArgumentError,
                        says("gives 50001 windows with more than 134217728 ids in total; use a "
                             "smaller stride"));
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
