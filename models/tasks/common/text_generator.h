// Text generation and scoring with any generative model, whatever its family.
//
//   const LoadedModel opened = load_any_model("folder-or-file.weft");
//   Session session(*opened.model->graph, opened.model->store);
//   const auto writer = opened.task.text_generator(session, *opened.model);
//   for (const WrittenText& written : writer->write({"Once upon a time"})) use(written.text);
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/world/world.h"
#include "weft/models/chat/chat_format.h"
#include "weft/models/generate/score.h"
#include "weft/models/generate/search.h"
#include "weft/models/generate/settings.h"
#include "weft/models/tasks/common/uses.h"
#include "weft/models/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// Options of TextGenerator::write() and write_ids().
struct WriteOptions {
  /// Modifies the model's own settings for a prompt: lengths, beams, sampling.
  std::function<void(GenerationOptions&)> change = {};
  /// Generation ends after one of these texts. Not with beams.
  std::vector<std::string> stop = {};
  /// The first ids of the output of an encoder-decoder, instead of those of its settings.
  TokenIds start = {};
  std::int64_t batch = 32;  // maximum number of prompts per batch
  /// Called for a prompt that leaves no room for output within context(). A decoder then continues
  /// the end of the prompt, with room for the maximum number of new ids, but for at most half of
  /// the context. An encoder-decoder then reads the beginning. Special ids at both ends are kept.
  OnCut on_cut = {};
};

/// Ids to score: the continuation of `prompt` or, for encoder-decoders, the output for it.
struct Continuation {
  TokenIds prompt, ids;
};
/// As Continuation, as texts. Decoders do not need a prompt: the first id of the text then serves
/// as one.
struct TextToScore {
  std::string text, prompt = {};
};
/// Options of TextGenerator::score_texts().
struct ScoreOptions {
  /// The first ids of the output of an encoder-decoder, instead of those of its settings.
  TokenIds start = {};
  std::int64_t batch = 16;  // maximum number of texts per batch; logits take much memory
  /// Called for a text that exceeds context() together with its prompt. The prompt of a decoder
  /// keeps its end, everything else its beginning.
  OnCut on_cut = {};
};
/// A text with the log-probabilities that a model assigns to its ids.
struct ScoredText {
  TokenIds ids;  // the scored ids
  ContinuationScore score;
  std::int64_t bytes = 0;  // size of the text that `ids` decode to

  double bits_per_byte() const;
};

/// Receives the new text of every id as soon as it is certain, never half a character (so it may be
/// empty), and at the end any text that was held back. Returning false ends the text. With several
/// results per prompt, `row` is prompt * results + result. With beams, text is reported as soon as
/// all beams agree on it; with several results of beams, each text is reported once, at its end.
using OnText = std::function<bool(std::size_t row, std::string_view text)>;

/// A generative model in a session. Subclasses define how texts are encoded and how ids are
/// generated; this class provides the functions on texts. If the World of the session has several
/// ranks, all of them must call write(), write_ids() and score_...() with the same arguments. Each
/// rank then computes part of the texts (all texts if there is an OnText callback), and every rank
/// receives all results.
class TextGenerator {
 public:
  virtual ~TextGenerator() = default;
  TextGenerator() = default;
  TextGenerator(const TextGenerator&) = delete;
  TextGenerator& operator=(const TextGenerator&) = delete;

  virtual bool has_tokenizer() const = 0;
  /// The generation settings of the model: those of its authors for models from folders; null if it
  /// has no settings, as most models that Weft trained.
  virtual const GenerationSettings* settings() const = 0;
  /// Throws FormatError if the model has no tokenizer.
  virtual const Tokenizer& tokenizer() const = 0;
  /// The chat format of the model; null if it is unknown.
  virtual const ChatFormat* chat_format() const { return nullptr; }
  /// True if outputs continue the prompt (decoders), false if they answer it (encoder-decoders).
  virtual bool continues() const = 0;
  /// Maximum number of ids of a prompt.
  virtual std::int64_t context() const = 0;
  /// Encodes a prompt, with the special ids that the model expects around it. Throws the same
  /// exceptions as Tokenizer::encode; DataError if there are no ids.
  virtual TokenIds read(std::string_view text) const = 0;
  /// Encodes all prompts. Throws FormatError if there is no tokenizer, TextError for a prompt that
  /// cannot be encoded.
  std::vector<TokenIds> read_all(const std::vector<std::string>& texts) const;
  /// Encodes a text as output of the model. Encoder-decoders may have a separate tokenizer for
  /// outputs (Tokenizer::targets()). Throws the same exceptions as read().
  virtual TokenIds read_output(std::string_view text) const { return read(text); }
  /// Encodes a text that continues another one: without special ids around it, and starting a new
  /// word only if the text begins with a space. For decoders. Throws the same exceptions as
  /// Tokenizer::encode.
  virtual TokenIds encode_continuation(std::string_view text) const { return read_output(text); }
  /// Returns the default options for a prompt, limited to the positions of the model.
  virtual GenerationOptions usual(const TokenIds& prompt) const = 0;
  /// The first ids of the output of an encoder-decoder; empty if they are not specified.
  virtual TokenIds start() const { return {}; }
  /// Generates sequences. They begin with their prompt (decoders, with empty `start`) or with
  /// `start` (encoder-decoders).
  virtual SearchResult generate(const std::vector<TokenIds>& prompts, const TokenIds& start,
                                const GenerationOptions& options, const OnToken& on_token) = 0;
  /// Scores continuations[i] after prompts[i] or, for encoder-decoders, as the output for
  /// prompts[i] after `start`.
  virtual std::vector<ContinuationScore> score(const std::vector<TokenIds>& prompts,
                                               const std::vector<TokenIds>& continuations,
                                               const TokenIds& start) = 0;

