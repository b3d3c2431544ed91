#include "weft/models/tasks/common/tokenizer_choice.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/text/tokenizers/read_tokenizer.h"
#include "weft/models/text/tokenizers/train/new_tokenizer.h"

namespace weft {
namespace {

using Kind = TokenizerChoice::Kind;

struct KindName {
  std::string_view name;
  Kind kind;
};
constexpr std::array<KindName, 6> kKinds = {{{"chars", Kind::characters},
                                             {"characters", Kind::characters},
                                             {"bpe", Kind::pairs},
                                             {"byte-bpe", Kind::bytes},
                                             {"wordpiece", Kind::wordpiece},
                                             {"unigram", Kind::unigram}}};
constexpr const char* kForms =
    "chars, bpe:N, byte-bpe:N, wordpiece:N, unigram:N, or the path of a tokenizer";

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) {
    if (!all.empty()) all += '\n';
    all += text;
  }
  return all;
}

std::string fewer_pieces(std::int64_t found, std::int64_t wanted) {
  if (found >= wanted) return {};
  return fmt::format("vocab     {} pieces: the text is too small for the requested {}\n",
                     grouped(found), grouped(wanted));
}

LearnedTokenizer learn(LearnedKind kind, std::int64_t vocab, const TokenizerNeeds& needs) {
  TokenizerTrainerOptions options{.kind = kind, .vocab = vocab};
  if (!needs.special.empty()) options.special_tokens = needs.special;
  if (kind == LearnedKind::unigram) options.character_coverage = needs.pieces.character_coverage;
  const std::vector<std::string> texts = needs.texts();
  TextList list(texts);
  Workers workers;
  LearnedTokenizer learned{train_tokenizer(list, options, workers)};
  learned.notes = fewer_pieces(learned.tokenizer.vocab_size(), vocab);
  return learned;
}

}  // namespace

TaskOptions& add_tokenizer(TaskOptions& options, const std::string& usual, bool new_models_only) {
  options.file(
      kTokenizerOption,
      fmt::format("tokenizer: {} (a tokenizer.json, a folder, a SentencePiece model, or a .weft "
                  "file); bpe merges pairs of characters as in SentencePiece; byte-bpe, wordpiece "
                  "and unigram are trained as with `weft tokenizer train` (default: {})",
                  kForms, usual));
  if (new_models_only) options.new_models_only();
  options.integer(kVocabOption, kVocabRange,
                  "maximum number of pieces for learned tokenizers (default 4000)");
  return new_models_only ? options.new_models_only() : options;
}

TokenizerChoice parse_tokenizer_choice(const std::string& text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string name = text.substr(0, colon);
  for (const KindName& known : kKinds) {
    if (name != known.name) continue;
    TokenizerChoice choice{.kind = known.kind};
    if (colon == text.size()) return choice;
    if (known.kind == Kind::characters) {
      throw ArgumentError(fmt::format(
          "{} {}: the text determines the number of characters, so a number cannot be given",
          kTokenizerOption, excerpt(text)));
    }
    choice.vocab = parse_integer(fmt::format("{} {}", kTokenizerOption, name),
                                 text.substr(colon + 1), kVocabRange);
    return choice;
  }
  std::error_code ignored;
  if (!std::filesystem::exists(text, ignored)) {
    throw ArgumentError(
        fmt::format("{} {}: no such file; expected {}", kTokenizerOption, excerpt(text), kForms));
  }
  return {.kind = Kind::file, .path = text};
}

TokenizerChoice tokenizer_choice(const OptionValues& values, const std::string& usual) {
  const std::string& given = values.text(kTokenizerOption);
  TokenizerChoice choice = parse_tokenizer_choice(given.empty() ? usual : given);
  if (!values.has(kVocabOption)) return choice;
  if (choice.vocab) {
    throw ArgumentError(fmt::format("{} {} already sets the number of pieces: leave out {}",
                                    kTokenizerOption, given, kVocabOption));
  }
  if (!choice.learns_pieces()) {
    throw ArgumentError(fmt::format(
        "{} is the number of pieces to learn: it requires --tokenizer bpe (character tokenizers "
        "use the characters in the text, and existing tokenizers already have pieces)",
        kVocabOption));
  }
  choice.vocab = values.integer(kVocabOption, 0);
  return choice;
}

LearnedTokenizer make_tokenizer(const TokenizerChoice& choice, const TokenizerNeeds& needs) {
  const std::int64_t vocab = choice.vocab.value_or(needs.default_vocab);
  switch (choice.kind) {
    case Kind::characters: return {CharacterTokenizer::from_text(joined(needs.texts()))};
    case Kind::bytes: return learn(LearnedKind::byte_bpe, vocab, needs);
    case Kind::wordpiece: return learn(LearnedKind::wordpiece, vocab, needs);
    case Kind::unigram: return learn(LearnedKind::unigram, vocab, needs);
    case Kind::file: return {read_tokenizer(choice.path)};
    case Kind::pairs: break;
  }
  SentencePieceOptions options = needs.pieces;
  options.vocab = vocab;
  LearnedTokenizer learned{SentencePieceTokenizer::train(needs.texts(), options)};
  learned.notes = fewer_pieces(learned.tokenizer.vocab_size(), vocab);
  return learned;
}

}  // namespace weft
