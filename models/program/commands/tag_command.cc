// weft tag: labels each word of a text, for example for named-entity recognition. The tags depend
// on the training data of the model.

#include <memory>

#include "weft/models/program/commands/commands.h"
#include "weft/models/program/commands/text_command.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/json_lines.h"
#include "weft/models/program/terminal/usage_error.h"

namespace weft::program {
namespace {

struct TagArguments : TextArguments {
  bool spans = false;
};

template <class Place>
std::string part_of(const std::string& text, const Place& place) {
  return text.substr(place.begin, place.end - place.begin);
}

/// Prints the words and tags in the format of training files, so that users can correct errors and
/// train on the result.
void print_words(const std::string& text, const TaggedText& found) {
  for (const TaggedWord& word : found.words) say("{}\t{}\n", part_of(text, word), word.tag);
  say("\n");
}

void print_spans(const std::string& text, const TaggedText& found) {
  for (const TaggedSpan& span : found.spans) {
    say("{}\t{}\t{}\t{}\t{:.4f}\n", span.begin, span.end, span.type, part_of(text, span),
        span.score);
  }
  say("\n");
}

void print_tags_json(const std::string& text, const TaggedText& found) {
  JsonLine spans = JsonLine::array(), words = JsonLine::array();
  for (const TaggedSpan& span : found.spans) {
    spans.push_back({{"type", span.type},
                     {"text", part_of(text, span)},
                     {"begin", span.begin},
                     {"end", span.end},
                     {"score", rounded(span.score)}});
  }
  for (const TaggedWord& word : found.words) {
    words.push_back({{"word", part_of(text, word)},
                     {"tag", word.tag},
                     {"begin", word.begin},
                     {"end", word.end},
                     {"score", rounded(word.score)}});
  }
  say_json({{"text", text}, {"spans", std::move(spans)}, {"words", std::move(words)}});
}

int run(TagArguments& args, const World& world) {
  on_all_ranks(world, [&] {
    if (args.spans && args.json)
      throw UsageError("--json already prints the spans: leave out --spans");
  });
  return run_on_texts(
      args, Use::tag, "texts", world,
      [&](Session& session, const TrainedModel& model, const std::vector<std::string>& texts) {
        return tag_texts(session, model, texts, args.truncate.on_cut());
      },
      args.json    ? print_tags_json
      : args.spans ? print_spans
                   : print_words);
}

}  // namespace

void add_tag_command(CLI::App& app, Action& action) {
  OptionList options(app, "tag",
                     "Tag every word of texts. The output has lines 'word <tab> tag' and a blank "
                     "line after every text, or contains only the names that were found");
  const auto args = std::make_shared<TagArguments>();
  options
      .input("file", args->file,
             "a .weft file written by weft train encoder --task tag, or a Hugging Face folder with "
             "a ...ForTokenClassification model")
      .required();
  args->texts.add(options, "texts",
                  "sentences with spaces between words and punctuation: \"she lives in York .\" "
                  "(the tokenizers of Hugging Face folders separate punctuation themselves)");
  options.flag("--spans", args->spans,
               "print only names, as lines 'begin <tab> end <tab> type <tab> text <tab> score'; "
               "begin and end are byte offsets in the text");
  args->truncate.add(options);
  options.flag("--json", args->json, "print one JSON object per line: text, spans, words");
  options.execution(args->execution);
  options.run(action, [args](const World& world) { return run(*args, world); });
}

}  // namespace weft::program
