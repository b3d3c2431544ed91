// Text in, text out: what all models that write have in common, whichever family they are of.
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

struct WriteOptions {
  /// Changes what the model's own settings say of a prompt: lengths, beams, drawing.
  std::function<void(GenerationOptions&)> change = {};
  /// A text ends behind one of these. Not with beams.
  std::vector<std::string> stop = {};
  /// What the output of an encoder-decoder begins with, instead of what its settings say.
  TokenIds start = {};
  std::int64_t batch = 32;  // prompts that are continued together
  /// Of a prompt that leaves nothing to generate within context(). A decoder goes on from its end,
  /// with room for as many ids as it may write, at most half of the context; an encoder-decoder
  /// reads its beginning. Special ids at both ends stay.
  OnCut on_cut = {};
};

/// Ids to score: as what goes on from `prompt`, or as what answers it (encoder-decoders).
struct Continuation {
  TokenIds prompt, ids;
};
/// The same as texts. A decoder needs no prompt: the first id of the text is then one.
struct TextToScore {
  std::string text, prompt = {};
};
/// Settings of TextGenerator::score_texts().
struct ScoreOptions {
  /// What the output of an encoder-decoder begins with, instead of what its settings say.
  TokenIds start = {};
  std::int64_t batch = 16;  // texts that are computed together: logits take much memory
  /// Of a text that is longer than context() with its prompt. Of a decoder's prompt the end is
  /// kept, of all else the beginning.
  OnCut on_cut = {};
};
/// How likely a model finds a text.
struct ScoredText {
  TokenIds ids;  // those that are scored
  ContinuationScore score;
  std::int64_t bytes = 0;  // of text that the ids stand for

  double bits_per_byte() const;
};

/// Told the new text of every id as soon as it is certain, never half a character (so that it may
/// be empty), and in the end what was held back; false ends the text. Of several results per
/// prompt, `row` says which (prompt * results + result). With beams a text comes as soon as all of
/// them have it; of several results of beams each comes at the end.
using OnText = std::function<bool(std::size_t row, std::string_view text)>;

/// A model that writes over a session. A kind of models says how it reads texts and generates ids;
/// what is done with texts is here. Where the session has a World of several ranks, all of them
/// call write(), write_ids() and score_...() alike: each does a part of the texts (all of them,
/// where somebody listens), and is given all results.
class TextGenerator {
 public:
  virtual ~TextGenerator() = default;
  TextGenerator() = default;
  TextGenerator(const TextGenerator&) = delete;
  TextGenerator& operator=(const TextGenerator&) = delete;

  virtual bool has_tokenizer() const = 0;
  /// What the authors of a folder's model say; null of models that Weft trained.
  virtual const GenerationSettings* settings() const = 0;
  /// Throws FormatError where there is none.
  virtual const Tokenizer& tokenizer() const = 0;
  /// How the model wants to see a conversation; null where that is not known.
  virtual const ChatFormat* chat_format() const { return nullptr; }
  /// Whether texts go on from the prompt, as decoders' do; else they answer it.
  virtual bool continues() const = 0;
  /// Most ids of a prompt.
  virtual std::int64_t context() const = 0;
  /// A prompt as ids, with those that the model wants around it. Throws as Tokenizer::encode;
  /// DataError where nothing is left of it.
  virtual TokenIds read(std::string_view text) const = 0;
  /// All of them. FormatError where there is no tokenizer, TextError for one that cannot be read.
  std::vector<TokenIds> read_all(const std::vector<std::string>& texts) const;
  /// A text as the model is to write it; those of encoder-decoders may have a tokenizer of their
  /// own (Tokenizer::targets()). Throws as read().
  virtual TokenIds read_output(std::string_view text) const { return read(text); }
  /// A text that goes on from another one: nothing stands around it, and it begins with a word only
  /// where it begins with a blank. Of decoders. Throws as Tokenizer::encode.
  virtual TokenIds read_behind(std::string_view text) const { return read_output(text); }
  /// What is generated for a prompt where nobody says otherwise, within the model's positions.
  virtual GenerationOptions usual(const TokenIds& prompt) const = 0;
  /// What outputs of an encoder-decoder begin with; empty where it is not stated.
  virtual TokenIds start() const { return {}; }
  /// Sequences with their prompt, or with what they begin with, `start` (of decoders empty).
  virtual SearchResult generate(const std::vector<TokenIds>& prompts, const TokenIds& start,
                                const GenerationOptions& options, const OnToken& on_token) = 0;
  /// How likely continuations[i] is behind prompts[i], or as output for it behind `start`.
  virtual std::vector<ContinuationScore> score(const std::vector<TokenIds>& prompts,
                                               const std::vector<TokenIds>& continuations,
                                               const TokenIds& start) = 0;

