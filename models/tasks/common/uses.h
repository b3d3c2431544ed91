// What models are asked, and what they answer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/fields/choice.h"
#include "weft/models/generate/options.h"
#include "weft/models/trained/long_texts.h"

namespace WEFT_API weft {

class TextGenerator;
struct WriteOptions;

/// What models are used for, called as the program's commands are.
enum class Use : std::uint8_t {
  classify,
  tag,
  fill,
  answer,
  embed,
  generate,
  chat,
  score,
  translate,
};
inline constexpr std::array<std::string_view, 9> kUseNames = {
    "classify", "tag", "fill", "answer", "embed", "generate", "chat", "score", "translate"};
inline ChoiceNames choice_names(Use) { return {"use", kUseNames}; }

/// A class and how likely it is.
struct ClassScore {
  std::string name;
  double probability = 0;
};
struct ClassifyOptions {
  std::int64_t most = 3;  // classes of each input
  OnCut on_cut = {};
};

struct TagOptions {
  OnCut on_cut = {};  // words behind the cut have the tag O
};

/// A piece of a word for a place that is hidden.
struct PieceGuess {
  std::int32_t id = 0;
  std::string text;  // what the id stands for in a text
  double probability = 0;
};
/// A hidden place of a text, and what may stand there, the likeliest first.
struct HiddenPlace {
  std::size_t begin = 0, end = 0;  // bytes of the text: those of its mask
  std::vector<PieceGuess> guesses;
};
struct FillOptions {
  std::int64_t most = 5;  // guesses for each place
  OnCut on_cut = {};      // no hidden place may be behind the cut
};

/// Why a text ends.
enum class Finish : std::uint8_t {
  end,        // the model wrote an id that ends texts
  stop,       // a text or ids to stop at
  length,     // it has all the ids that it may have
  cancelled,  // who listened had enough
};
inline constexpr std::array<std::string_view, 4> kFinishNames = {"end", "stop", "length",
                                                                 "cancelled"};
inline ChoiceNames choice_names(Finish) { return {"finish", kFinishNames}; }

/// What a model wrote.
struct WrittenText {
  std::string text;  // without its prompt; bytes of a character may be missing at the end
  TokenIds ids;      // the same; with the id that ended it
  Finish finish = Finish::length;
  std::optional<double> score = {};  // of beams: SearchResult::scores
};

/// What a text is translated from and into; empty: what the model does anyway.
struct Languages {
  std::string source = {}, target = {};
};
struct TranslateOptions {
  /// 1 = greedy. Where nothing is said, as the model's settings have it, or else greedy.
  std::optional<std::int64_t> beams = {};
  std::optional<double> length_penalty = {};  // of beams: scores are divided by length^it
  std::int64_t batch = 64;                    // texts that are decoded together
  std::string prefix = {};   // in front of every text: "translate English to German: "
  Languages languages = {};  // of models that know several
  OnCut on_cut = {};
  /// Told all texts as ids, and how they are to be written, before the first is translated. What it
  /// throws ends all.
  std::function<void(const TextGenerator&, const std::vector<TokenIds>&, const WriteOptions&)>
      before = {};
};

/// A question and the text that may answer it.
struct Question {
  std::string question = {}, context = {};
};
/// A part of the context that answers, or none of it.
struct Answer {
  bool none = false;               // the context does not say
  std::size_t begin = 0, end = 0;  // bytes of the context
  std::string text = {};
  double score = 0;        // the logits of its begin and its end together
  double probability = 0;  // among all that was found
};
struct AnswerOptions {
  std::int64_t most = 1;  // answers, which do not overlap
  /// Most tokens of an answer. A longer context is read in windows: so many tokens with the
  /// question, and so many that windows side by side have in common. No value: as the model was
  /// trained; of a folder 30, 384 and 128.
  std::optional<std::int64_t> most_tokens = {}, window = {}, stride = {};
  /// The context does not answer where the best part of it scores less above "none" than this; no
  /// value: it always does.
  std::optional<double> no_answer = {};
};

}  // namespace weft
