// Text generation and scoring with generative models of any family.
//
//   const LoadedModel opened = load_any_model("folder-or-file.weft");
//   Session session(*opened.model->graph, opened.model->store);
//   const auto generator = text_generator(session, *opened.model);
//   GenerationOptions options = generator->options();
//   options.max_new = 100;
//   for (std::string_view text : generator->generate({"Once upon a time"}, options))
//     std::cout << text;
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/world/world.h"
#include "weft/models/generate/generation.h"
#include "weft/models/generate/score.h"
#include "weft/models/generate/settings.h"
#include "weft/models/tasks/common/text_generation.h"
#include "weft/models/tasks/common/uses.h"
#include "weft/models/text/chat/chat_format.h"
#include "weft/models/text/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// Ids to score: a continuation of `prompt` or, for encoder-decoders, an output for `prompt`.
struct Continuation {
  TokenIds prompt, ids;
};
/// Same as Continuation, but with texts. For decoders the prompt may be empty; the first id of the
/// text is then used as the prompt.
struct TextToScore {
  std::string text, prompt = {};
};
/// Options of TextGenerator::score_texts().
struct ScoreOptions {
  /// First ids of encoder-decoder outputs; override the first ids in the settings.
  TokenIds start = {};
  std::int64_t batch = 16;  // maximum number of texts per batch; logits need a lot of memory
  /// Computes scores with score_cached(). For decoders.
  bool cached = false;
  /// Called for a text that exceeds context() together with its prompt. The beginning of decoder
  /// prompts and the end of all other texts are dropped.
  OnCut on_cut = {};
};
/// A text, with the log-probabilities that the model assigns to its ids.
struct ScoredText {
  TokenIds ids;  // the scored ids
  ContinuationScore score;
  std::int64_t bytes = 0;  // size of the text that `ids` decode to

  double bits_per_byte() const;
};

/// A generative model in a session. Subclasses define how texts are encoded and how ids are
/// generated; this class provides the functions on texts. If the session's World has several ranks,
/// all ranks must call TextGeneration::run() and score_...() with the same arguments. Each rank
/// then processes a part of the texts, and every rank receives all results.
class TextGenerator {
 public:
  virtual ~TextGenerator() = default;
  TextGenerator(const TextGenerator&) = delete;
  TextGenerator& operator=(const TextGenerator&) = delete;

  /// Returns the reason why the model has no tokenizer; empty if it has one. Without a tokenizer,
  /// only ids can be generated and scored.
  const std::string& missing_tokenizer() const { return missing_tokenizer_; }
  bool has_tokenizer() const { return missing_tokenizer_.empty(); }
  /// Returns the tokenizer. Throws FormatError if the model has none.
  const Tokenizer& tokenizer() const;
  /// Returns the generation settings of the model. Models from folders have the settings of their
  /// authors; most models trained by Weft have no settings, and the result is null.
  const GenerationSettings* settings() const { return settings_; }
  /// Returns the chat format of the model, or null if it is unknown.
  virtual const ChatFormat* chat_format() const { return nullptr; }
  /// Returns true if outputs continue the prompt (decoders), and false if they are separate from it
  /// (encoder-decoders).
  virtual bool continues() const = 0;
  /// Returns the maximum number of ids in a prompt.
  virtual std::int64_t context() const = 0;
  /// Encodes a prompt, including the special ids that the model expects around it. Throws the same
  /// exceptions as Tokenizer::encode. Throws DataError if there are no ids.
  virtual TokenIds read(std::string_view text) const = 0;
  /// Encodes all prompts. Throws FormatError if there is no tokenizer, and TextError if a prompt
  /// cannot be encoded.
  std::vector<TokenIds> read_all(const std::vector<std::string>& texts) const;
  /// Encodes a text as a model output. Encoder-decoders may have a separate tokenizer for outputs
  /// (Tokenizer::targets()). Throws the same exceptions as read().
  virtual TokenIds read_output(std::string_view text) const { return read(text); }
  /// Encodes a text that continues another text. No special ids are added, and the text starts a
  /// new word only if it begins with a space. Used for decoders. Throws the same exceptions as
  /// Tokenizer::encode.
  virtual TokenIds encode_continuation(std::string_view text) const { return read_output(text); }

  /// Selects a task in settings(), such as "summarization", for encoding and generating all further
  /// texts. Throws ArgumentError under the same conditions as GenerationSettings::task(), and if
  /// there are no settings.
  void set_task(std::string_view name);
  /// Returns the default options of the model and of the selected task. max_length is 0 and stands
  /// for the default length, which may depend on the prompt. Ids that do not decode to text are
  /// never generated.
  virtual GenerationOptions options() const = 0;
  /// Returns `options` for a prompt, with the default length if they have none. The default length
  /// does not exceed the context. Throws the same exceptions as GenerationOptions::check().
  GenerationOptions options_for(const TokenIds& prompt, GenerationOptions options) const;

