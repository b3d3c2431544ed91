// Word tags and the spans that they mark.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tiny_folder.h"
#include "weft/models/data/formats/tagged_text.h"
#include "weft/models/tasks/tasks.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(tagging)
namespace {

using Texts = std::vector<std::string>;

std::string text_of(const std::vector<TaggedSpan>& spans) {
  std::string text;
  for (const TaggedSpan& span : spans)
    text += fmt::format("{}[{}-{}]{:.2f} ", span.type, span.begin, span.end, span.score);
  return text;
}

BOOST_AUTO_TEST_CASE(tags_are_combined_into_spans) {
  const auto spans = [](const std::vector<std::string>& tags) {
    std::vector<TaggedWord> words;
    for (const std::string& tag : tags) {
      const std::size_t at = 2 * words.size();
      words.push_back({at, at + 1, tag, words.size() % 2 == 0 ? 1.0 : 0.5});
    }
    return text_of(spans_of(words));
  };
  BOOST_TEST(spans({"B-per", "I-per", "O", "B-loc"}) == "per[0-3]0.75 loc[6-7]0.50 ");
  BOOST_TEST(spans({"B-per", "B-per", "I-loc"}) == "per[0-1]1.00 per[2-3]0.50 loc[4-5]1.00 ");
  BOOST_TEST(spans({"I-per", "I-per", "O", "I-per"}) == "per[0-3]0.75 per[6-7]0.50 ");
  BOOST_TEST(spans({"B-per", "E-per", "I-per", "S-per"}) ==
             "per[0-3]0.75 per[4-5]1.00 per[6-7]0.50 ");
  BOOST_TEST(spans({"B-per", "L-per", "U-per", "O"}) == "per[0-3]0.75 per[4-5]1.00 ");
  BOOST_TEST(spans({"NOUN", "NOUN", "VERB"}) == "NOUN[0-3]0.75 VERB[4-5]1.00 ");
  BOOST_TEST(spans({}).empty());
}

json tagger(const std::string& type) {
  json config = tiny_config(type, class_prefix(type) + "ForTokenClassification");
  const Texts tags = {"B-PER", "I-PER", "O", "B-LOC", "I-LOC"};
  for (std::size_t i = 0; i < tags.size(); ++i) config["id2label"][std::to_string(i)] = tags[i];
  return config;
}

BOOST_AUTO_TEST_CASE(the_first_piece_of_a_word_determines_its_tag) {
  const Texts texts = {"mary brown lives in new york, good.", "", "badly", "she saw anna and bob"};
  for (const char* type : {"bert", "distilbert", "roberta", "deberta-v2", "albert"}) {
    BOOST_TEST_CONTEXT(type) {
      const json config = tagger(type);
      const TinyFolder folder(config);
      const auto model = load_any_model(folder.path()).model;
      Session session(*model->graph, model->store);
      const std::vector<TaggedText> found = tag_texts(session, *model, texts);
      BOOST_TEST_REQUIRE(found.size() == texts.size());
      for (std::size_t t = 0; t < texts.size(); ++t) {
        const Encoding row = folder.ids(texts[t]);
        const Tensor logits = folder.output("logits", row);
        std::size_t word = 0;
        for (std::size_t i = 0; i < row.size(); ++i) {
          if (row.words[i] < 0 || row.words[i] == row.words[i - 1]) continue;
          BOOST_TEST_REQUIRE(word < found[t].words.size());
          const TaggedWord& tagged = found[t].words[word++];
          std::int64_t best = 0;
          double sum = 0;
          const auto at = [&](std::int64_t c) {
            return logits.at(static_cast<std::int64_t>(i) * 5 + c);
          };
          for (std::int64_t c = 1; c < 5; ++c) best = at(c) > at(best) ? c : best;
          for (std::int64_t c = 0; c < 5; ++c) sum += std::exp(at(c) - at(best));
          BOOST_TEST(tagged.tag == config["id2label"][std::to_string(best)].get<std::string>());
          BOOST_TEST(std::abs(tagged.score - 1 / sum) < 1e-5);
          BOOST_TEST(tagged.begin == row.spans[i].begin);
        }
        BOOST_TEST(word == found[t].words.size());
        BOOST_TEST(text_of(found[t].spans) == text_of(spans_of(found[t].words)));
      }
      // A word that consists of two pieces has one tag. A punctuation mark counts as a separate
      // word.
      BOOST_TEST(found[2].words.size() == 1U);
      BOOST_TEST(found[2].words[0].end == 5U);
      BOOST_TEST(found[0].words.size() == 9U);
    }
  }
}

BOOST_AUTO_TEST_CASE(truncated_words_are_outside_all_spans) {
  const TinyFolder folder(tagger("bert"));
  const auto model = load_any_model(folder.path()).model;
  Session session(*model->graph, model->store);
  std::string text;
  for (int i = 0; i < 60; ++i) text += "mary ";
  std::vector<CutText> cut;
  const TaggedText found =
      tag_texts(session, *model, {"mary", text}, [&](const CutText& c) { cut.push_back(c); })[1];
  BOOST_TEST_REQUIRE(cut.size() == 1U);
  BOOST_TEST(cut[0].text == 1U);
  BOOST_TEST(cut[0].tokens == 62);
  BOOST_TEST(cut[0].kept == kTinyContext);
  BOOST_TEST_REQUIRE(found.words.size() == 60U);
  for (std::size_t w = 38; w < 60; ++w) {
    BOOST_TEST(found.words[w].tag == "O");
    BOOST_TEST(found.words[w].begin == 5 * w);
  }

  // A folder can specify that the beginning of a text is cut off.
  folder.write("tokenizer_config.json",
               R"({"tokenizer_class": "BertTokenizer", "truncation_side": "left"})");
  const auto left = load_any_model(folder.path()).model;
  Session left_session(*left->graph, left->store);
  std::string end;
  for (int i = 0; i < 38; ++i) end += "anna ";
  const std::vector<TaggedText> tagged =
      tag_texts(left_session, *left, {text + end, end}, ignore_truncation());
  BOOST_TEST_REQUIRE(tagged[0].words.size() == 98U);
  for (std::size_t w = 0; w < 98; ++w) {
    BOOST_TEST(tagged[0].words[w].begin == 5 * w);
    if (w < 60) {
      BOOST_TEST(tagged[0].words[w].tag == "O");
    } else {
      BOOST_TEST(tagged[0].words[w].tag == tagged[1].words[w - 60].tag);
    }
  }
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
