// Every reader of line-based files accepts line feeds and CRLF, a byte-order mark, blank lines at
// the end, and a last line without a line feed.
#include <boost/test/unit_test.hpp>
#include <functional>
#include <map>
#include <sstream>

#include "weft/models/data/formats/conversations.h"
#include "weft/models/data/formats/documents.h"
#include "weft/models/data/formats/labelled_text.h"
#include "weft/models/data/formats/parallel_text.h"
#include "weft/models/data/formats/scored_pairs.h"
#include "weft/models/data/formats/squad.h"
#include "weft/models/data/formats/tagged_text.h"
#include "weft/models/data/images/image_csv.h"
#include "weft/models/vectors/word_similarity.h"
#include "weft/tests/support/text_files.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(line_endings)
namespace {

/// A format: two lines of a file, and a function that returns the contents of a file as text.
struct Format {
  std::string first, last;
  std::function<std::string(const std::string& path)> read;
};

using Paths = std::vector<std::string>;

const std::map<std::string, Format>& formats() {
  static const std::map<std::string, Format> all = {
      {"labelled text",
       {"good\tfine film", "bad\tdull film",
        [](const std::string& path) {
          std::string text;
          const LabelledText data = read_labelled_text(Paths{path}, LabelSide::first);
          for (std::size_t i = 0; i < data.texts.size(); ++i)
            text +=
                data.names[static_cast<std::size_t>(data.labels[i])] + ":" + data.texts[i] + ";";
          return text;
        }}},
      {"text pairs",
       {"a ship\tein schiff", "a sea\tein meer",
        [](const std::string& path) {
          std::string text;
          for (const TextPair& pair : read_text_pairs(path))
            text += pair.source + "|" + pair.target + ";";
          return text;
        }}},
      {"scored pairs",
       {"1\ta cat\ta dog", "2.5\tone\ttwo",
        [](const std::string& path) {
          std::ostringstream text;
          for (const ScoredPair& pair : read_scored_pairs(Paths{path}).lines)
            text << pair.score << "|" << pair.first << "|" << pair.second << ";";
          return text.str();
        }}},
      {"tagged text",
       {"she\tO", "York\tB-town",
        [](const std::string& path) {
          std::string text;
          for (const TaggedSentence& sentence : read_tagged_text(Paths{path})) {
            for (std::size_t i = 0; i < sentence.words.size(); ++i)
              text += sentence.words[i] + "/" + sentence.tags[i] + " ";
            text += ";";
          }
          return text;
        }}},
      {"documents",
       {"one sentence", "another sentence",
        [](const std::string& path) {
          std::string text;
          for (const TextDocument& document : read_documents(Paths{path})) {
            for (const std::string& sentence : document) text += sentence + "|";
            text += ";";
          }
          return text;
        }}},
      {"conversations",
       {R"({"instruction":"a","output":"b"})", R"({"instruction":"c","output":"d"})",
        [](const std::string& path) {
          std::string text;
          for (const Conversation& turns : read_conversations(Paths{path})) {
            for (const Message& message : turns) text += message.role + ":" + message.content + "|";
          }
          return text;
        }}},
      {"questions",
       {R"({"data":[{"paragraphs":[{"context":"a town","qas":[{"id":"1","question":"what",)",
        R"("answers":[{"text":"town","answer_start":2}]}]}]}]})",
        [](const std::string& path) {
          std::string text;
          for (const auto& asked : read_squad(Paths{path}).questions) text += asked.question + ";";
          return text;
        }}},
      {"images",
       {"1,2,3,4,0", "5,6,7,8,1",
        [](const std::string& path) {
          std::string text;
          for (const std::int64_t label : read_image_csv(path).labels)
            text += std::to_string(label) + ";";
          return text;
        }}},
      {"word pairs",
       {"cat dog 0.5", "sea ship 0.25",
        [](const std::string& path) {
          std::string text;
          for (const WordPair& pair : read_word_pairs(path))
            text += pair.first + "|" + pair.second + "|" + std::to_string(pair.score) + ";";
          return text;
        }}},
  };
  return all;
}

BOOST_AUTO_TEST_CASE(all_formats_accept_every_kind_of_line_ending) {
  const TextFiles files("lines");
  for (const auto& [name, format] : formats()) {
    BOOST_TEST_CONTEXT(name) {
      const auto contents = [&](const std::string& bytes) {
        return format.read(files.write("file", bytes));
      };
      const std::string expected = contents(format.first + "\n" + format.last + "\n");
      for (const std::string& bytes :
           {format.first + "\n" + format.last, format.first + "\r\n" + format.last + "\r\n",
            "\xEF\xBB\xBF" + format.first + "\n" + format.last + "\n",
            format.first + "\n" + format.last + "\n\n",
            format.first + "\r\n" + format.last + "\r\n\r\n\r\n",
            format.first + "\n" + format.last + "\n \t\r\n"})
        BOOST_TEST(contents(bytes) == expected);
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