  /// Generates outputs for every text. Texts of similar length are batched, and each result is the
  /// same as for the text alone. Throws TextError if a prompt cannot be encoded, or if it leaves no
  /// room for output within context() (unless the window slides or prompts are truncated). Also
  /// throws the same exceptions as Generation. The generator must outlive the result.
  TextGeneration generate(const std::vector<std::string>& texts);
  TextGeneration generate(const std::vector<std::string>& texts, const GenerationOptions& options);
  /// Same as generate(), for prompts that were encoded with read(). Also for models without a
  /// tokenizer, whose texts are empty.
  TextGeneration generate_ids(std::vector<TokenIds> prompts, const GenerationOptions& options);
  /// Generates ids for a single batch of prompts. For decoders, sequences begin with the prompt;
  /// for encoder-decoders, they begin with options.start.
  virtual Generation decode(const std::vector<TokenIds>& prompts,
                            const GenerationOptions& options) = 0;
  /// Returns the number of ids in the last prompt that were not recomputed (see
  /// GenerationOptions::reuse_caches).
  virtual std::int64_t reused() const { return 0; }
  /// Truncates prompts that are too long and returns them. Throws TextError if a prompt is too long
  /// and options.truncate is not set.
  std::vector<CutText> fit_prompts(std::vector<TokenIds>& prompts,
                                   const GenerationOptions& options) const;

  /// Scores continuations[i] after prompts[i]. For encoder-decoders, scores continuations[i] as the
  /// output for prompts[i], after the ids `start`.
  virtual std::vector<ContinuationScore> score(const std::vector<TokenIds>& prompts,
                                               const std::vector<TokenIds>& continuations,
                                               const TokenIds& start) = 0;
  /// Scores continuations[i] after prompts[i] one id at a time, with keys and values from the
  /// caches, as in generation. Throws ArgumentError if the model is not a decoder.
  virtual std::vector<ContinuationScore> score_cached(const std::vector<TokenIds>& prompts,
                                                      const std::vector<TokenIds>& continuations);
  /// Scores every text and returns the results in text order. Texts of similar length are batched.
  /// Throws TextError if a text cannot be encoded, has no ids to score, or is too long and on_cut
  /// is not set.
  std::vector<ScoredText> score_texts(const std::vector<TextToScore>& texts,
                                      const ScoreOptions& options = {});
  /// Encodes a text to score. Throws the same exceptions as score_texts().
  Continuation read_continuation(const TextToScore& text) const;
  /// Same as score_texts(), but for ids. Truncates `continuations` to the ids that were scored.
  std::vector<ContinuationScore> score_ids(std::vector<Continuation>& continuations,
                                           const ScoreOptions& options = {});
  /// Returns the number of text bytes that `ids` decode to after `front`, with the tokenizer for
  /// outputs.
  std::int64_t text_bytes(const TokenIds& front, const TokenIds& ids) const;

  /// The World over whose ranks texts are distributed.
  const World& world() const { return world_; }

 protected:
  /// The arguments are parts of the model and must outlive the generator, except for the World.
  TextGenerator(const Tokenizer& tokenizer, const std::string& missing_tokenizer,
                const std::optional<GenerationSettings>& settings, World world)
      : tokenizer_(tokenizer),
        missing_tokenizer_(missing_tokenizer),
        settings_(settings ? &*settings : nullptr),
        world_(std::move(world)) {}

  /// Returns the task that was set, or null.
  const TaskGeneration* task() const { return task_; }
  /// Returns the prefix that the task adds before its texts.
  std::string_view prefix() const {
    return task_ == nullptr ? std::string_view() : std::string_view(task_->prefix);
  }
  /// Returns the options of the selected task or of the model's settings, without their lengths.
  /// settings() must not be null.
  GenerationOptions stored_options() const;
  /// Sets the default length for a prompt if the model specifies none.
  virtual void set_default_length(const TokenIds& prompt, GenerationOptions& options) const = 0;

 private:
  /// Returns a prompt truncated to `kept` ids. Special ids at both ends are kept.
  TokenIds cut_prompt(const TokenIds& prompt, std::int64_t kept) const;
  /// Returns the first ids of outputs: `given`, or those of options() if `given` is empty. Empty
  /// for decoders.
  TokenIds start_of(const TokenIds& given) const;
  /// Truncates continuations that are too long.
  void fit(std::vector<Continuation>& continuations, const ScoreOptions& options) const;

  const Tokenizer& tokenizer_;
  const std::string& missing_tokenizer_;
  const GenerationSettings* settings_;
  World world_;
  const TaskGeneration* task_ = nullptr;
};

}  // namespace weft