  /// Single prompts of a decoder use keys and values of the last one again, as Generator::go_on
  /// does: for texts that grow. Others are computed from their beginning all the same.
  virtual void keep_texts(bool) {}
  /// Ids of the last prompt that were not computed again.
  virtual std::int64_t reused() const { return 0; }

  /// From now on texts are read and written as settings() say of a task, "summarization". Throws
  /// ArgumentError as GenerationSettings::task(), and where there are no settings.
  void set_task(std::string_view name);

  /// Continues or answers every text: as many results for each as the options say, the best first,
  /// in the order of the texts. Those of like length are one batch, and each is as if it were
  /// alone. Throws TextError for a prompt that cannot be read, or that leaves nothing to generate
  /// within context() (unless the window slides, or somebody listens), and as search().
  std::vector<WrittenText> write(const std::vector<std::string>& texts,
                                 const WriteOptions& options = {}, const OnText& on_text = {});
  /// The same for ids, as read() gives them.
  std::vector<WrittenText> write_ids(const std::vector<TokenIds>& prompts,
                                     const WriteOptions& options = {}, const OnText& on_text = {});
  /// How likely every text is, in their order; those of like length are computed together. Throws
  /// TextError for a text that cannot be read, of which nothing is left to score, or that is too
  /// long where nobody listens.
  std::vector<ScoredText> score_texts(const std::vector<TextToScore>& texts,
                                      const ScoreOptions& options = {});
  /// A text as ids. Throws as score_texts().
  Continuation read_continuation(const TextToScore& text) const;
  /// The same for ids, of which `continuations` keeps what was not cut.
  std::vector<ContinuationScore> score_ids(std::vector<Continuation>& continuations,
                                           const ScoreOptions& options = {});
  /// Bytes of the text that `ids` stand for behind `front`, as the model writes texts.
  std::int64_t text_bytes(const TokenIds& front, const TokenIds& ids) const;

  /// The prompts as write_ids() goes on from them: those that are too long cut. Throws TextError
  /// for such where nobody listens.
  std::vector<TokenIds> fitted(std::vector<TokenIds> prompts, const WriteOptions& options) const;
  /// The options that write() takes for `prompt`. Throws as GenerationOptions::check().
  GenerationOptions options_for(const TokenIds& prompt, const WriteOptions& options) const;

 protected:
  /// The world of the session: each rank does a part.
  void share_with(const World& world) { world_ = world; }
  /// The task that was set, or null.
  const TaskGeneration* task() const { return task_; }
  /// What stands in front of the texts of the task.
  std::string_view prefix() const {
    return task_ == nullptr ? std::string_view() : std::string_view(task_->prefix);
  }
  /// What settings() say of the task that was set, or of the model. There must be settings.
  const GenerationOptions& said_options() const;
  bool says_length() const;

 private:
  struct Batch;
  /// Ids cut to `kept`, special ones at both ends not.
  TokenIds cut_prompt(const TokenIds& prompt, std::int64_t kept) const;
  TokenIds start_of(const TokenIds& given) const;
  /// Cuts what is too long.
  void fit(std::vector<Continuation>& continuations, const ScoreOptions& options) const;
  void write_batch(const Batch& batch, const WriteOptions& options, const OnText& on_text,
                   std::vector<std::vector<WrittenText>>& written);
  void write_on_ranks(const std::vector<Batch>& batches, const WriteOptions& options,
                      std::vector<std::vector<WrittenText>>& written);

  const TaskGeneration* task_ = nullptr;
  World world_;
};

}  // namespace weft
