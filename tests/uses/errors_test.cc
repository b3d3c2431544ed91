// Errors of all inference commands. Each error is one line that states the problem and its
// location.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tiny_folder.h"
#include "weft/models/tasks/tasks.h"
#include "weft/tests/support/program_shell.h"
#include "writer_folders.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(use_errors)
namespace {

constexpr const char* kChatTemplate =
    "{% for message in messages %}{{ message['role'] + ': ' + message['content'] + '\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ 'assistant: ' }}{% endif %}";

/// A model folder for each command, and texts that cause errors in every command.
class Commands {
 public:
  Commands() : gpt2_("gpt2"), bart_("bart"), mbart_("mbart") {
    testing::write_gpt2(gpt2_);
    gpt2_.write("chat_template.jinja", kChatTemplate);
    testing::write_bart(bart_);
    testing::write_mbart(mbart_, false);
    for (int i = 0; i < 70; ++i) long_ += i % 2 == 0 ? "the " : "film ";
    weft.write("long.txt", "good\n" + long_ + "\n");
    weft.write("long_masked.txt", "the [MASK]\n[MASK] " + long_ + "\n");
    weft.write("broken.txt", "good\nthe f\xC3(lm\n");
    weft.write("empty.txt", "");
    weft.write("context.txt", "mary lives in york .");
  }

  Outcome operator()(const std::string& arguments) const {
    return weft(arguments + " --threads 1");
  }
  /// Returns the beginning of a command line: the command name and the model folder.
  std::string command(Use use) const {
    return std::string(choice_name(use)) + " " + folder(use) + " ";
  }
  std::string folder(Use use) const {
    switch (use) {
      case Use::classify: return classifier_.path();
      case Use::tag: return tagger_.path();
      case Use::fill: return filler_.path();
      case Use::answer: return answerer_.path();
      case Use::embed: return encoder_.path();
      case Use::translate: return mbart_.path();
      default: return gpt2_.path();
    }
  }
  std::string file(const std::string& name) const { return weft.path(name); }
  /// Runs the program with the file `path` as stdin.
  Outcome with_stdin(const std::string& arguments, const std::string& path) const {
    return weft("--version >/dev/null; sh -c '" + std::string(WEFT_PROGRAM) + " " + arguments +
                " --threads 1 <" + path + "'");
  }
  const std::string& long_text() const { return long_; }
  const testing::TemporaryFolder& gpt2() const { return gpt2_; }
  const testing::TemporaryFolder& bart() const { return bart_; }
  const testing::TemporaryFolder& mbart() const { return mbart_; }

  Shell weft;

