// weft tokenizer: learns tokenizers, and shows what they do.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/data/corpus/corpus_texts.h"
#include "weft/models/data/lines.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/program/commands.h"
#include "weft/models/program/console.h"
#include "weft/models/program/corpus_arguments.h"
#include "weft/models/program/generate_arguments.h"
#include "weft/models/program/inspect_tokenizer.h"
#include "weft/models/program/options.h"
#include "weft/models/program/paths.h"
#include "weft/models/tokenizers/read_tokenizer.h"
#include "weft/models/tokenizers/train/new_tokenizer.h"
#include "weft/models/tokenizers/unicode/repair.h"
#include "weft/serialization/read_file.h"
#include "weft/serialization/standard_input.h"

namespace weft::program {
namespace {

constexpr const char* kTokenizerHelp =
    "a tokenizer.json, a folder of Hugging Face's library, a SentencePiece model, or a .weft file";

struct TrainTokenizerArguments {
  CorpusArguments corpus;
  NewTokenizerOptions options;
  std::vector<std::string> special;
  std::int64_t sentinels = 0;
  std::string out;
  int threads = 0;
  bool force = false;
};

struct EncodeArguments {
  std::string tokenizer, text, file;
  bool lines = false, around = false, plain = false;
  bool pieces = false, spans = false, json = false;
};

struct DecodeArguments {
  std::string tokenizer;
  std::vector<std::string> ids;
  bool special = false;
};

std::vector<std::string> special_tokens(const TrainTokenizerArguments& args) {
  std::vector<std::string> tokens =
      args.special.empty() ? usual_special_tokens(args.options.kind) : args.special;
  // As T5's: the first has the highest id.
  for (std::int64_t i = args.sentinels - 1; i >= 0; --i)
    tokens.push_back(fmt::format("<extra_id_{}>", i));
  return tokens;
}

/// Texts, and whether there were any.
class HeardTexts : public TextSource {
 public:
  explicit HeardTexts(TextSource& texts) : texts_(texts) {}
  bool next(std::string& part) override {
    const bool more = texts_.next(part);
    any_ = any_ || more;
    return more;
  }
  bool any() const { return any_; }

