// weft tokenizer: trains tokenizers, encodes and decodes text, and describes tokenizers.
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
#include "weft/models/fields/numbers.h"
#include "weft/models/program/commands/commands.h"
#include "weft/models/program/commands/inspect_tokenizer.h"
#include "weft/models/program/files/paths.h"
#include "weft/models/program/options/corpus_arguments.h"
#include "weft/models/program/options/generate_arguments.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/usage_error.h"
#include "weft/models/text/corpus/corpus_texts.h"
#include "weft/models/text/corpus/lines.h"
#include "weft/models/text/tokenizers/read_tokenizer.h"
#include "weft/models/text/tokenizers/train/new_tokenizer.h"
#include "weft/models/text/unicode/repair.h"
#include "weft/serialization/files/read_file.h"
#include "weft/serialization/files/standard_input.h"

namespace weft::program {
namespace {

constexpr const char* kTokenizerHelp =
    "a tokenizer.json, a Hugging Face folder, a SentencePiece model, or a .weft file";

struct TrainTokenizerArguments {
  CorpusArguments corpus;
  TokenizerTrainerOptions options;
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
      args.special.empty() ? default_special_tokens(args.options.kind) : args.special;
  // As in T5, the first sentinel has the highest id.
  for (std::int64_t i = args.sentinels - 1; i >= 0; --i)
    tokens.push_back(fmt::format("<extra_id_{}>", i));
  return tokens;
}

/// Forwards texts and records whether there were any.
class TrackedTexts : public TextSource {
 public:
  explicit TrackedTexts(TextSource& texts) : texts_(texts) {}
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
  const OutputFile out = paths.plan_file("--out", args.out, FileKind::tokenizer);
  TokenizerTrainerOptions options = args.options;
  options.special_tokens = special_tokens(args);
  CorpusTexts corpus(args.corpus.files(), args.corpus.options());
  TrackedTexts texts(corpus);
  Workers workers({.threads = args.threads});
  std::optional<SubwordTokenizer> learned;
  try {
    learned = train_tokenizer(texts, options, workers);
  } catch (const ArgumentError& e) {
    throw UsageError(e.what());
  }
  if (!texts.any()) throw DataError("there is no text to train on");
  write_text(out, learned->to_bytes());
  const std::int64_t found = learned->vocab_size();
  say("tokenizer {}: {} ids\n", choice_name(options.kind), grouped(found));
  if (found < options.vocab) {
    say("vocab     {} ids instead of the requested {}: the text does not contain enough different "
        "pieces\n",
        grouped(found), grouped(options.vocab));
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

/// Calls `use`. If it throws an error about the text, the error is rethrown with the name of the
/// text.
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
    throw UsageError("text and --file both specify the input: give only one of them");
  if (int{args.pieces} + int{args.spans} + int{args.json} > 1)
    throw UsageError(
        "--pieces, --spans and --json are different output formats: give only one of them");
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

/// Parses the ids in these texts. Throws UsageError if a word is not an id or an id is outside the
/// vocabulary.
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

/// Returns the ids read from stdin; the result may be empty. Throws DataError if a word is not an
/// id.
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
  OptionList options(parent, "train", "Train a tokenizer on texts of any size");
  const auto args = std::make_shared<TrainTokenizerArguments>();
  add_corpus(options, args->corpus);
  options.output("--out", args->out, "tokenizer.json file to write").required();
  options.flag("--force", args->force,
               "replace an existing file of another type that has this name");
  options.choice(
      "--kind", {kLearnedKindNames.begin(), kLearnedKindNames.end()},
      [args](const std::string& name) { args->options.kind = parse_choice<LearnedKind>(name); },
      "byte-bpe: BPE on bytes (GPT-2); bpe: BPE on characters as in SentencePiece (with "
      "--byte-fallback: LLaMA); wordpiece: WordPiece (BERT); unigram: Unigram as in SentencePiece "
      "(T5); word: whole words and punctuation (default: byte-bpe)");
  options.integer("--vocab", args->options.vocab, {1, 1 << 24},
                  "maximum number of ids (default: 8000)");
  options.texts("--special", args->special, OptionList::Times::repeated,
                "special token; special tokens have the first ids; may be repeated (default: "
                "<|endoftext|>; bpe: <unk> <s> </s>; wordpiece: [PAD] [UNK] [CLS] [SEP] [MASK]; "
                "unigram: <pad> </s> <unk>; word: <pad> <unk> <s> </s>)");
  options.integer("--sentinels", args->sentinels, {0, 10'000},
                  "number of sentinel tokens for masked spans (<extra_id_0>, ...); span corruption "
                  "needs 100 (default: 0)");
  options.integer("--min-frequency", args->options.min_frequency, kFromZero,
                  "byte-bpe, bpe, wordpiece: minimum frequency of pairs to merge (default: 2); "
                  "word: minimum frequency of words, rarer words are unknown (default: 1)");
  options.integer(
      "--limit-alphabet", args->options.limit_alphabet, kFromOne,
      "byte-bpe, wordpiece: maximum number of single-character ids (default for wordpiece: 1000)");
  options.integer("--max-length", args->options.max_token_length, kFromOne,
                  "byte-bpe: exclusive upper limit on the number of characters per piece, for "
                  "pieces of three or more characters");
  options.add("--prefix", kTextType, OptionList::Times::once,
              "wordpiece: prefix of pieces inside words (default: ##)",
              [args](const std::string& text) { args->options.continuing_subword_prefix = text; });
  options.switches(
      "--prefix-space", [args](bool on) { args->options.add_prefix_space = on; },
      "byte-bpe: add a space before each text, so that its first word is encoded like the others "
      "(default: no)");
  options.switches(
      "--lowercase", [args](bool on) { args->options.lowercase = on; },
      "wordpiece: convert to lower case and strip accents (default: yes); word: convert to lower "
      "case (default: no)");
  options.real("--coverage", args->options.character_coverage, kAboveZeroToOne,
               "bpe, unigram: fraction of the characters in the text that the vocabulary covers "
               "(default: 0.9995)");
  options.choice(
      "--normalization", {"nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"},
      [args](const std::string& name) { args->options.normalization = name; },
      "bpe, unigram: SentencePiece normalisation rule (default: nmt_nfkc)");
  options.switches(
      "--byte-fallback", [args](bool on) { args->options.byte_fallback = on; },
      "bpe, unigram: encode unknown characters as their bytes (default: no)");
  options.threads(args->threads);
  options.run(action, [args, &parsed = options.command()] {
    return train(*args, CommandPaths(parsed, args->force));
  });
}

void add_encode(CLI::App& parent, Action& action) {
  OptionList options(parent, "encode", "Encode a text as ids");
  const auto args = std::make_shared<EncodeArguments>();
  options.input("tokenizer", args->tokenizer, kTokenizerHelp).required();
  options.text("text", args->text, "the text (default: read from stdin)");
  options.input("--file", args->file, "file with the text");
  options.flag("--lines", args->lines, "encode each line as a separate text");
  options.flag("--special", args->around,
               "add the special ids that models expect before and after a text");
  options.flag("--plain", args->plain, "encode the names of special tokens as ordinary text");
  options.flag("--pieces", args->pieces, "print one line per id: the id and its piece");
  options.flag(
      "--spans", args->spans,
      "print one line per id: the id, its byte range in the text (begin, end), and its piece");
  options.flag("--json", args->json,
               "print one JSON object per text, on one line: ids, pieces, spans");
  options.run(action, [args] { return encode(*args); });
}

void add_decode(CLI::App& parent, Action& action) {
  OptionList options(parent, "decode", "Decode ids to a text");
  const auto args = std::make_shared<DecodeArguments>();
  options.input("tokenizer", args->tokenizer, kTokenizerHelp).required();
  options.texts("ids", args->ids, OptionList::Times::list, "the ids (default: read from stdin)");
  options.flag("--special", args->special, "print special ids by name");
  options.run(action, [args] { return decode(*args); });
}

void add_inspect_tokenizer(CLI::App& parent, Action& action) {
  OptionList options(parent, "inspect", "Describe a tokenizer");
  const auto path = std::make_shared<std::string>();
  options.input("tokenizer", *path, kTokenizerHelp).required();
  options.run(action, [path] {
    inspect_tokenizer(*path, read_tokenizer(*path));
    return 0;
  });
}

}  // namespace

void add_tokenizer_command(CLI::App& app, Action& action) {
  OptionList options(app, "tokenizer", "Train, apply and describe tokenizers");
  options.needs_command();
  add_train(options.command(), action);
  add_encode(options.command(), action);
  add_decode(options.command(), action);
  add_inspect_tokenizer(options.command(), action);
}

}  // namespace weft::program