 private:
  TinyFolder classifier_{"bert", "ForSequenceClassification"},
      tagger_{"bert", "ForTokenClassification"}, filler_{"bert", "ForMaskedLM"},
      answerer_{"bert", "ForQuestionAnswering"}, encoder_{"bert", "Model"};
  testing::TemporaryFolder gpt2_, bart_, mbart_;
  std::string long_;
};

const Commands& commands() {
  static const Commands all;
  return all;
}

/// A command line with the expected exit code and message.
struct Case {
  std::string arguments;
  int code;
  std::string message;
};
void check_all(const std::vector<Case>& cases) {
  for (const Case& one : cases) {
    BOOST_TEST_CONTEXT(one.arguments.substr(0, 200)) {
      check_error(commands()(one.arguments), one.code, one.message);
    }
  }
}

/// Returns the arguments that pass a text, or a file of lines, to a command.
std::string with_text(Use use, const std::string& text) {
  const std::string quoted = "'" + text + "'";
  switch (use) {
    case Use::answer:
      return "--context " + commands().file("context.txt") + " --question " + quoted;
    case Use::embed: return "--json " + quoted;
    case Use::fill: return "'[MASK] " + text + "'";
    case Use::generate: return "--prompt " + quoted;
    case Use::rerank: return "--query film " + quoted;
    case Use::score: return "--continuation " + quoted;
    default: return quoted;
  }
}
std::string with_lines(Use use, const std::string& file) {
  const std::string path = commands().file(file);
  if (use == Use::generate) return "--prompts " + path;
  if (use == Use::embed) return "--json --input " + path;
  return "--input " + path;
}
const std::vector<Use> kTextUses = {Use::classify, Use::tag,   Use::fill,     Use::embed,
                                    Use::generate, Use::score, Use::translate};

BOOST_AUTO_TEST_CASE(texts_beyond_the_context_are_errors) {
  const Commands& c = commands();
  const std::string& text = c.long_text();
  const std::string cut = " (use --truncate)";
  std::vector<Case> cases;
  for (const Use use : kTextUses) {
    const std::string file = use == Use::fill ? "long_masked.txt" : "long.txt";
    const std::string alone = use == Use::generate ? "weft: the prompt: it has "
                              : use == Use::score  ? "weft: the continuation: it has "
                                                   : "weft: the text: it has ";
    cases.push_back({c.command(use) + with_text(use, text), 1, alone});
    cases.push_back({c.command(use) + with_text(use, text), 1, cut});
    cases.push_back(
        {c.command(use) + with_lines(use, file), 1, "weft: " + c.file(file) + ", line 2: it has "});
  }
  cases.push_back({c.command(Use::classify) + "'" + text + "'", 1,
                   "the text: it has 72 tokens, but the model accepts at most 40" + cut});
  cases.push_back({c.command(Use::classify) + "good '" + text + "'", 1, "weft: text 2: it has 72"});
  cases.push_back({c.command(Use::embed) + "good --similar " + c.file("long.txt"), 1,
                   c.file("long.txt") + ", line 2: it has 72 tokens"});
  cases.push_back({c.command(Use::answer) + with_text(Use::answer, text), 1,
                   "weft: the question: it has 73 tokens including special tokens, which leaves "
                   "no room for the other text in rows of 40 tokens"});
  cases.push_back({c.command(Use::generate) + "--prompt up --prompt '" + text + "'", 1,
                   "weft: prompt 2: it has "});
  cases.push_back({c.command(Use::generate) + with_text(Use::generate, text), 1,
                   "but the model, which needs room for output, accepts at most 47" + cut});
  cases.push_back({"generate " + c.bart().path() + " --prompt '" + text + "'", 1,
                   "but the model accepts at most 64" + cut});
  cases.push_back({c.command(Use::generate) + "--tokens 99 --prompt up", 1,
                   "ids exceeds the model's 48 positions"});
  check_all(cases);
  // The context length is checked before anything is generated.
  BOOST_TEST(c(c.command(Use::generate) + "--tokens 99 --prompt up").out == "");
  weft::Outcome said =
      c.with_stdin("chat " + c.folder(Use::chat), c.weft.write("lines", text + "\nup\n"));
  check_error({said.code, said.out, said.err.substr(0, said.err.find('\n') + 1)}, 1,
              "weft: the context is full: the conversation has ");
}

BOOST_AUTO_TEST_CASE(truncate_shortens_texts_beyond_the_context) {
  const Commands& c = commands();
  for (const Use use : kTextUses) {
    BOOST_TEST_CONTEXT(choice_name(use)) {
      const std::string file = use == Use::fill ? "long_masked.txt" : "long.txt";
      const Outcome found = c(c.command(use) + with_lines(use, file) + " --truncate");
      BOOST_TEST_INFO(found.err);
      BOOST_TEST(found.code == 0);
      BOOST_TEST(
          contains(found.err, "truncated to the model's context: " + c.file(file) + ", line 2: "));
      // If no text is too long, --truncate has no effect and prints nothing.
      const Outcome same = c(c.command(use) + with_text(use, "good film") + " --truncate");
      BOOST_TEST(same.code == 0);
      BOOST_TEST(!contains(same.err, "truncated to"));
      BOOST_TEST(same.out == c(c.command(use) + with_text(use, "good film")).out);
    }
  }
  const auto says = [&](const std::string& arguments) { return c(arguments + " --truncate").err; };
  const std::string quoted = "'" + c.long_text() + "'";
  BOOST_TEST(says(c.command(Use::classify) + quoted) ==
             "truncated to the model's context: the text: the first 40 of 72 tokens\n");
  // A decoder keeps the end of its prompt and reserves room for the tokens to be generated.
  const Outcome six = c(c.command(Use::generate) + "--tokens 6 --truncate --prompt " + quoted);
  BOOST_TEST(contains(six.err, "the prompt: the last 42 of "));
  BOOST_TEST(contains(c.long_text() + six.out, six.out.substr(0, 20)));
  BOOST_TEST(contains(says(c.command(Use::generate) + "--prompt " + quoted), "the last 24 of "));
}

BOOST_AUTO_TEST_CASE(unknown_languages_are_errors) {
  const Commands& c = commands();
  const testing::TemporaryFolder t5("t5"), marian("marian"), several("several");
  testing::write_t5(t5,
                    {{"task_specific_params",
                      {{"translation_en_to_de", {{"prefix", "translate English to German: "}}}}}});
  testing::write_marian(marian);
  testing::write_marian(several, {"deu", "fra"});
  const std::string command = c.command(Use::translate) + "up ",
                    known = ": the model supports de_DE, en_XX, ro_RO";
  check_all(
      {{command + "--to sv_SE", 2, "weft: unknown language code 'sv_SE'" + known},
       {command + "--to de", 2, "weft: unknown language code 'de' (did you mean de_DE?)" + known},
       {command + "--from en_xx --to de_DE", 2, "code 'en_xx' (did you mean en_XX?)" + known},
       {command + "--from english --to de_DE", 2, "weft: unknown language code 'english'"},
       {"translate " + c.bart().path() + " up --to de_DE", 2,
        "weft: the model has no language codes, so 'de_DE' cannot be used"},
       {"translate " + marian.path() + " up --from English --to German", 2,
        "weft: the model has no language codes, so 'English' cannot be used"},
       {"translate " + several.path() + " up --to de", 2,
        "weft: unknown language code 'de' (did you mean deu?): the model supports deu, fra"},
       {"translate " + several.path() + " up --from eng --to deu", 2,
        "weft: the model accepts only a target language: leave out the source language"},
       {"translate " + t5.path() + " up --to de", 2,
        "weft: the model needs both languages in its prefix: give the source"},
       {"translate " + t5.path() + " up --from en --to fi", 2,
        "weft: the model does not translate en to fi: it supports en to de"},
       {"generate " + t5.path() + " --prompt up --task summary", 1,
        "weft: unknown task 'summary'; available: translation_en_to_de"},
       {"generate " + c.bart().path() + " --prompt up --task summarization", 1,
        "weft: the model has no task settings, so 'summarization' is not available"}});
}

BOOST_AUTO_TEST_CASE(invalid_chat_formats_are_errors) {
  const Commands& c = commands();
  const testing::TemporaryFolder folder("formats");
  testing::write_gpt2(folder);
  const std::string chat = "chat " + folder.path();
  check_all({{chat, 2,
              folder.path() + ": the tokenizer has no chat template: set --format to one of "
                              "chatml, llama-2, llama-3, alpaca, or to a template file"},
             {chat + " --format surprise", 2,
              "--format: unknown chat format 'surprise'; built-in formats are 'chatml', 'llama-2', "
              "'llama-3', 'alpaca' (and there is no file of that name)"}});
  const std::string outside = "hello\n{% include 'x' %}";
  folder.write("chat_template.jinja", outside);
  const std::string file = c.weft.write("outside.jinja", outside);
  check_all(
      {{chat, 2, folder.path() + ": chat_template.jinja: "},
       {chat, 2, "the chat template has the statement 'include', which is not supported (line 2"},
       {chat + " --format " + file, 1, "weft: " + file + ": "},
       {chat + " --format " + file, 1, "has the statement 'include', which is not supported"}});
}

BOOST_AUTO_TEST_CASE(mismatched_and_missing_tokenizers_are_errors) {
  const Commands& c = commands();
  std::string words;
  for (int i = 0; i < 60; ++i) words += "word" + std::to_string(i) + "\n";
  for (const char* head : {"ForSequenceClassification", "ForTokenClassification", "ForMaskedLM",
                           "ForQuestionAnswering", "Model"}) {
    const TinyFolder folder("bert", head),
        without_tokenizer(tiny_config("bert", std::string("Bert") + head), false);
    const Use use = load_any_model(folder.path()).model->layout().uses.front();
    folder.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n" + words);
    const std::string rest = " " + with_text(use, "good"), name(choice_name(use));
    check_all({{name + " " + folder.path() + rest, 1,
                "weft: " + folder.path() +
                    ": the tokenizer has 65 ids, but the model's embedding table has 48 rows: "
                    "they do not belong together"},
               {name + " " + without_tokenizer.path() + rest, 1,
                "weft: " + without_tokenizer.path() +
                    " has no tokenizer: it contains none of tokenizer.json, vocab.json with"}});
  }
  std::vector<std::string> many;
  for (int i = 0; i < 90; ++i) many.push_back("<" + std::to_string(i) + ">");
  for (const Use use : {Use::generate, Use::score, Use::chat, Use::translate}) {
    const testing::TemporaryFolder folder("writer");
    use == Use::translate ? testing::write_mbart(folder, false) : testing::write_gpt2(folder);
    const std::string command = std::string(choice_name(use)) + " " + folder.path() + " " +
                                (use == Use::chat ? "" : with_text(use, "good"));
    folder.write("tokenizer.json", testing::tokenizer_json(many, {}));
    check_all({{command, 1,
                folder.path() + ": the tokenizer has 387 ids, but the model's embedding table "}});
    std::filesystem::remove(folder.path("tokenizer.json"));
    const bool knows_ids = use == Use::generate || use == Use::score;
    check_all({{command, knows_ids ? 2 : 1,
                "weft: " + folder.path() + " has no tokenizer: it contains"}});
    if (knows_ids) check_all({{command, 2, "give --prompt-ids"}});
  }
  check_all({{"classify " + c.file("no_such_folder") + " good", 1, c.file("no_such_folder")}});
}

BOOST_AUTO_TEST_CASE(unsupported_inference_tasks_are_errors) {
  const Commands& c = commands();
  std::vector<Case> cases;
  for (std::size_t i = 0; i < kUseNames.size(); ++i) {
    const Use use = static_cast<Use>(i);
    for (const std::string& path :
         {c.folder(Use::classify), c.folder(Use::tag), c.folder(Use::fill), c.folder(Use::answer),
          c.folder(Use::embed), c.folder(Use::generate), c.folder(Use::translate)}) {
      const ModelLayout& layout = load_any_model(path).model->layout();
      if (layout.can(use)) continue;
      const std::string command = std::string(kUseNames[i]) + " " + path + " " +
                                  (use == Use::chat ? "" : with_text(use, "good"));
      cases.push_back(
          {command, 1, "weft: " + path + " holds " + layout.unsupported_use_message(use)});
      for (const Use other : layout.uses)
        cases.push_back({command, 1, "weft " + std::string(choice_name(other))});
    }
  }
  BOOST_TEST(cases.size() > 100U);
  check_all(cases);
  check_all(
      {{"classify " + c.folder(Use::translate) + " good", 1,
        "holds a translator, which does not classify; use it with weft generate, weft score, weft "
        "translate"}});
}

BOOST_AUTO_TEST_CASE(missing_and_empty_inputs_are_errors) {
  const Commands& c = commands();
  std::vector<Case> cases;
  for (const Use use : kTextUses) {
    const std::string holds = use == Use::generate ? " contains no prompt" : " contains no text";
    cases.push_back(
        {c.command(use) + with_lines(use, "empty.txt"), 1, c.file("empty.txt") + holds});
    if (use != Use::generate && use != Use::score && use != Use::embed)
      cases.push_back({c.command(use), 2, "no input: give "});
    if (use != Use::fill)
      cases.push_back(
          {c.command(use) + with_text(use, ""), 2, " is empty: leave it out, or give it"});
  }
  cases.push_back({c.command(Use::embed) + "--json", 2, "no input: give texts"});
  cases.push_back({c.command(Use::score), 2, "there is nothing to score: give --continuation"});
  cases.push_back({c.command(Use::score) + "--continuation g", 1,
                   "the continuation: it has only one token, and without a prompt the first"});
  cases.push_back({c.command(Use::answer) + "--question who --context " + c.file("empty.txt"), 1,
                   c.file("empty.txt") + " contains no text"});
  cases.push_back({c.command(Use::answer) + "--context " + c.file("context.txt"), 2, "--question"});
  cases.push_back(
      {"generate " + c.bart().path(), 2, "an encoder-decoder needs an input text: give --prompt"});
  check_all(cases);
  BOOST_TEST(c("chat " + c.folder(Use::chat)).code == 0);
}

BOOST_AUTO_TEST_CASE(texts_that_are_not_utf8_are_errors) {
  const Commands& c = commands();
  std::vector<Case> cases;
  for (const Use use : kTextUses) {
    cases.push_back({c.command(use) + with_lines(use, "broken.txt"), 1,
                     "weft: " + c.file("broken.txt") + ", line 2: not UTF-8: "});
    const std::string alone = use == Use::generate ? "the prompt"
                              : use == Use::score  ? "the continuation"
                                                   : "the text";
    cases.push_back(
        {c.command(use) + with_text(use, "f\xC3(lm"), 1, "weft: " + alone + ": not UTF-8: "});
  }
  cases.push_back({c.command(Use::answer) + with_text(Use::answer, "f\xC3(lm"), 1,
                   "weft: the question: not UTF-8: "});
  cases.push_back({c.command(Use::answer) + "--question who --context " + c.file("broken.txt"), 1,
                   c.file("broken.txt") + ", line 2: not UTF-8: "});
  cases.push_back({c.command(Use::embed) + "good --similar " + c.file("broken.txt"), 1,
                   c.file("broken.txt") + ", line 2: not UTF-8: "});
  check_all(cases);
  const Outcome said = c.with_stdin("chat " + c.folder(Use::chat), c.file("broken.txt"));
  BOOST_TEST(said.code == 1);
  BOOST_TEST(contains(said.err, "weft: stdin, line 2: not UTF-8: "));
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