  /// If true, a decoder reuses the cached keys and values of the previous prompt for calls with a
  /// single prompt, as Generator::go_on does. This suits texts that grow. All other prompts are
  /// still computed from the beginning.
  virtual void set_cache_reuse(bool) {}
  /// Number of ids of the last prompt that were not recomputed.
  virtual std::int64_t reused() const { return 0; }

  /// Encodes and generates all further texts according to a task in settings(), such as
  /// "summarization". Throws ArgumentError under the same conditions as GenerationSettings::task(),
  /// and if there are no settings.
  void set_task(std::string_view name);

  /// Continues or answers every text. Returns the results in the order of the texts, best first;
  /// the options specify the number of results per text. Texts of similar length are batched, and
  /// each result is the same as for the text alone. Throws TextError for a prompt that cannot be
  /// encoded, or that leaves no room for output within context() (unless the window slides or
  /// on_cut is set), and the same exceptions as search().
  std::vector<WrittenText> write(const std::vector<std::string>& texts,
                                 const WriteOptions& options = {}, const OnText& on_text = {});
  /// As write(), for ids as read() returns them.
  std::vector<WrittenText> write_ids(const std::vector<TokenIds>& prompts,
                                     const WriteOptions& options = {}, const OnText& on_text = {});
  /// Scores every text, in order; texts of similar length are batched. Throws TextError for a text
  /// that cannot be encoded, has no ids to score, or is too long if on_cut is not set.
  std::vector<ScoredText> score_texts(const std::vector<TextToScore>& texts,
                                      const ScoreOptions& options = {});
  /// Encodes a text to score. Throws the same exceptions as score_texts().
  Continuation read_continuation(const TextToScore& text) const;
  /// As score_texts(), for ids. Truncates `continuations` to the ids that were scored.
  std::vector<ContinuationScore> score_ids(std::vector<Continuation>& continuations,
                                           const ScoreOptions& options = {});
  /// Number of bytes of the text that `ids` decode to after `front`, with the tokenizer for
  /// outputs.
  std::int64_t text_bytes(const TokenIds& front, const TokenIds& ids) const;

  /// The prompts that write_ids() continues: those that are too long are truncated. Throws
  /// TextError for a prompt that is too long if on_cut is not set.
  std::vector<TokenIds> fitted(std::vector<TokenIds> prompts, const WriteOptions& options) const;
  /// The options that write() uses for `prompt`. Throws the same exceptions as
  /// GenerationOptions::check().
  GenerationOptions options_for(const TokenIds& prompt, const WriteOptions& options) const;

 protected:
  /// Sets the world of the session; each of its ranks computes a part of the texts.
  void share_with(const World& world) { world_ = world; }
  /// The task that was set, or null.
  const TaskGeneration* task() const { return task_; }
  /// The prefix that the task puts before its texts.
  std::string_view prefix() const {
    return task_ == nullptr ? std::string_view() : std::string_view(task_->prefix);
  }
  /// The options in settings() of the task that was set, or else of the model. There must be
  /// settings.
  const GenerationOptions& default_options() const;
  /// True if the settings specify lengths. There must be settings.
  bool has_length_setting() const;

 private:
  struct Batch;
  /// Truncates a prompt to `kept` ids; special ids at both ends are kept.
  TokenIds cut_prompt(const TokenIds& prompt, std::int64_t kept) const;
  /// The first ids of outputs: `given`, or else start(). Empty for decoders.
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