 private:
  TextSource& texts_;
  bool any_ = false;
};

int train(const TrainTokenizerArguments& args, CommandPaths paths) {
  const OutputFile out = paths.writes("--out", args.out, FileKind::tokenizer);
  NewTokenizerOptions options = args.options;
  options.special_tokens = special_tokens(args);
  CorpusTexts corpus(args.corpus.files(), args.corpus.options());
  HeardTexts texts(corpus);
  Workers workers({.threads = args.threads});
  std::optional<SubwordTokenizer> learned;
  try {
    learned = learn_tokenizer(texts, options, workers);
  } catch (const ArgumentError& e) {
    throw UsageError(e.what());
  }
  if (!texts.any()) throw DataError("there is no text to learn from");
  write_text(out, learned->to_bytes());
  const std::int64_t found = learned->vocab_size();
  say("tokenizer {}: {} ids\n", choice_name(options.kind), grouped(found));
  if (found < options.vocab) {
    say("vocab     {} ids: the text gives no more of the {} asked for\n", grouped(found),
        grouped(options.vocab));
  }
  say("wrote {}\n", args.out);
  return 0;
}

void print_json(const Tokenizer& tokenizer, const Encoding& encoding) {
  nlohmann::ordered_json row;
  row["ids"] = encoding.ids;
  row["pieces"] = nlohmann::ordered_json::array();
  row["spans"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < encoding.size(); ++i) {
    row["pieces"].push_back(repaired(tokenizer.piece(encoding.ids[i])));
    row["spans"].push_back({encoding.spans[i].begin, encoding.spans[i].end});
  }
  say("{}\n", row.dump());
}

void encode_one(const Tokenizer& tokenizer, std::string_view text, const EncodeArguments& args) {
  const Encoding found =
      tokenizer.encode_text(text, {.add_special = args.around, .special_in_text = !args.plain});
  if (args.json) return print_json(tokenizer, found);
  if (!args.pieces && !args.spans) return say("{}\n", fmt::join(found.ids, " "));
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string piece = excerpt(tokenizer.piece(found.ids[i]), std::string_view::npos);
    if (args.spans) {
      say("{}\t{}\t{}\t{}\n", found.ids[i], found.spans[i].begin, found.spans[i].end, piece);
    } else {
      say("{}\t{}\n", found.ids[i], piece);
    }
  }
}

/// Calls `use`; what is wrong with a text is said with its name.
template <class Use>
void with_name(const std::string& name, const Use& use) {
  try {
    use();
  } catch (const Error& e) {
    e.rethrow_as(fmt::format("{}: {}", name, e.what()));
  }
}

int encode(const EncodeArguments& args) {
  if (!args.text.empty() && !args.file.empty())
    throw UsageError("text and --file are two texts: give one of them");
  if (int{args.pieces} + int{args.spans} + int{args.json} > 1)
    throw UsageError("--pieces, --spans and --json say how ids are shown: give one of them");
  const Tokenizer tokenizer = read_tokenizer(args.tokenizer);
  const std::string text = !args.text.empty()   ? args.text
                           : !args.file.empty() ? read_whole_file(args.file)
                                                : read_standard_input();
  const std::string name = !args.text.empty()   ? "the text"
                           : !args.file.empty() ? args.file
                                                : "stdin";
  if (!args.lines) {
    with_name(name, [&] { encode_one(tokenizer, text, args); });
    return 0;
  }
  for_lines(text, [&](std::int64_t number, std::string_view line) {
    with_name(fmt::format("{}, line {}", name, number), [&] { encode_one(tokenizer, line, args); });
  });
  return 0;
}

/// The ids of these texts. UsageError for what is none, or outside of the vocabulary.
std::vector<std::int32_t> ids_of(std::span<const std::string> texts, const Tokenizer& tokenizer) {
  std::vector<std::int32_t> ids;
  for (const std::string& text : texts) {
    for (const std::int64_t id : parse_ids("ids", text)) {
      if (id >= tokenizer.vocab_size()) {
        throw UsageError(fmt::format("token id {} is outside the vocabulary [0, {})", id,
                                     tokenizer.vocab_size()));
      }
      ids.push_back(static_cast<std::int32_t>(id));
    }
  }
  return ids;
}

/// The ids that come in by stdin: none, or DataError for what is none.
std::vector<std::int32_t> read_ids(const Tokenizer& tokenizer) {
  const std::string text = read_standard_input();
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return {};
  try {
    return ids_of(std::span(&text, 1), tokenizer);
  } catch (const UsageError& e) {
    throw DataError(fmt::format("stdin: {}", e.what()));
  }
}

int decode(const DecodeArguments& args) {
  for (const std::string& text : args.ids) parse_ids("ids", text);  // before any file is read
  const Tokenizer tokenizer = read_tokenizer(args.tokenizer);
  const std::vector<std::int32_t> ids =
      args.ids.empty() ? read_ids(tokenizer) : ids_of(args.ids, tokenizer);
  write_stdout(tokenizer.decode(ids, {.keep_special = args.special}) + "\n");
  return 0;
}

void add_train(CLI::App& parent, Action& action) {
  OptionList options(parent, "train", "Learn a tokenizer from texts of any size");
  const auto args = std::make_shared<TrainTokenizerArguments>();
  add_corpus(options, args->corpus);
  options.output("--out", args->out, "file to write, a tokenizer.json").required();
  options.flag("--force", args->force, "replace a file of another kind of this name");
  options.choice(
      "--kind", {kLearnedKindNames.begin(), kLearnedKindNames.end()},
      [args](const std::string& name) { args->options.kind = parse_choice<LearnedKind>(name); },
      "byte-bpe: pairs of bytes, as GPT-2's; bpe: pairs of characters, as SentencePiece's, with "
      "--byte-fallback as LLaMA's; wordpiece: as BERT's; unigram: as T5's, learned as "
      "SentencePiece does; word: whole words and signs (default: byte-bpe)");
  options.integer("--vocab", args->options.vocab, {1, 1 << 24}, "ids at most (default: 8000)");
  options.texts(
      "--special", args->special, OptionList::Times::repeated,
      "a special token, which gets one of the first ids (default: <|endoftext|>; bpe: "
      "<unk> <s> </s>; wordpiece: [PAD] [UNK] [CLS] [SEP] [MASK]; unigram: <pad> </s> <unk>; word: "
      "<pad> <unk> <s> </s>)");
  options.integer("--sentinels", args->sentinels, {0, 10'000},
                  "special tokens that stand for hidden spans, <extra_id_0> and so on: training by "
                  "span corruption needs 100 (default: 0)");
  options.integer(
      "--min-frequency", args->options.min_frequency, kFromZero,
      "byte-bpe, bpe, wordpiece: rarer pairs are not merged (default: 2); word: rarer words are "
      "unknown (default: 1)");
  options.integer(
      "--limit-alphabet", args->options.limit_alphabet, kFromOne,
      "byte-bpe, wordpiece: ids of single characters at most (default of wordpiece: 1000)");
  options.integer("--max-length", args->options.max_token_length, kFromOne,
                  "byte-bpe: pieces of three characters or more have fewer than so many");
  options.add("--prefix", kTextType, OptionList::Times::once,
              "wordpiece: in front of pieces inside of words (default: ##)",
              [args](const std::string& text) { args->options.continuing_subword_prefix = text; });
  options.switches(
      "--prefix-space", [args](bool on) { args->options.add_prefix_space = on; },
      "byte-bpe: texts begin with a blank, as their other words do (default: no)");
  options.switches(
      "--lowercase", [args](bool on) { args->options.lowercase = on; },
      "wordpiece: lower case without accents (default: yes); word: lower case (default: no)");
  options.real("--coverage", args->options.character_coverage, kAboveZeroToOne,
               "bpe, unigram: share of the characters that get an id (default: 0.9995)");
  options.choice(
      "--normalization", {"nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"},
      [args](const std::string& name) { args->options.normalization = name; },
      "bpe, unigram: SentencePiece's rules for characters (default: nmt_nfkc)");
  options.switches(
      "--byte-fallback", [args](bool on) { args->options.byte_fallback = on; },
      "bpe, unigram: unknown characters become their bytes (default: no)");
  options.threads(args->threads);
  options.run(action, [args, &parsed = options.command()] {
    return train(*args, CommandPaths(parsed, args->force));
  });
}

void add_encode(CLI::App& parent, Action& action) {
  OptionList options(parent, "encode", "The ids of a text");
  const auto args = std::make_shared<EncodeArguments>();
  options.input("tokenizer", args->tokenizer, kTokenizerHelp).required();
  options.text("text", args->text, "the text (default: what comes in by stdin)");
  options.input("--file", args->file, "a file with the text");
  options.flag("--lines", args->lines, "each line is a text of its own");
  options.flag("--special", args->around, "with the special ids that models want around texts");
  options.flag("--plain", args->plain, "names of special ids in the text are text like any other");
  options.flag("--pieces", args->pieces, "a line for each id: the id and its piece");
  options.flag("--spans", args->spans,
               "a line for each id: the id, the bytes of the text that it stands for (begin, end), "
               "its piece");
  options.flag("--json", args->json, "a line of JSON for each text: ids, pieces, spans");
  options.run(action, [args] { return encode(*args); });
}

void add_decode(CLI::App& parent, Action& action) {
  OptionList options(parent, "decode", "The text of ids");
  const auto args = std::make_shared<DecodeArguments>();
  options.input("tokenizer", args->tokenizer, kTokenizerHelp).required();
  options.texts("ids", args->ids, OptionList::Times::list,
                "the ids (default: what comes in by stdin)");
  options.flag("--special", args->special, "special ids are shown by their names");
  options.run(action, [args] { return decode(*args); });
}

void add_inspect(CLI::App& parent, Action& action) {
  OptionList options(parent, "inspect", "What a tokenizer is made of");
  const auto path = std::make_shared<std::string>();
  options.input("tokenizer", *path, kTokenizerHelp).required();
  options.run(action, [path] {
    inspect_tokenizer(*path, read_tokenizer(*path));
    return 0;
  });
}

}  // namespace

void add_tokenizer_command(CLI::App& app, Action& action) {
  OptionList options(app, "tokenizer", "Learn tokenizers, and see what they do");
  options.needs_command();
  add_train(options.command(), action);
  add_encode(options.command(), action);
  add_decode(options.command(), action);
  add_inspect(options.command(), action);
}

}  // namespace weft::program
