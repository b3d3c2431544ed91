// Text generation and scoring with generative models of any family.
//
//   const LoadedModel opened = load_any_model("folder-or-file.weft");
//   Session session(*opened.model->graph, opened.model->store);
//   const auto writer = text_generator(session, *opened.model);
//   for (const WrittenText& written : writer->write({"Once upon a time"})) use(written.text);
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/world/world.h"
#include "weft/models/generate/score.h"
#include "weft/models/generate/search.h"
#include "weft/models/generate/settings.h"
#include "weft/models/tasks/common/uses.h"
#include "weft/models/text/chat/chat_format.h"
#include "weft/models/text/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// Options of TextGenerator::write() and write_ids().
struct WriteOptions {
  /// Modifies the model's default options for a prompt, for example lengths, beams or sampling.
  std::function<void(GenerationOptions&)> change = {};
  /// Generation ends after any of these texts. Not supported with beams.
  std::vector<std::string> stop = {};
  /// First ids of encoder-decoder outputs; override the first ids in the settings.
  TokenIds start = {};
  std::int64_t batch = 32;  // maximum number of prompts per batch
  /// Called for a prompt that leaves no room for output within context(). For decoders, the
  /// beginning of the prompt is then dropped to make room for the maximum number of new ids,
  /// limited to half of the context. For encoder-decoders, the end of the prompt is dropped.
  /// Special ids at both ends are kept.
  OnCut on_cut = {};
};

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

/// Called with the new text of every id as soon as it is final. The text always consists of whole
/// characters, so it may be empty; any buffered text is reported at the end. If the callback
/// returns false, generation of this text ends. With several results per prompt, `row` is prompt *
/// results + result. With beams, text is reported as soon as all beams agree on it. If beam search
/// returns several results, each text is reported once, at its end.
using OnText = std::function<bool(std::size_t row, std::string_view text)>;

/// A generative model in a session. Subclasses define how texts are encoded and how ids are
/// generated; this class provides the functions on texts. If the session's World has several ranks,
/// all ranks must call write(), write_ids() and score_...() with the same arguments. Each rank then
/// processes a part of the texts (all texts if there is an OnText callback), and every rank
/// receives all results.
class TextGenerator {
 public:
  virtual ~TextGenerator() = default;
  TextGenerator() = default;
  TextGenerator(const TextGenerator&) = delete;
  TextGenerator& operator=(const TextGenerator&) = delete;

  virtual bool has_tokenizer() const = 0;
  /// Returns the generation settings of the model. Models from folders have the settings of their
  /// authors; most models trained by Weft have no settings, and the result is null.
  virtual const GenerationSettings* settings() const = 0;
  /// Returns the tokenizer. Throws FormatError if the model has none.
  virtual const Tokenizer& tokenizer() const = 0;
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
  /// Returns the default options for a prompt. Lengths are limited to the number of positions in
  /// the model.
  virtual GenerationOptions usual(const TokenIds& prompt) const = 0;
  /// Returns the first ids of encoder-decoder outputs, or an empty list if they are not specified.
  virtual TokenIds start() const { return {}; }
  /// Generates sequences. For decoders, they begin with the prompt and `start` is empty; for
  /// encoder-decoders, they begin with `start`.
  virtual SearchResult generate(const std::vector<TokenIds>& prompts, const TokenIds& start,
                                const GenerationOptions& options, const OnToken& on_token) = 0;
  /// Scores continuations[i] after prompts[i]. For encoder-decoders, scores continuations[i] as the
  /// output for prompts[i], after the ids `start`.
  virtual std::vector<ContinuationScore> score(const std::vector<TokenIds>& prompts,
                                               const std::vector<TokenIds>& continuations,
                                               const TokenIds& start) = 0;

  /// If true, a decoder reuses the cached keys and values of the previous prompt in calls with a
  /// single prompt (see Generator::continue_text). This is useful for texts that grow, such as
  /// conversations. All other prompts are still computed from the beginning.
  virtual void set_cache_reuse(bool) {}
  /// Returns the number of ids in the last prompt that were not recomputed.
  virtual std::int64_t reused() const { return 0; }

  /// Selects a task in settings(), such as "summarization", for encoding and generating all further
  /// texts. Throws ArgumentError under the same conditions as GenerationSettings::task(), and if
  /// there are no settings.
  void set_task(std::string_view name);

  /// Generates outputs for every text. Results are in text order; the results for each text are
  /// sorted best first, and the options specify their number. Texts of similar length are batched,
  /// and each result is the same as for the text alone. Throws TextError if a prompt cannot be
  /// encoded, or if it leaves no room for output within context() (unless the window slides or
  /// on_cut is set). Also throws the same exceptions as search().
  std::vector<WrittenText> write(const std::vector<std::string>& texts,
                                 const WriteOptions& options = {}, const OnText& on_text = {});
  /// Same as write(), for prompts that were encoded with read().
  std::vector<WrittenText> write_ids(const std::vector<TokenIds>& prompts,
                                     const WriteOptions& options = {}, const OnText& on_text = {});
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

  /// Returns the prompts for write_ids(), in which prompts that are too long are truncated. Throws
  /// TextError if a prompt is too long and on_cut is not set.
  std::vector<TokenIds> fitted(std::vector<TokenIds> prompts, const WriteOptions& options) const;
  /// Returns the options that write() uses for `prompt`. Throws the same exceptions as
  /// GenerationOptions::check().
  GenerationOptions options_for(const TokenIds& prompt, const WriteOptions& options) const;

 protected:
  /// Sets the World. Texts are distributed over its ranks.
  void share_with(const World& world) { world_ = world; }
  /// Returns the task that was set, or null.
  const TaskGeneration* task() const { return task_; }
  /// Returns the prefix that the task adds before its texts.
  std::string_view prefix() const {
    return task_ == nullptr ? std::string_view() : std::string_view(task_->prefix);
  }
  /// Returns the options of the selected task, or of the model if no task is selected. settings()
  /// must not be null.
  const GenerationOptions& default_options() const;
  /// Returns true if the settings specify a length. settings() must not be null.
  bool has_length_setting() const;

 private:
  struct Batch;
  /// Returns a prompt truncated to `kept` ids. Special ids at both ends are kept.
  TokenIds cut_prompt(const TokenIds& prompt, std::int64_t kept) const;
  /// Returns the first ids of outputs: `given`, or start() if `given` is empty. Empty for decoders.
  TokenIds start_of(const TokenIds& given) const;
  /// Truncates continuations that are too long.
  void fit(std::vector<Continuation>& continuations, const ScoreOptions& options) const;
  void write_batch(const Batch& batch, const WriteOptions& options, const OnText& on_text,
                   std::vector<std::vector<WrittenText>>& written);
  void write_on_ranks(const std::vector<Batch>& batches, const WriteOptions& options,
                      std::vector<std::vector<WrittenText>>& written);

  const TaskGeneration* task_ = nullptr;
  World world_;
};

}  // namespace weft
